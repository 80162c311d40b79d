"""The passes over the rows that a round needs (``cpu`` has the protocol), and what is decided from their sums.

Here belongs work on plain arrays that knows nothing of estimators, notions or the user's tables. Only
``kernels`` imports numba, only ``cuda`` CuPy. In which order passes are made belongs to
``_fit``.
"""
