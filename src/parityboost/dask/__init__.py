"""Training on a Dask cluster, for more rows than one machine holds; the models are those of one machine, bit for bit.

The rows stay on the workers, sums travel. Needs the extra ``dask``; nothing else in the package imports it.
"""

from ._cluster import ClusterError
from ._estimators import DaskAdaFairClassifier, DaskParityBoostClassifier

__all__ = ["ClusterError", "DaskAdaFairClassifier", "DaskParityBoostClassifier"]
