"""The methods that AdaFair is compared with are in :mod:`parityboost.paper.baselines` now; this name goes next."""

from ._moved import moved

_PAPER = "parityboost.paper.baselines"
_MODULES = ("_base", "fae", "fairlearn_methods", "krasanakis", "sdb", "smoteboost", "zafar")

__getattr__ = moved(
    __name__,
    _PAPER,
    names={"AdaBoostClassifier": "parityboost"},
    modules={"adaboost": "parityboost.adaboost", "registry": _PAPER, **{name: f"{_PAPER}.{name}" for name in _MODULES}},
)
