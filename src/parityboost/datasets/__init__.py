"""The paper's four datasets, synthetic data with a known disparity, and your own tables, all in one shape."""

from ._bunch import base_rates, overview
from ._loaders import fetch_bank, fetch_compas, fetch_kdd_census, load_adult
from ._synthetic import make_biased_classification
from ._table import read_table

__all__ = [
    "base_rates",
    "fetch_bank",
    "fetch_compas",
    "fetch_kdd_census",
    "load_adult",
    "make_biased_classification",
    "overview",
    "read_table",
]
