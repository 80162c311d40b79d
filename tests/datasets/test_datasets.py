"""The paper's four datasets: what Table 1 says about them is what the loaders give."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from conftest import DATA, needs_data
from parityboost.datasets import fetch_bank, fetch_compas, fetch_kdd_census, load_adult, overview
from parityboost.datasets._catalogue import ADULT, BANK, COMPAS, KDD_CENSUS


@functools.cache
def loaded(load: Callable[..., Any]) -> Bunch:
    """For tests that only look."""
    return load(download=False)


TABLE_1 = [
    pytest.param(load_adult, ADULT, 45_175, 14, "1:3.03", "sex", "Female", "Male", ">50K", id="adult"),
    pytest.param(
        fetch_bank,
        BANK,
        40_004,
        16,
        "1:7.57",
        "marital",
        "married",
        "single",
        "subscription",
        id="bank",
        marks=needs_data,
    ),
    pytest.param(
        fetch_compas, COMPAS, 5_278, 9, "1:1.12", "sex", "Female", "Male", "recidivism", id="compas", marks=needs_data
    ),
    pytest.param(
        fetch_kdd_census,
        KDD_CENSUS,
        299_285,
        41,
        "1:15.11",
        "sex",
        "Female",
        "Male",
        ">50K",
        id="kdd",
        marks=needs_data,
    ),
]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("load", "spec", "rows", "attributes", "ratio", "sensitive", "protected", "others", "positive"), TABLE_1
)
def test_loader_gives_the_paper_s_table_1(
    load, spec, rows, attributes, ratio, sensitive, protected, others, positive
) -> None:
    bunch = loaded(load)
    assert overview(bunch)[bunch.name].tolist()[:6] == [
        f"{rows:,}", str(attributes), sensitive, protected, ratio, positive
    ]  # fmt: skip
    assert (spec.instances, len(spec.attributes), spec.class_ratio) == (rows, attributes, ratio)
    assert bunch.data.shape == (rows, attributes)
    assert bunch.target.shape == (rows,)
    assert set(bunch.target) == {0, 1}
    assert bunch.target.dtype == np.int64
    assert bunch.target.name == spec.target
    assert bunch.sensitive.equals(bunch.data[sensitive])
    assert list(bunch.sensitive.cat.categories) == sorted([protected, others])
    assert bunch.protected == protected
    assert bunch.positive_label == bunch.target_names[1] == positive
    assert bunch.feature_names == list(bunch.data.columns)
    assert not bunch.data.isna().any(axis=None)
    assert set(bunch) == {
        "name", "data", "target", "sensitive", "sensitive_names", "protected", "positive_label", "feature_names",
        "feature_types", "target_names", "DESCR", "licence", "source",
    }  # fmt: skip
    for column, kind in bunch.feature_types.items():
        if kind == "categorical":
            categories = bunch.data[column].cat.categories
            assert set(bunch.data[column]) == set(categories), f"{column} has categories that do not occur"
            assert all(isinstance(c, str) and c == c.strip() for c in categories)
        else:
            assert pd.api.types.is_numeric_dtype(bunch.data[column])
    for text in (f"{rows:,}", ratio, protected, bunch.licence, bunch.source):
        assert text in bunch.DESCR


@pytest.mark.no_cover
def test_bundled_adult_equals_the_cleaned_raw_files_as_a_multiset() -> None:
    if not (DATA / "adult.data").exists():
        pytest.skip("PARITYBOOST_DATA has no adult.data")
    lines = [*(DATA / "adult.data").read_text().splitlines(), *(DATA / "adult.test").read_text().splitlines()[1:]]
    rows = [tuple(field.strip().rstrip(".") for field in line.split(",")) for line in lines if line]
    complete = {row for row in rows if "?" not in row}  # a set: duplicates are removed
    adult = load_adult()
    table = adult.data.astype(str).assign(income=np.where(adult.target == 1, ">50K", "<=50K"))
    assert Counter(table.itertuples(index=False, name=None)) == Counter(complete)


def test_adult_has_the_authors_eleven_attributes_on_request_and_the_same_rows() -> None:
    fourteen, eleven = load_adult(), load_adult(attributes="authors")
    assert set(fourteen.feature_names) - set(eleven.feature_names) == {"fnlwgt", "education-num", "relationship"}
    assert eleven.feature_names == list(eleven.data.columns)
    assert eleven.data.equals(fourteen.data[eleven.feature_names])
    assert eleven.target.equals(fourteen.target)
    assert "attributes: 11" in eleven.DESCR
    with pytest.raises(ValueError, match="'table1' or 'authors', got 'eleven'"):
        load_adult(attributes="eleven")  # type: ignore[arg-type]


@needs_data
def test_compas_has_zafars_five_attributes_on_request_and_the_same_rows() -> None:
    nine, five = fetch_compas(), fetch_compas(attributes="zafar")
    assert nine.feature_names == [
        "sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count",
        "c_charge_degree",
    ]  # fmt: skip
    assert five.feature_names == ["age_cat", "race", "sex", "priors_count", "c_charge_degree"]
    assert five.data.equals(nine.data[five.feature_names])
    assert five.target.equals(nine.target)


def test_unknown_compas_attributes_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'table1' or 'zafar', got 'seven'"):
        fetch_compas(attributes="seven")  # type: ignore[arg-type]


@needs_data
def test_kdd_census_columns_mean_what_they_are_called() -> None:
    data = loaded(fetch_kdd_census).data
    for code in ("ind_code", "occ_code", "own_bus", "vet_ben", "year"):
        assert data[code].dtype == "category"
    assert data["age"].between(0, 90).all()
    assert data["weeks_worked"].between(0, 52).all()
    assert set(data["year"]) == {"94", "95"}
    assert "Not in universe" in set(data["class_of_worker"])
    assert "Widowed" in set(data["marital_status"])
    assert "Bachelors degree(BA AB BS)" in set(data["education"])
    assert "Mexican-American" in set(data["hispanic_origin"])
    assert "NA" in set(data["hispanic_origin"])
    assert "California" in set(data["prev_state"])
    assert "Foreign born- Not a citizen of U S" in set(data["citizenship"])
    # Who got the veterans' questionnaire is exactly who has the benefits code 1.
    assert ((data["vet_questionnaire"] != "Not in universe") == (data["vet_ben"] == "1")).all()
    # "?" in the migration columns marks the rows of 1995 and no others.
    for column in ("mig_change_msa", "mig_change_reg", "mig_move_reg", "mig_sunbelt"):
        assert ((data[column] == "?") == (data["year"] == "95")).all()


@needs_data
@pytest.mark.slow
def test_kdd_census_loads_within_seconds_and_1_5_gib() -> None:
    pytest.importorskip("resource", reason="peak memory is measured with POSIX's getrusage")
    script = """
