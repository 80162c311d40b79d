"""The public loaders: a declared dataset's files become a Bunch."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pandas as pd
from sklearn.utils import Bunch

from ._bunch import make_bunch, to_arrays
from ._catalogue import ADULT, BANK, COMPAS, KDD_CENSUS, Dataset
from ._files import obtain, read

Folder: TypeAlias = str | os.PathLike[str] | None
Loaded: TypeAlias = Any  # a Bunch, or (data, target) with return_X_y=True; scikit-learn's Bunch has no type either

_BUNDLED = Path(__file__).parent / "data" / "adult.csv.gz"


def load_adult(
    *,
    data_home: Folder = None,
    download: bool = True,
    return_X_y: bool = False,
    as_frame: bool = True,
    attributes: Literal["table1", "authors"] = "table1",
) -> Loaded:
    """Load Adult census, bundled with the package: does a person earn more than 50K a year?

    Parameters
    ----------
    data_home, download :
        Not used, as no file is needed; accepted so that all four loaders can be called alike.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        False gives NumPy arrays instead of pandas objects; `data` is then an array of objects with the same values,
        since it mixes numbers and categories.
    attributes : {"table1", "authors"}, default="table1"
        The fourteen attributes that the paper's Table 1 counts, or the eleven that its authors' scripts use: without
        fnlwgt, education-num and relationship.

    Returns
    -------
    Bunch or (data, target)
        With these members, the same for every loader:

        - `data`: the attributes, including the sensitive one; categories have the pandas dtype ``category``;
        - `target`: 1 for the positive class, 0 for the other;
        - `sensitive`, `protected`: the sensitive attribute and the value that marks the protected group;
        - `sensitive_names`: its name in a list, since there may be several in tables of your own;
        - `target_names`, `positive_label`: the names of the negative and the positive class, and the latter alone;
        - `feature_names`, `feature_types`: the latter maps each name to "numeric" or "categorical";
        - `name`, `DESCR`, `licence`, `source`.

    Examples
    --------
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> adult.data.shape
    (45175, 14)
    >>> adult.protected, adult.positive_label
    ('Female', '>50K')
    >>> load_adult(attributes="authors").data.shape
    (45175, 11)
    """
    dataset = ADULT.with_attributes(attributes)
    return _finish(_to_bunch(dataset, [read(dataset.files[0], _BUNDLED, dataset)]), return_X_y, as_frame)


def fetch_bank(
    *, data_home: Folder = None, download: bool = True, return_X_y: bool = False, as_frame: bool = True
) -> Loaded:
    """Load Bank marketing, single and married clients: does a client subscribe to a term deposit?

    Parameters
    ----------
    data_home : str or path, default=None
        A folder to look into first; then come the folder that the environment variable PARITYBOOST_DATA names, the
        cache of the user, and the publisher.
    download : bool, default=True
        Whether the publisher may be asked; needs ``pip install "parityboost[datasets]"``.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        False gives NumPy arrays instead of pandas objects, see :func:`load_adult`.

    Returns
    -------
    Bunch or (data, target)
        With the members that :func:`load_adult` lists.

    Examples
    --------
    >>> from parityboost.datasets import fetch_bank
    >>> bank = fetch_bank()
    >>> bank.data.shape
    (40004, 16)
    >>> bank.sensitive.name, bank.protected, bank.positive_label
    ('marital', 'married', 'subscription')
    """
    return _finish(_to_bunch(BANK, obtain(BANK, data_home, download)), return_X_y, as_frame)


def fetch_compas(
    *,
    data_home: Folder = None,
    download: bool = True,
    return_X_y: bool = False,
    as_frame: bool = True,
    attributes: Literal["table1", "zafar"] = "table1",
) -> Loaded:
    """Load ProPublica's COMPAS table, the paper's Compass: is a defendant arrested again within two years?

    Parameters
    ----------
    data_home, download, return_X_y, as_frame :
        As in :func:`fetch_bank`.
    attributes : {"table1", "zafar"}, default="table1"
        The nine attributes that the paper's Table 1 counts, or the five that Zafar et al. keep, whose preprocessing the
        paper's text says it follows: age_cat, race, sex, priors_count and c_charge_degree.

    Returns
    -------
    Bunch or (data, target)
        With the members that :func:`load_adult` lists.

    Examples
    --------
    >>> from parityboost.datasets import fetch_compas
    >>> fetch_compas().data.shape
    (5278, 9)
    >>> fetch_compas(attributes="zafar").feature_names
    ['age_cat', 'race', 'sex', 'priors_count', 'c_charge_degree']
    """
    dataset = COMPAS.with_attributes(attributes)
    return _finish(_to_bunch(dataset, obtain(dataset, data_home, download)), return_X_y, as_frame)


def fetch_kdd_census(
    *, data_home: Folder = None, download: bool = True, return_X_y: bool = False, as_frame: bool = True
) -> Loaded:
    """Load KDD census income, both of its files: does a person earn more than 50K a year?

    Parameters
    ----------
    data_home, download, return_X_y, as_frame :
        As in :func:`fetch_bank`.

    Returns
    -------
    Bunch or (data, target)
        With the members that :func:`load_adult` lists. "?" is a category of its own.

    Examples
    --------
    >>> from parityboost.datasets import fetch_kdd_census
    >>> kdd = fetch_kdd_census()
    >>> kdd.data.shape
    (299285, 41)
    """
    return _finish(_to_bunch(KDD_CENSUS, obtain(KDD_CENSUS, data_home, download)), return_X_y, as_frame)


def _to_bunch(dataset: Dataset, contents: list[bytes]) -> Bunch:
    table = _parse(dataset, b"".join(contents))
    data = table[list(dataset.attributes)]
    *_, positive = dataset.classes
    return make_bunch(
        name=dataset.name,
        data=data,
        target=(table[dataset.target] == positive).astype("int64"),
        sensitive=data[dataset.sensitive].copy(),
        protected=dataset.protected,
        target_names=list(dataset.classes.values()),
        description=dataset.description,
        licence=dataset.licence,
        source=dataset.source,
    )


def _parse(dataset: Dataset, contents: bytes) -> pd.DataFrame:
    """The attributes and the target of the rows that stay."""
    columns = [*dataset.attributes, dataset.target]
    numbers = dataset.numeric.union(dataset.keep_needs)
    table = pd.read_csv(
        io.BytesIO(contents),
        sep=dataset.separator,
        header=0 if dataset.header else None,
        names=None if dataset.header else columns,
        usecols=[*columns, *dataset.keep_needs],
        # Read as categories from the start: as strings, KDD census would take gigabytes.
        dtype={column: "category" for column in columns if column not in numbers},
        skipinitialspace=True,
        keep_default_na=False,  # "NA" and "?" are values of these tables
        na_values=[""],
    )
    if dataset.keep:
        # Not numexpr, which pandas would choose by itself where it is installed.
        table = table.query(dataset.keep, engine="python").reset_index(drop=True)
    table = table[columns].copy()
    for column in table.columns[table.dtypes == "category"]:
        used = table[column].cat.remove_unused_categories()
        # Codes are numbers to pandas, and KDD census pads some of its texts.
        table[column] = used.cat.rename_categories(lambda category: str(category).strip())
    return table


def _finish(bunch: Bunch, return_X_y: bool, as_frame: bool) -> Loaded:
    if not as_frame:
        bunch = to_arrays(bunch)
    return (bunch.data, bunch.target) if return_X_y else bunch


# The paper's four, in the order of its Table 1.
TABLE_1: dict[str, Callable[..., Bunch]] = {
    "adult": load_adult,
    "bank": fetch_bank,
    "compas": fetch_compas,
    "kdd": fetch_kdd_census,
}
