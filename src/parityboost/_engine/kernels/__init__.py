"""The compiled loops, a module per stage: ``binning``, ``histogram``, ``splitting``, ``rounds``, ``lookup``.

Free functions over arrays: the caller allocates, the kernel fills. They release the GIL, so that ordinary threads can
share the work. No classes, no Python objects, no decisions about the model: those belong to ``_fit``.

Training rows are sorted by class and, within it, by group. A *cell* is one (class, group), a *block* a run of rows
within one cell, ``(cell, first row, last row + 1)``: inside a block the class, the group and hence the cost of a
mistake are constants, and what belongs to its rows fits into the cache. Whatever is summed over rows is an integer, so
that no sum depends on the order of the rows, on the blocks or on the threads.
"""