import resource, time
start = time.process_time()
from parityboost.datasets import fetch_kdd_census
bunch = fetch_kdd_census(download=False)
print(len(bunch.data), time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    rows, seconds, peak = run.stdout.split()
    unit = 1 if sys.platform == "darwin" else 1024
    assert rows == "299285"
    assert float(seconds) < 20  # about 4 on a laptop
    assert int(peak) * unit < 1.5 * 2**30


def test_return_x_y_gives_data_and_target_only() -> None:
    X, y = load_adult(return_X_y=True)
    bunch = load_adult()
    assert X.equals(bunch.data)
    assert y.equals(bunch.target)


def test_as_frame_false_gives_arrays_with_the_same_values() -> None:
    bunch, arrays = load_adult(), load_adult(as_frame=False)
    assert all(isinstance(arrays[key], np.ndarray) for key in ("data", "target", "sensitive"))
    assert arrays.data.dtype == object
    assert arrays.data[0].tolist() == bunch.data.iloc[0].tolist()
    assert (arrays.sensitive == bunch.sensitive).all()
    assert (arrays.target == bunch.target).all()
    assert overview(arrays).equals(overview(bunch))
    X, y = load_adult(return_X_y=True, as_frame=False)
    assert (arrays.data == X).all()
    assert (arrays.target == y).all()


def test_loaders_hand_out_tables_of_their_own() -> None:
    first = load_adult()
    first.data.loc[0, "age"] = -1
    first.sensitive[:] = "Male"
    second = load_adult()
    assert second.data.loc[0, "age"] != -1
    assert set(second.sensitive) == {"Female", "Male"}


@pytest.mark.slow
def test_importing_datasets_imports_no_extra_and_not_numba() -> None:
    script = """
import sys
import parityboost.datasets
parityboost.datasets.load_adult()
heavy = {"pooch", "requests", "tqdm", "matplotlib", "plotly", "typer", "rich", "cvxpy", "imblearn", "onnx", "numba"}
print(sorted(heavy & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def small_bunch(name: str, groups: list[str], target: list[int], protected: str | None) -> Bunch:
    sensitive = pd.Series(groups, name="group", dtype="category")
    return Bunch(
        name=name, data=sensitive.to_frame(), target=pd.Series(target), sensitive=sensitive, protected=protected,
        positive_label="yes", feature_names=["group"], sensitive_names=["group"],
    )  # fmt: skip


def test_overview_puts_the_protected_group_first_and_leaves_gaps_where_a_dataset_has_fewer_groups() -> None:
    three = small_bunch("three", ["a", "b", "c", "c"], [1, 0, 1, 0], "c")
    two = small_bunch("two", ["x", "y", "y"], [0, 1, 0], None)
    table = overview(two, three)
    assert table.columns.tolist() == ["two", "three"]
    assert table["three"].tolist() == ["4", "1", "group", "c", "1:1.00", "yes", "c 0.500", "a 1.000", "b 0.000"]
    assert table["two"].tolist() == ["3", "1", "group", "-", "1:2.00", "yes", "x 0.000", "y 0.500", ""]


def test_class_ratio_is_truncated_and_defined_without_positives() -> None:
    assert overview(small_bunch("", ["a", "b", "b"], [1, 0, 1], None)).loc["Class ratio (+:-)", ""] == "1:0.50"
    assert overview(small_bunch("", ["a"] * 5, [1, 1, 1, 0, 0], None)).loc["Class ratio (+:-)", ""] == "1:0.66"
    assert overview(small_bunch("", ["a", "b"], [0, 0], None)).loc["Class ratio (+:-)", ""] == "0:2"


def test_overview_fits_a_terminal_of_80_columns() -> None:
    bunches = [load_adult(), *(map(loaded, (fetch_bank, fetch_compas, fetch_kdd_census)) if DATA.is_dir() else [])]
    assert max(map(len, str(overview(*bunches)).splitlines())) <= 80


def test_overview_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one Bunch"):
        overview()
