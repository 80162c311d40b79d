"""The passes over the rows on an NVIDIA graphics card: ``rounds.cu`` has the kernels, ``backend`` calls them.

CuPy is imported by ``backend`` alone, and that only when a fit or a prediction asks for ``device="cuda"``.
"""
