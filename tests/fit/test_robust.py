"""Large, odd or damaged things that a fit meets: columns, labels, groups, thresholds, caches."""

import os
import tracemalloc
import warnings
from time import process_time

import numpy as np
import pandas as pd
import pytest

from conftest import best_option, make_people, run_python
from parityboost import AdaBoostClassifier, AdaFairClassifier, FitWarning, metrics
from parityboost._choice import thresholds
from parityboost._choice.thresholds import candidates
from parityboost._stats.rates import false_negative_rate, precision, spread
from parityboost._table.binning import EXACT_ROWS, NumericColumn
from parityboost._table.sources import NumberSource
from parityboost.notions import FairnessNotion, Gap
from parityboost.paper.baselines import SMOTEBoostClassifier


def fit(people, **odd):
    X, y, group = people
    given = {"X": X, "y": y, "sensitive_features": group} | odd
    return AdaFairClassifier(n_estimators=3, random_state=0).fit(**given)


# --- Columns --------------------------------------------------------------------------------------


def common_and_rare(n_rows):
    """Ten common values, and 300 rare ones, so that a part of the rows shows fewer values than there are bins."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 10, n_rows).astype(float)
    rare = rng.choice(n_rows, 300, replace=False)
    values[rare] = 100 + np.arange(300)
    return values


@pytest.mark.parametrize("weighted", [False, True])
def test_a_column_of_few_common_and_many_rare_values_keeps_its_bins(weighted):
    values = common_and_rare(EXACT_ROWS * 2)
    weights = np.random.default_rng(1).integers(1, 9, len(values)) if weighted else None
    column = NumericColumn.fit(NumberSource("x", values), slice(None), weights, 255)
    codes = column.encode(NumberSource("x", np.arange(10.0)), slice(None))
    assert len(set(codes.tolist())) == 10


@pytest.mark.parametrize("n_rare", [400, 100_000])
def test_a_zero_inflated_column_keeps_its_bins(n_rare):
    """Few of the values that are not zero are in the part of the rows that bins are learnt from, or many."""
    rng = np.random.default_rng(0)
    values = np.zeros(2 * EXACT_ROWS)
    values[rng.choice(len(values), n_rare, replace=False)] = rng.uniform(1, 2, n_rare)
    column = NumericColumn.fit(NumberSource("x", values), slice(None), None, 255)
    codes = column.encode(NumberSource("x", np.array([-1.0, 0.0, 1.0, 1.25, 1.5, 1.75, 2.0])), slice(None)).tolist()
    assert codes[0] == codes[1]
    assert len(set(codes[1:])) == 6
    assert column.n_bins > 100


@pytest.mark.slow
def test_a_zero_inflated_column_still_predicts_above_the_rows_that_bins_are_learnt_from():
    n_rows = 1_000_000
    values = common_and_rare(n_rows)
    y = (values % 10 >= 5) ^ (np.random.default_rng(2).random(n_rows) < 0.05)
    model = AdaBoostClassifier(20).fit(values[:, None], y)
    assert model.score(values[:, None], y) > 0.9


def test_a_number_too_large_for_a_float_names_the_column(people):
    X = people[0].assign(years=pd.Series([10**400, *range(299)], dtype=object))
    with pytest.raises(ValueError, match="column 'years' of X contains infinity or a value too large"):
        fit(people, X=X)


def test_complex_numbers_name_the_column(people):
    values = np.array([1j, 2j, 3 + 1j])[np.arange(300) % 3]
    with pytest.raises(TypeError, match="column 'years': a value's type must be a string or a number, got complex"):
        fit(people, X=people[0].assign(years=values))
    with pytest.raises(TypeError, match="column 'years' has categories that cannot be sorted"):
        fit(people, X=people[0].assign(years=pd.Categorical(values)))


def test_a_list_in_a_cell_names_the_column(people):
    X = people[0][["skill", "years"]].to_numpy().tolist()
    X[7][1] = [1, 2]
    with pytest.raises(TypeError, match=r"column 'x1': a value must be a number or text, got \[1, 2\] in row 7"):
        fit(people, X=X)


def test_smote_standardises_numbers_of_any_size(people):
    X, y, _ = people
    X = X[["years"]].to_numpy(dtype=float)
    plain = SMOTEBoostClassifier(5, random_state=0).fit(X, y)
    large = SMOTEBoostClassifier(5, random_state=0).fit(X * 2.0**1015, y)
    np.testing.assert_array_equal(large.decision_function(X * 2.0**1015), plain.decision_function(X))


# --- Labels and groups ----------------------------------------------------------------------------


def test_labels_of_several_types_are_named(people):
    y = people[1].astype(object)
    y[y == 1] = "yes"
    with pytest.raises(TypeError, match=r"y mixes labels that cannot be sorted, such as 0 \(int\) and 'yes' \(str\)"):
        fit(people, y=y)


def test_labels_that_are_lists_are_named(people):
    y = np.empty(300, dtype=object)
    y[:] = [[1], *people[1][1:].tolist()]
    with pytest.raises(TypeError, match=r"y: a label must be a number, text or boolean, got \[1\]"):
        fit(people, y=y)


def test_complex_labels_are_told_in_one_line(people):
    with pytest.raises(ValueError, match=r"^y: Complex data not supported$"):
        fit(people, y=people[1] + 1j)


def test_booleans_among_objects_are_a_target(people):
    model = fit(people, y=(people[1] == 1).astype(object))
    assert model.classes_.tolist() == [False, True]
    np.testing.assert_array_equal(model.predict(people[0]), fit(people, y=people[1] == 1).predict(people[0]))


def test_groups_that_are_lists_are_named(people):
    groups = pd.Series([["a"], *people[2][1:]], name="gender")
    with pytest.raises(TypeError, match=r"sensitive attribute 'gender': a group must be .*, got \['a'\]"):
        fit(people, sensitive_features=groups)


def test_labels_and_groups_that_cannot_be_encoded_are_spelt_out(people):
    X, y, group = people
    odd = np.where(y == 1, "\ud800", "b").astype(object)
    groups = np.where(group == "a", "\ud801", "b").astype(object)
    model = fit(people, y=odd, sensitive_features=groups)
    assert r"cost[\ud801, \ud800]" in model.history_
    assert set(model.predict(X)) <= {"\ud800", "b"}


def test_no_column_at_all_is_no_sensitive_feature(people):
    X, y, _ = people
    with pytest.raises(ValueError, match=r"sensitive_feature=\[\] names no column of X"):
        AdaFairClassifier(sensitive_feature=[]).fit(X, y)


def test_groups_may_be_huge_integers(people):
    groups = np.array([10**400 if group == "a" else 3 for group in people[2]], dtype=object)
    assert fit(people, sensitive_features=groups).groups_.tolist() == [3, 10**400]


def test_a_threshold_for_each_of_very_many_groups_is_refused():
    X, y, _ = make_people(1000)
    model = AdaFairClassifier(n_estimators=3, threshold="per_group", validation_fraction=None)
    with pytest.raises(ValueError, match=r"up to 100 groups, got 101: merge groups, cut the column into bands"):
        model.fit(X, y, sensitive_features=np.arange(1000) % 101)


# --- Rates that only one group has ----------------------------------------------------------------


def test_one_rate_of_several_is_no_difference_to_speak_of():
    nan = np.nan
    found = spread(np.array([[0.2, nan], [nan, nan], [0.2, 0.5]]))
    np.testing.assert_array_equal(found, [nan, nan, 0.3])
    assert spread(np.array([0.7])) == 0.0  # a single group in all


def test_a_measure_of_one_group_is_not_defined():
    y, group = [1, 0, 0, 0], list("aabb")
    assert np.isnan(metrics.equal_opportunity_difference(y, y, sensitive_features=group))
    assert np.isnan(metrics.disparate_mistreatment(y, y, sensitive_features=group))
    assert metrics.statistical_parity_difference(y, y, sensitive_features=group) == 0.5


class PrecisionParity(FairnessNotion):
    name = "precision_parity"
    gaps = (Gap("precision", precision, boosts=(0,), high_is_good=True),)


def test_a_round_in_which_one_group_is_never_selected_is_not_fair(people):
    X, y, group = people
    X = X.assign(hint=np.where(group == "a", y, 0))  # the first stump selects nobody of b
    model = AdaFairClassifier(PrecisionParity(), n_estimators=20, validation_fraction=None)
    history = model.fit(X, y, sensitive_features=group).history_
    assert np.isnan(history["train_violation"].iloc[0])
    assert np.isfinite(history["train_violation"].iloc[model.theta_ - 1])


@pytest.mark.parametrize("keep", [0.0, 0.5, 1.0])
def test_rounds_in_which_no_threshold_has_a_measure_are_the_last_choice(people, keep):
    X, y, group = people
    hint = np.where(group == "a", y, 0)  # nobody of b is ever selected by this column
    options = {"keep": keep, "threshold": "auto", "validation_fraction": None}
    alone = AdaFairClassifier(PrecisionParity(), n_estimators=6, **options)
    alone.fit(pd.DataFrame({"hint": hint}), y, sensitive_features=group)
    assert alone.n_estimators_ == 6 and alone.history_["train_violation"].isna().all()
    model = AdaFairClassifier(PrecisionParity(), n_estimators=20, **options)
    history = model.fit(X.assign(hint=hint), y, sensitive_features=group).history_
    assert history["train_violation"].isna().any()
    assert np.isfinite(history["train_violation"].iloc[model.theta_ - 1])


# --- Memory ---------------------------------------------------------------------------------------


def test_a_round_keeps_nothing_of_the_thresholds_it_tried():
    rng = np.random.default_rng(0)
    n_rows, n_groups = 20_000, 3
    cell = rng.integers(2 * n_groups, size=n_rows)
    totals = np.bincount(cell, minlength=2 * n_groups).reshape(2, n_groups).T.astype(float)
    found = candidates(rng.normal(size=n_rows), cell, np.empty(0), totals)
    best_option(found, "disparate_mistreatment", 1.0)  # what compiling keeps does not count
    tracemalloc.start()
    kept = []
    for _ in range(10):
        found = candidates(rng.normal(size=n_rows), cell, np.empty(0), totals)
        kept.append(best_option(found, "disparate_mistreatment", 1.0))
    del found
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 200_000  # one table alone has 20,000 x 3 x 4 numbers


def test_thresholds_are_tried_a_part_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    cell = rng.integers(8, size=3000)
    totals = np.bincount(cell, minlength=8).reshape(2, 4).T.astype(float)
    found = candidates(rng.normal(size=3000), cell, np.empty(0), totals)
    at_once = best_option(found, "equal_opportunity", 0.5)
    monkeypatch.setattr("parityboost._choice.thresholds.MAX_COUNTS", 1000)

    class OurOwn(FairnessNotion):  # one that is not counted by a kernel
        gaps = (Gap("fnr", lambda counts: false_negative_rate(counts), (1,)),)

    sizes, measure = [], thresholds.measure

    def counted(counts, *given):
        sizes.append(len(counts))
        return measure(counts, *given)

    monkeypatch.setattr(thresholds, "measure", counted)
    in_parts = best_option(found, OurOwn(), 0.5)
    assert len(sizes) > 3 and sum(sizes) == len(found.thresholds)
    np.testing.assert_array_equal(at_once[0], in_parts[0])
    assert at_once[1] == in_parts[1]


# --- numba's cache --------------------------------------------------------------------------------


@pytest.fixture
def predicting(tmp_path, monkeypatch):
    """A program for another process that has nothing compiled yet. Of all there is, prediction compiles fastest."""
    X = np.arange(20.0)[:, None]
    AdaBoostClassifier(2).fit(X, X[:, 0] > 9).save(tmp_path / "model.json")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return f"""
