import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parityboost._table.sources as sources
from parityboost import AdaFairClassifier
from parityboost._arrays import MISSING
from parityboost._engine.threads import Team
from parityboost._table import binning
from parityboost._table.binning import Binner, CategoricalColumn, NumericColumn

EVERY = slice(None)


def source_of(values, name="x"):
    return sources.read_sources(pd.DataFrame({name: values}))[0]


def fit_numbers(values, max_bins=255, weights=None, name="x"):
    return NumericColumn.fit(source_of(np.asarray(values, dtype=float), name), EVERY, weights, max_bins)


def fit_categories(values, max_bins=255, name="x"):
    return CategoricalColumn.fit(source_of(values, name), EVERY, None, max_bins)


def encode(values, max_bins=255, weights=None):
    column = fit_numbers(values, max_bins, weights)
    return encoded(column, np.asarray(values, dtype=float)), column


def encoded(column, values):
    """As the estimator does at prediction: first the kind of the column, then its rows."""
    source = source_of(values)
    column.check(source)
    return column.encode(source, EVERY)


def find_categorical(X, choice):
    return sources.find_categorical(X, sources.read_sources(X), choice)


def fit_and_encode(X, categorical):
    with Team(1) as team:
        read = sources.read_sources(X)
        binner = Binner.fit(read, EVERY, None, 255, categorical, team)
        return binner, binner.encode(read, EVERY, team)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=1, max_size=60))
def test_few_distinct_values_keep_one_bin_each_and_their_order(values):
    codes, column = encode(values)
    values = np.array(values)
    assert (codes[np.isnan(values)] == MISSING).all()
    present = values[~np.isnan(values)]
    ranks = np.unique(present, return_inverse=True)[1] + 1
    np.testing.assert_array_equal(codes[~np.isnan(values)], ranks)
    assert column.n_bins == len(np.unique(present))


@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=200),
    st.integers(2, 10),
)
def test_many_distinct_values_share_bins_that_respect_the_order(values, max_bins):
    codes, column = encode(values, max_bins)
    assert codes.min() >= 1
    assert codes.max() <= max_bins
    order = np.argsort(values, kind="stable")
    assert (np.diff(codes[order].astype(int)) >= 0).all()
    assert len(np.unique(codes)) == column.n_bins  # no bin is empty


def test_bins_have_about_equal_weight():
    codes, column = encode(np.random.default_rng(0).normal(size=10_000), 50)
    sizes = np.bincount(codes)[1:]
    assert column.n_bins == 50
    assert sizes.max() <= 1.05 * sizes.min()


def test_a_column_of_mostly_zeros_spends_its_bins_on_the_rest():
    values = np.concatenate([np.zeros(9000), np.random.default_rng(0).normal(10, 1, 1000)])
    _, column = encode(values, 100)
    assert column.n_bins >= 95


def test_weight_two_bins_like_a_repeated_row():
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=400), rng.integers(1, 4, 400).astype(float)
    _, weighted = encode(values, 20, weights)
    _, repeated = encode(np.repeat(values, weights.astype(int)), 20)
    np.testing.assert_array_equal(weighted.edges, repeated.edges)


def test_new_values_fall_on_the_side_of_the_nearest_training_value():
    column = fit_numbers([1.0, 2.0, 10.0])
    new = np.array([-5, 1.4, 1.6, 5.9, 6.1, 99, np.nan])
    np.testing.assert_array_equal(encoded(column, new), [1, 1, 2, 2, 3, 3, 0])


def test_neighbouring_and_huge_floats_stay_apart():
    values = np.array([1.0, np.nextafter(1.0, 2), -1.7e308, 1.7e308])
    codes, _ = encode(values)
    np.testing.assert_array_equal(codes, [2, 3, 1, 4])


