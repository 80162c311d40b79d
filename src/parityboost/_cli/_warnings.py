"""What `fit` warns of, in the words of the command line: the labels of the file, and options instead of parameters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LABEL = re.compile(r"(?<=class )'([01])'|(?<=predicts )'([01])'")
PARAMETER = re.compile(r"\b(keep|threshold|max_violation|class_weight)=('?)([^\s,()']+)\2")


@contextmanager
def in_words_of_the_command_line(classes: Any = None) -> Iterator[None]:
    """Warnings of the block in other words; ``classes`` are those of the file, where it is trained on 0 and 1."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        text = as_options(with_labels(str(warning.message), classes))
        warnings.warn(text, warning.category, stacklevel=2)


def with_labels(message: str, classes: Any) -> str:
    """The message with the labels of the file."""
    if classes is None:
        return message
    return LABEL.sub(lambda found: repr(str(classes[int(found[1] or found[2])])), message)


def as_options(message: str) -> str:
    """The message with ``--keep 0.5`` for ``keep=0.5``."""
    return PARAMETER.sub(lambda found: f"--{found[1].replace('_', '-')} {found[3]}", message)