import warnings
import numpy as np
import parityboost
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(parityboost.load({str(tmp_path / "model.json")!r}).predict(np.arange(20.0)[:, None]).sum())
print(len(caught), *(str(w.message) for w in caught))
"""


@pytest.mark.slow
def test_a_damaged_cache_is_replaced_with_one_warning(tmp_path, predicting):
    assert run_python(predicting).stdout.split()[:2] == ["10", "0"]
    indexes = list(tmp_path.rglob("*.nbi"))
    assert len(indexes) > 1
    for index in indexes:
        os.truncate(index, index.stat().st_size // 2)
    lines = run_python(predicting).stdout.splitlines()
    assert lines[0] == "10"
    assert lines[1].startswith("1 the compiled code in ")
    assert "compiling in memory" in lines[1]
    assert run_python(predicting).stdout.split()[:2] == ["10", "0"]  # and then it is sound again


def test_what_is_compiled_belongs_to_all_kernels_as_they_are(tmp_path):
    """A kernel has others in it, of other modules, which numba does not look at."""
    from parityboost._engine.kernels import boosting, compiling

    module = tmp_path / "one.py"
    module.write_text("1")
    before = compiling.stamp(tmp_path)
    module.write_text("12")
    assert compiling.stamp(tmp_path) != before
    assert {name for name, *_ in compiling.STAMP} > {"boosting.py", "splitting.py", "cpu.py"}
    assert compiling.STAMP in boosting.grow._cache._cache_file._source_stamp


@pytest.mark.slow
def test_a_full_disk_stops_nothing(predicting):
    full = """
import numba.core.caching as caching
def full(*args, **kwargs):
    raise OSError(28, "No space left on device")
caching.IndexDataCacheFile.save = full
"""
    lines = run_python(full + predicting).stdout.splitlines()
    assert lines[0] == "10"
    assert lines[1].startswith("1 the compiled code in ")
    assert "No space left on device" in lines[1]


@pytest.mark.no_cover
@pytest.mark.parametrize("threshold", [0.0, "auto"])
def test_many_groups_take_time_in_proportion_to_them(threshold):
    """Comparing all groups with each other would take 64 times as long for 8 times as many."""
    rng = np.random.default_rng(0)

    def seconds(n_groups):
        n_rows = 4 * n_groups
        group, y = np.arange(n_rows) % n_groups, np.arange(n_rows) // n_groups % 2
        X = pd.DataFrame({"x": y + rng.normal(size=n_rows)})
        model = AdaFairClassifier(n_estimators=5, threshold=threshold, validation_fraction=None, random_state=0)
        started = process_time()
        model.fit(X, y, sensitive_features=group)
        return process_time() - started

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # which says that there are too many
        seconds(10)
        few, many = (min(seconds(n_groups) for _ in range(3)) for n_groups in (1000, 8000))
    assert many < 24 * few, (few, many)