def test_every_kind_of_column_is_read():
    X = pd.DataFrame(
        {
            "float": [0.5, np.nan, 2.5, 0.5],
            "float32": np.array([1, 2, 3, np.nan], dtype=np.float32),
            "int": [3, 1, 2, 3],
            "nullable int": pd.array([3, None, 2, 3], dtype="Int64"),
            "bool": [True, False, True, True],
            "nullable bool": pd.array([True, None, False, True], dtype="boolean"),
            "category": pd.Categorical(["b", "a", None, "b"]),
            "integer category": pd.Categorical([7, 5, 7, 6]),
            "string": pd.array(["b", "a", None, "b"], dtype="string"),
            "object": pd.Series(["b", "a", None, "b"], dtype=object),
            "object numbers": pd.Series([2, 1.5, None, 2], dtype=object),
            "mixed": pd.Series([1, "a", None, "b"], dtype=object),
            "nothing": pd.Series([None] * 4, dtype=object),
        }
    )
    categorical = find_categorical(X, "from_dtype")
    assert [name for name, flag in zip(X, categorical, strict=True) if flag] == [
        "category",
        "integer category",
        "string",
        "object",
        "mixed",
    ]
    _, codes = fit_and_encode(X, categorical)
    expected = {
        "float": [1, 0, 2, 1],
        "float32": [1, 2, 3, 0],
        "int": [3, 1, 2, 3],
        "nullable int": [2, 0, 1, 2],
        "bool": [2, 1, 2, 2],
        "nullable bool": [2, 0, 1, 2],
        "category": [2, 1, 0, 2],
        "integer category": [3, 1, 3, 2],
        "string": [2, 1, 0, 2],
        "object": [2, 1, 0, 2],
        "object numbers": [2, 1, 0, 2],
        "mixed": [1, 2, 0, 3],
        "nothing": [0, 0, 0, 0],
    }
    for name, row in zip(X, codes, strict=True):
        np.testing.assert_array_equal(row, expected[name], err_msg=name)


def test_a_category_unseen_in_training_is_another_one_and_not_missing_whatever_the_dtype():
    column = fit_categories(["a", "b", "a"])
    for new in (
        pd.Series(["b", "new", None]),
        pd.Series(pd.Categorical(["b", "new", None])),
        np.array(["b", "new", None], dtype=object),
    ):
        np.testing.assert_array_equal(encoded(column, new), [2, 3, 0])


def test_unused_categories_get_no_bin():
    column = fit_categories(pd.Categorical(["b", None], categories=["a", "b", "c"]))
    assert column.categories == ("b",)


def test_the_rarest_categories_beyond_max_bins_are_taken_together_with_a_warning():
    values = pd.Series(["a"] * 5 + ["b"] * 1 + ["c"] * 4 + ["d"] * 3)
    with pytest.warns(UserWarning, match=r"column 'zip' has 4 categories.*the 1 rarest"):
        column = fit_categories(values, 3, "zip")
    assert column.categories == ("a", "c", "d")
    assert encoded(column, ["b", "never seen", "d"]).tolist() == [column.other, column.other, 3]
    assert (column.other, column.n_codes) == (4, 5)


def test_there_is_room_for_other_categories_beside_as_many_as_a_byte_holds():
    with pytest.warns(
        UserWarning, match=r"column 'zip' has 300 categories, more than 254 \(max_bins=255\): the 46 rar"
    ):
        column = fit_categories([f"{k:03}" for k in range(300)], 255, "zip")
    assert len(column.categories) == 254
    assert encoded(column, ["253", "254", None]).tolist() == [254, 255, MISSING]


@pytest.mark.parametrize("choice", [["job"], [1], [False, True], np.array([False, True])])
def test_categorical_columns_can_be_named_numbered_or_flagged(choice):
    X = pd.DataFrame({"age": [1, 2], "job": [3, 4]})
    assert find_categorical(X, choice) == [False, True]


def test_a_mask_of_the_wrong_length_is_no_list_of_positions():
    with pytest.raises(ValueError, match="categorical_features has 2 booleans, X 3 columns"):
        find_categorical(pd.DataFrame({"a": [1], "b": [2], "c": [3]}), [True, False])


def test_a_column_that_held_nothing_may_hold_anything_later():
    column = fit_numbers([np.nan, np.nan])
    for later in ([1.0, 2.0], ["text", "more"], pd.Categorical(["a", None])):
        assert (encoded(column, later) == MISSING).all()


def test_rare_values_among_very_many_missing_ones_get_bins():
    values = np.full(600_000, np.nan)
    values[:400] = np.arange(400)
    _, column = encode(values, 100)
    assert column.n_bins == 100


def ranked(values, positive, max_bins=255, weights=None, rows_per_mass=1.0):
    ranking = binning.Ranking(np.asarray(positive, dtype=bool), rows_per_mass)
    return CategoricalColumn.fit(source_of(values, "zip"), EVERY, weights, max_bins, ranking)


