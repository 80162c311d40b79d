"""What a code is, the one byte that stands for a value of a column; and how many rows are passed over together."""

import numpy as np

X_BINNED_DTYPE = np.uint8  # hence MAX_BINS values and one code for missing
MAX_BINS = 255
MAX_CATEGORIES = MAX_BINS - 1  # one more code is for all other categories
N_CODES = MAX_BINS + 1
MISSING = 0

BLOCK_ROWS = 1 << 13  # at most, in a block of rows: what a kernel needs of them stays in the cache
# What training places of each row besides its codes, at most: margin, weight, sample weight, two lists with gains.
BYTES_PER_ROW = 8 + 8 + 8 + 2 * 12
