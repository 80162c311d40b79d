"""What is compiled besides the passes of ``cpu``. ``splitting`` and ``boosting`` decide from sums: splits, trees, α,
costs, new weights. ``thresholds`` measures every threshold of a round. ``columns`` makes codes of columns, and scores
of codes. ``compiling``, which compiles them all, is the only module that imports numba.

Free functions over arrays: the caller allocates, the kernel fills. They release the GIL, so that ordinary threads can
share the work. No Python objects; arrays that belong together travel as a named tuple.

Training rows are sorted by class and, within it, by group. A *cell* is one (class, group), a *block* a run of rows
within one cell, ``(cell, first row, last row + 1)``: inside a block the class, the group and hence the cost of a
mistake are constants, and what belongs to its rows fits into the cache. Whatever is summed over rows is an integer, so
that no sum depends on the order of the rows, on the blocks or on the threads.
"""