@pytest.mark.parametrize("n_categories", [300, 5_000])
def test_categories_beyond_a_byte_share_codes_with_those_of_a_similar_share(n_categories):
    names = [f"{k:05}" for k in range(n_categories)]
    share = np.random.default_rng(0).permutation(n_categories) / n_categories
    n_rows = 50
    values = np.repeat(names, n_rows)
    positive = np.concatenate([np.arange(n_rows) < round(n_rows * p) for p in share])
    column = ranked(values, positive)
    assert column.categories == tuple(names)  # none is lost, and nothing is warned of
    codes = np.array(column.codes)
    assert set(codes) == set(range(1, column.n_bins + 1)) and 40 < column.n_bins <= 254
    found = positive.reshape(n_categories, n_rows).mean(axis=1)
    assert (np.diff(found[np.argsort(codes, kind="stable")], append=1).min() >= -0.05).all()
    order = np.argsort(found, kind="stable")
    assert (np.diff(codes[order]) >= 0).all()
    assert encoded(column, [names[0], None, "unseen"]).tolist() == [codes[0], MISSING, column.n_bins + 1]
    assert column.n_codes == column.n_bins + 2


def test_few_categories_of_many_rows_have_a_code_each_and_weights_count_as_rows():
    values = np.repeat(["a", "b", "c"], [60, 4, 5])
    column = ranked(values, values == "a")
    assert column.shared is None and column.categories == ("a", "c")  # of fewer than five rows: other
    weights = np.where(values == "b", 2, 1)
    assert ranked(values, values == "a", weights=weights).categories == ("a", "b", "c")
    doubled = ranked(values, values == "a", weights=weights * 2, rows_per_mass=0.5)
    assert doubled.categories == ("a", "b", "c")
    halved = ranked(values, values == "a", weights=np.full(len(values), 2), rows_per_mass=0.5)
    assert halved.categories == ("a", "c")


def test_an_identifier_shares_nothing_but_other_and_is_warned_of():
    """Of few rows each, codes by their labels would tell the model the labels."""
    values = [f"{k:05}" for k in range(2_000)]
    with pytest.warns(UserWarning, match=r"'zip' has 2000 categories.*the 2000 rarest.*drop it if it is an identifier"):
        column = ranked(values, np.arange(2_000) % 2 == 0)
    assert column.categories == ()
    assert set(encoded(column, values)) == {column.other}


def test_number_categories_split_by_category():
    X = np.array([[3.0], [1.0], [np.nan]])
    binner, codes = fit_and_encode(X, [True])
    assert binner.columns[0].categories == (1.0, 3.0)
    np.testing.assert_array_equal(codes, [[2, 1, 0]])


def test_text_columns_must_be_categorical():
    X = pd.DataFrame({"age": [1, 2], "job": ["a", "b"]})
    for replacing in (None, [True, False]):
        with pytest.raises(ValueError, match=r"column 'job' does not hold numbers, so categorical_features must have"):
            find_categorical(X, replacing)


def test_a_list_adds_to_what_the_dtypes_say_and_booleans_replace_it():
    X = pd.DataFrame({"age": [1, 2], "job": ["a", "b"], "grade": pd.Categorical([1, 2])})
    assert find_categorical(X, "from_dtype") == [False, True, True]
    assert find_categorical(X, []) == [False, True, True]
    assert find_categorical(X, ["age"]) == find_categorical(X, [0]) == [True, True, True]
    assert find_categorical(X, [False, True, False]) == [False, True, False]
    assert find_categorical(X[["age", "grade"]], None) == [False, False]


def test_categories_that_are_numbers_can_be_numbers():
    X = pd.DataFrame({"grade": pd.Categorical([1, None, 10, 2])})
    binner, codes = fit_and_encode(X, [False])
    np.testing.assert_array_equal(codes, [[1, 0, 3, 2]])
    _, again = fit_and_encode(X.astype(float), [False])
    np.testing.assert_array_equal(codes, again)
    binner.check(sources.read_sources(X.astype(float)))  # either kind will do
    with pytest.raises(ValueError, match="column 'grade' held numbers in training, got category values"):
        binner.check(sources.read_sources(X.astype("string").astype("category")))


def test_an_unknown_categorical_column_is_named():
    X = pd.DataFrame({"age": [1, 2]})
    with pytest.raises(ValueError, match=r"no column 'jop'; its columns are 'age'"):
        find_categorical(X, ["jop"])


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (np.array([1.0, np.inf]), ValueError, "column 'x' of X contains infinity"),
        (pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])), TypeError, "column 'x' holds dates"),
        (pd.Series([{"a": 1}, "b"]), TypeError, "must be a string or a number, got dict"),
    ],
)
def test_columns_that_cannot_be_read_are_named(column, error, message):
    fit = fit_numbers if column.dtype == float else fit_categories
    with pytest.raises(error, match=message):
        fit(column)


