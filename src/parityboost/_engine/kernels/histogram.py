"""The weight of each class in each bin."""

from __future__ import annotations

from .compiling import Array, compiled_inner, compiled_lean


@compiled_inner
def add_two(column: Array, even: Array, odd: Array, row: int, gain: int, next_row: int, next_gain: int) -> None:
    """The gains of two neighbours in a list of rows."""
    even[column[row]] += gain
    odd[column[next_row]] += next_gain


@compiled_lean
def add_to_histograms(
    codes: Array,
    rows: Array,
    gains: Array,
    n_rows: Array,
    blocks: Array,
    n_groups: int,
    first: int,
    last: int,
    histograms: Array,
) -> None:
    """``histograms[f, y, :, codes[f, row]] += gain`` for first ≤ f < last, for the rows listed per block.

    Here f counts bundles, and gains are integers. Block b lists ``n_rows[b]`` rows from position ``blocks[b, 1]`` on. A
    sum has to wait for the one before it in the same bin, so several that do not are on their way at once: those of up
    to four bundles, and those of even and odd places in the list, which have a histogram each. Whoever reads them adds
    the two up: either may overflow, their sum does not.
    """
    for b in range(blocks.shape[0]):
        start, stop = blocks[b, 1], blocks[b, 1] + n_rows[b]
        if start == stop:
            continue
        y = 1 if blocks[b, 0] >= n_groups else 0
        pairs_end = stop - (stop - start) % 2
        f = first
        while f < last:
            left = last - f
            if left >= 4 and left != 5:  # 5 = 3 + 2 rather than 4 + 1
                column0, column1, column2, column3 = codes[f], codes[f + 1], codes[f + 2], codes[f + 3]
                even0, odd0 = histograms[f, y, 0], histograms[f, y, 1]
                even1, odd1 = histograms[f + 1, y, 0], histograms[f + 1, y, 1]
                even2, odd2 = histograms[f + 2, y, 0], histograms[f + 2, y, 1]
                even3, odd3 = histograms[f + 3, y, 0], histograms[f + 3, y, 1]
                for k in range(start, pairs_end, 2):
                    row, gain, next_row, next_gain = rows[k], gains[k], rows[k + 1], gains[k + 1]
                    add_two(column0, even0, odd0, row, gain, next_row, next_gain)
                    add_two(column1, even1, odd1, row, gain, next_row, next_gain)
                    add_two(column2, even2, odd2, row, gain, next_row, next_gain)
                    add_two(column3, even3, odd3, row, gain, next_row, next_gain)
                taken = 4
            elif left >= 2:
                column0, column1 = codes[f], codes[f + 1]
                even0, odd0 = histograms[f, y, 0], histograms[f, y, 1]
                even1, odd1 = histograms[f + 1, y, 0], histograms[f + 1, y, 1]
                if left == 2:
                    for k in range(start, pairs_end, 2):
                        row, gain, next_row, next_gain = rows[k], gains[k], rows[k + 1], gains[k + 1]
                        add_two(column0, even0, odd0, row, gain, next_row, next_gain)
                        add_two(column1, even1, odd1, row, gain, next_row, next_gain)
                    taken = 2
                else:
                    column2, even2, odd2 = codes[f + 2], histograms[f + 2, y, 0], histograms[f + 2, y, 1]
                    for k in range(start, pairs_end, 2):
                        row, gain, next_row, next_gain = rows[k], gains[k], rows[k + 1], gains[k + 1]
                        add_two(column0, even0, odd0, row, gain, next_row, next_gain)
                        add_two(column1, even1, odd1, row, gain, next_row, next_gain)
                        add_two(column2, even2, odd2, row, gain, next_row, next_gain)
                    taken = 3
            else:
                column0, even0, odd0 = codes[f], histograms[f, y, 0], histograms[f, y, 1]
                for k in range(start, pairs_end, 2):
                    add_two(column0, even0, odd0, rows[k], gains[k], rows[k + 1], gains[k + 1])
                taken = 1
            if pairs_end < stop:
                for g in range(f, f + taken):
                    histograms[g, y, 0, codes[g, rows[pairs_end]]] += gains[pairs_end]
            f += taken


@compiled_lean
def sum_masses(codes: Array, mass: Array, n_negative: int, first: int, last: int, mass_of: Array) -> None:
    """``mass_of[y, f, code]`` = mass of the rows of class y, for first ≤ f < last; an empty ``mass`` means one each."""
    weighted = mass.shape[0] > 0
    for f in range(first, last):
        column = codes[f]
        for i in range(column.shape[0]):
            mass_of[0 if i < n_negative else 1, f, column[i]] += mass[i] if weighted else 1
