"""A fitted model as a JSON file: readable, versioned, exact to the last bit, and free of code.

The file holds what prediction and refitting need and nothing else: the class, its parameters, the columns with their
bins, the stumps with their weights, θ, the threshold and ``history_``. Its last line is a checksum of all lines before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._caller import warn_caller
from . import model_file
from .atomic import write_atomically
from .describing import describe
from .model_file import check_checksum, check_size, render
from .rebuilding import rebuild
from .strict_json import ModelFileError, parse


def save(model: Any, path: Any) -> None:
    """Write a fitted model to a file, all of it or nothing."""
    data = render(describe(model))
    if isinstance(getattr(model, "random_state", None), np.random.RandomState):
        warn_caller(
            "random_state is a RandomState, of which the file keeps nothing: the loaded model has random_state=None. "
            "Use an integer if it is to be fitted again with the same split"
        )
    read(data, verify=True)  # what is written can be read: the limits of reading apply to writing too
    write_atomically(path, data)


def load(path: Any, *, verify: bool = True) -> Any:
    """Read a model that was stored with ``save``.

    The file says which class it is. Nothing in it is executed, and every value is checked before it is used, so a file
    from an unknown source can do no harm beyond predicting nonsense.

    Parameters
    ----------
    path : str or path-like
        The file.
    verify : bool, default=True
        Whether the file must match its checksum, byte by byte (but for line ends). Set it to False to read a file that
        was edited by hand; all other checks remain. The checksum guards against accidents, not against forgery.

    Returns
    -------
    AdaFairClassifier, AdaBoostClassifier or SMOTEBoostClassifier
        The fitted model: the same predictions to the last bit, the same parameters and ``history_``.

    Raises
    ------
    ModelFileError
        If the file is no sound model; the message says where.

    Examples
    --------
    >>> import parityboost, tempfile, pathlib
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> model = parityboost.AdaFairClassifier(n_estimators=10, random_state=0)
    >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(pathlib.Path(folder, "model.json"))
    ...     loaded = parityboost.load(pathlib.Path(folder, "model.json"))
    >>> bool(
    ...     (loaded.decision_function(adult.data) == model.decision_function(adult.data)).all()
    ... )
    True
    """
    with Path(path).open("rb") as file:
        data = file.read(model_file.MAX_BYTES + 1)
    try:
        return read(data, verify)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def read(data: bytes, verify: bool) -> Any:
    """The model in the bytes of a file."""
    check_size(data)
    if verify:
        check_checksum(data)
    return rebuild(parse(data))
