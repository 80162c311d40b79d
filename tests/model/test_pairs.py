"""Tables of pairs have the cells that the trees tell apart, and no more."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from parityboost._model.trees import cells_of


def naive_cells(lefts):
    """Number the columns of a matrix by what they hold, in order; the first one, missing, is alone."""
    numbers, cells = {}, []
    for code, column in enumerate(lefts.T):
        key = (code == 0, column.tobytes())
        cells.append(numbers.setdefault(key, len(numbers)))
    return cells


@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.booleans())
def test_codes_that_no_split_tells_apart_share_a_cell(seed, n_splits, ordered):
    rng = np.random.default_rng(seed)
    at = rng.integers(-2, 259, (n_splits, 1))  # what a file may say, codes or not
    lefts = np.arange(256) <= at if ordered else rng.random((n_splits, 256)) < rng.random()
    lefts[:, 0] = rng.random(n_splits) < 0.5
    assert cells_of(lefts).tolist() == naive_cells(lefts)
