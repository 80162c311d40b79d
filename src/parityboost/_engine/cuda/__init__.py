"""The passes over the rows on an NVIDIA graphics card: ``passes.cu`` has the kernels, ``rows`` calls them.

``tables`` and ``tables.cu`` do the same for binning and prediction, ``card`` is the card and its memory. CuPy is
imported by ``card`` alone, and that only when a fit or a prediction asks for ``device="cuda"``.
"""
