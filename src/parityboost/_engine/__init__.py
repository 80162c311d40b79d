"""What makes it fast: threads, and the compiled loops in ``kernels``, which are the only ones to import numba.

Here belongs work on plain arrays that knows nothing of estimators, notions or the user's tables. What a round of
boosting means, and who calls which loop, belongs to ``_fit``.
"""
