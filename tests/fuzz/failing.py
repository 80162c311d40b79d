"""Attempts that fail in every way there is: the engine has to find them."""

import os
import warnings

import numpy as np

from .engine import ACCEPTED, REFUSED


def hang():
    pattern = b"a" * 40 + b"!"
    import re

    re.match(rb"(a|a)*$", pattern)  # in C, without letting go of the interpreter


WAYS = {
    "sound": lambda: ACCEPTED,
    "refused": lambda: REFUSED,
    "error": lambda: 1 / 0,
    "warning": lambda: warnings.warn("overflow", RuntimeWarning, stacklevel=1),
    "told to users": lambda: warnings.warn("few rows", UserWarning, stacklevel=1) or ACCEPTED,
    "no answer": lambda: None,
    "exit": lambda: os._exit(3),
    "crash": os.abort,
    "hang": hang,
    "memory": lambda: np.ones(20 << 30, dtype=np.uint8) is None or ACCEPTED,
}
seed_of = {name: seed for seed, name in enumerate(WAYS)}


def attempt(rng):
    """The seed chooses the way; it is the last number that the generator was made from."""
    seed = rng.bit_generator.seed_seq.entropy[-1]
    return WAYS[list(WAYS)[seed]]()


def warm_up():
    pass