def test_infinity_is_found_among_many_values():
    values = np.append(np.arange(1000.0), np.inf)
    with pytest.raises(ValueError, match="column 'x' of X contains infinity"):
        fit_numbers(values)
    with pytest.raises(ValueError, match="column 'x' of X contains infinity"):
        fit_numbers(values, weights=np.linspace(1, 2, 1001))


def test_a_column_that_changes_its_kind_is_named():
    numbers = fit_numbers([1.0, 2.0], name="age")
    with pytest.raises(ValueError, match=r"column 'age' held numbers in training, got"):
        encoded(numbers, ["old", "young"])
    with pytest.raises(ValueError, match=r"column 'age' held numbers in training, got category"):
        encoded(numbers, pd.Categorical(["old", "young"]))
    with pytest.raises(ValueError, match=r"column 'age' of X contains infinity"):
        encoded(numbers, np.array([np.inf]))
    jobs = fit_categories(["a", "b"], name="job")
    with pytest.raises(ValueError, match=r"column 'job' held categories in training \(such as 'a'\), got numbers"):
        encoded(jobs, [1.0, 2.0])
    assert (encoded(jobs, [np.nan, np.nan]) == MISSING).all()


def test_categories_that_are_all_of_another_kind_are_refused_and_new_ones_are_not():
    numbers = fit_categories(pd.Categorical([1, 2, 2]), name="code")
    for text in (["1", "2"], ["1", None], pd.Categorical(["1", "2"]), pd.array(["1", "2"], dtype="string")):
        with pytest.raises(ValueError, match=r"column 'code' held categories in training \(such as 1\), got text"):
            encoded(numbers, text)
    words = fit_categories(["a", "b"], name="job")
    with pytest.raises(ValueError, match=r"column 'job' held categories in training \(such as 'a'\), got numbers"):
        encoded(words, pd.Categorical([1, 2], categories=[1, 2, 3]))
    with pytest.raises(ValueError, match="got numbers"):
        encoded(words, pd.Categorical([1, 2], categories=[1, 2, "a"]))
    assert encoded(numbers, pd.Categorical([3, 2])).tolist() == [3, 2]
    assert encoded(numbers, pd.Series([7, "2"], dtype=object)).tolist() == [3, 3]
    assert encoded(words, ["c", "b"]).tolist() == [3, 2]
    assert encoded(words, pd.Categorical([None, None], categories=[1, 2])).tolist() == [MISSING, MISSING]
    assert encoded(numbers, pd.Categorical([None, None], categories=["1"])).tolist() == [MISSING, MISSING]
    mixed = fit_categories(pd.Series([1, "a"], dtype=object))
    assert encoded(mixed, ["b", "a"]).tolist() == [3, 2]
    assert encoded(mixed, [1, 5]).tolist() == [1, 3]


@pytest.mark.filterwarnings("ignore:column 'x' has 4 categories")
def test_categories_that_were_too_rare_to_be_kept_still_say_which_kinds_a_column_held():
    words = fit_categories(pd.Series(["a", "a", "b", "b", 1, 2.5], dtype=object), max_bins=2)
    assert words.categories == ("a", "b")
    for values in ([1], [7.0], pd.Categorical([1, 3]), pd.Series([1, "c"], dtype=object)):
        assert (encoded(words, values) == words.other).all()
    assert encoded(words, ["b"]).tolist() == [2]
    numbers = fit_categories(pd.Series([1, 1, 2, 2, "a", "b"], dtype=object), max_bins=2)
    assert numbers.categories == (1, 2)
    assert (encoded(numbers, ["a", "c"]) == numbers.other).all()


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=1, max_size=300))
def test_missing_values_and_signed_zeros_do_not_disturb_the_bins_of_many_values(values):
    values = np.array([*values, -0.0, 0.0, np.nan])
    codes, column = encode(values, 8)
    assert codes[-2] == codes[-3]
    present = ~np.isnan(values)
    assert (codes[~present] == MISSING).all()
    np.testing.assert_array_equal(codes[present], 1 + np.searchsorted(column.edges, values[present]))


def test_bins_of_very_many_rows_come_from_a_part_of_them_and_still_fit_all():
    values = np.random.default_rng(0).normal(size=600_000)
    codes, column = encode(values, 50)
    sizes = np.bincount(codes, minlength=51)[1:]
    assert column.n_bins == 50
    assert sizes.max() < 1.1 * sizes.min()


