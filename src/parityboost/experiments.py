"""The paper's evaluation is in :mod:`parityboost.paper.experiments` now; this name goes next."""

from ._moved import moved

__getattr__ = moved(__name__, "parityboost.paper.experiments")