def test_two_columns_of_one_name_are_not_confused():
    X = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    with pytest.raises(ValueError, match="2 columns of X are called 'a'"):
        find_categorical(X, ["a"])


# --- Cuts ---------------------------------------------------------------------------------------------------

COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: np.exp(3 * rng.normal(size=n)),
    "mostly zero": lambda rng, n: np.where(rng.random(n) < 0.9, 0.0, np.exp(rng.normal(size=n))),
    "integers": lambda rng, n: rng.integers(0, 10**6, n).astype(float),
    "few integers": lambda rng, n: rng.integers(-500, 500, n).astype(float),
    "far away": lambda rng, n: np.append(rng.random(n - 1), 1e300),
    "close together": lambda rng, n: 1 + 1e-10 * rng.random(n),
    "popular prices": lambda rng, n: np.where(rng.random(n) < 0.5, rng.integers(0, 400, n) / 4, 100 * rng.random(n)),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_bins_of_many_rows_weigh_about_as_much_as_those_of_sorted_rows(monkeypatch, name, weighted):
    rng = np.random.default_rng(0)
    values = COLUMNS[name](rng, 60_000)
    weights = rng.integers(1, 5, len(values)) if weighted else None
    exact = binning.find_stretches(values, weights).edges(64)
    monkeypatch.setattr(binning, "EXACT_ROWS", 1000)
    edges = binning.find_stretches(values, weights).edges(64)
    known = ~np.isnan(values)
    masses = [
        np.bincount(np.searchsorted(e, values[known]), None if weights is None else weights[known], len(e) + 1)
        for e in (edges, exact)
    ]
    assert len(edges) == len(exact)
    np.testing.assert_allclose(*map(np.sort, masses), rtol=0.15, atol=0.05 * masses[1].sum() / 64)
    # No edge is a value of the upper bin, and heavy values are alone.
    assert (np.diff(edges) > 0).all()
    value, count = np.unique(values[known], return_counts=True)
    for heavy in value[count > 0.05 * len(values)]:
        code = np.searchsorted(edges, heavy)
        assert np.unique(values[known][np.searchsorted(edges, values[known]) == code]).tolist() == [heavy]


@pytest.mark.parametrize("limit", [1000, 10**6])
@pytest.mark.parametrize("name", COLUMNS)
def test_bins_do_not_depend_on_the_order_of_the_rows_nor_on_repeating_them(monkeypatch, name, limit):
    monkeypatch.setattr(binning, "EXACT_ROWS", limit)
    rng = np.random.default_rng(1)
    values, repeats = COLUMNS[name](rng, 20_000), rng.integers(1, 4, 20_000)
    weighted = binning.find_stretches(values, repeats).edges(100)
    order = rng.permutation(len(values))
    np.testing.assert_array_equal(binning.find_stretches(values[order], repeats[order]).edges(100), weighted)
    rows = rng.permutation(np.repeat(values, repeats))
    np.testing.assert_array_equal(binning.find_stretches(rows, None).edges(100), weighted)


def test_keys_are_in_the_order_of_the_numbers():
    values = np.array([-np.inf, -1e308, -2.0, -1.0, -5e-324, 0.0, 5e-324, 0.1, 1.0, 1e308, np.inf])
    keys = binning.to_keys(values)
    assert (np.diff(keys.astype(object)) > 0).all()
    np.testing.assert_array_equal(binning.to_floats(keys), values)
    assert binning.to_keys(np.array([-0.0])) == binning.to_keys(np.array([0.0]))


def test_what_the_held_out_rows_hold_is_no_surprise():
    """Text and numbers in one column: a row with either is predicted, also if training itself saw only one of them."""
    X = pd.DataFrame({"mixed": pd.Series(["a", "b"] * 20 + [1, 2] * 2, dtype=object)})
    y, group = np.tile([0, 1], 22), np.repeat(["x", "y"], 22)
    weight = np.r_[np.ones(40), np.zeros(4)]
    model = AdaFairClassifier(n_estimators=2, validation_fraction=None, notion="none")
    model.fit(X, y, sensitive_features=group, sample_weight=weight)
    assert len(model.predict(X.iloc[[-1]])) == 1


def test_groups_named_by_position_may_be_any_text():
    X = np.array([["\ud800", 1.0], ["b", 2.0]] * 20, dtype=object)
    model = AdaFairClassifier(n_estimators=2, sensitive_feature=0, notion="none", validation_fraction=None)
    assert len(model.fit(X, np.tile([0, 1, 1, 1], 10)).groups_) == 2
