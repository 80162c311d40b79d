"""Training on Dask collections: the model of one machine, whatever the partitions."""

import inspect
import pickle
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import parityboost
from conftest import DATA, needs_data, run_python
from parityboost import SKOPS_TYPES, AdaFairClassifier
from parityboost._table.binning import Bundles
from parityboost.dask import DaskAdaFairClassifier, DaskParityBoostClassifier
from parityboost.datasets import fetch_kdd_census, load_adult

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402


@pytest.fixture(scope="module")
def client():
    """A cluster of two workers in this process."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def make_table(rng, n_rows, n_groups):
    """Numbers, few and many of them, missing ones, categories, text and booleans; labels and groups."""
    group = rng.integers(0, n_groups, n_rows)
    skill = rng.normal(size=n_rows) - 0.4 * group
    table = pd.DataFrame(
        {
            "skill": skill + 0.5 * rng.normal(size=n_rows),
            "years": rng.integers(0, 30, n_rows),
            "job": pd.Categorical(rng.choice(["clerk", "cook", "smith"], n_rows)),
            "city": rng.choice(["x", "y", "z"], n_rows, p=[0.5, 0.45, 0.05]),
            "member": rng.random(n_rows) < 0.5,
            "label": (skill > 0).astype(int),
            "group": np.array(["a", "b", "c", "d"])[group],
        }
    )
    table.loc[rng.random(n_rows) < 0.1, "skill"] = np.nan
    return table


def in_partitions(table, sizes):
    """A Dask DataFrame of unknown divisions with partitions of the given sizes; the rest is the last one."""
    bounds = np.minimum(np.cumsum([0, *sizes]), len(table)).tolist()
    parts = [table.iloc[first:last] for first, last in zip(bounds, [*bounds[1:], len(table)], strict=True)]
    return dd.from_map(lambda k: parts[k], range(len(parts)), meta=table.iloc[:0])


FEATURES = ["skill", "years", "job", "city", "member"]


def assert_same(local, distributed_model):
    """The same model, to the last bit of whatever was fitted."""
    pd.testing.assert_frame_equal(local.history_, distributed_model.history_, check_exact=True)
    assert local.estimators_ == distributed_model.estimators_
    assert local.theta_ == distributed_model.theta_
    assert local.n_samples_fit_ == distributed_model.n_samples_fit_
    np.testing.assert_array_equal(local.threshold_, distributed_model.threshold_)
    np.testing.assert_array_equal(local.groups_, distributed_model.groups_)
    np.testing.assert_array_equal(local.classes_, distributed_model.classes_)
    assert local.classes_.dtype == distributed_model.classes_.dtype
    assert local.warnings_ == distributed_model.warnings_
    for ours, theirs in zip(local.glass_box_.columns, distributed_model.glass_box_.columns, strict=True):
        assert vars(ours).keys() == vars(theirs).keys()
        for name, value in vars(ours).items():
            np.testing.assert_array_equal(value, vars(theirs)[name])


def fit_both(table, collection, weight=None, **options):
    options = {"n_estimators": 8, "random_state": 3, **options}
    local = AdaFairClassifier(**options)
    other = DaskAdaFairClassifier(**options)
    given = {}
    theirs = {}
    if weight is not None:
        table, collection = table.assign(weight=weight), collection
        given["sample_weight"], theirs["sample_weight"] = table["weight"], collection["weight"]
    if "sensitive_feature" not in options:
        given["sensitive_features"], theirs["sensitive_features"] = table["group"], collection["group"]
    columns = FEATURES + (["group"] if "sensitive_feature" in options else [])
    local.fit(table[columns], table["label"], **given)
    other.fit(collection[columns], collection["label"], **theirs)
    return local, other


OPTIONS = [
    {},
    {"max_depth": 2},
    {"category_splits": "sets"},
    {"category_splits": "sets", "max_bins": 2, "max_depth": 2},  # three jobs share two codes
    {"threshold": "auto"},
    {"threshold": "per_group"},
    {"threshold": "per_group", "sensitive_feature": "group"},
    {"validation_fraction": None},
    {"validation_fraction": None, "threshold": "auto"},
    {"learner_weight": "cost", "update": "discrete"},
    {"costs_from": "validation", "threshold": 0.2},
    {"class_weight": "balanced_groups", "cumulative": False},
    {"max_bins": 4, "criterion": "error"},
    {"notion": "none"},
    {"update": "real", "learning_rate": 0.3, "max_depth": 2, "threshold": "auto"},
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*left out of the rate:UserWarning")  # some tables have small groups
@pytest.mark.filterwarnings("ignore:column '(city|job)' has:UserWarning")  # and some more of them than bins
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 1 << 20),
    n_groups=st.integers(2, 4),
    sizes=st.lists(st.integers(0, 120), min_size=0, max_size=12),
    weights=st.sampled_from([None, "whole", "any", "zeros", "equal"]),
    options=st.sampled_from(OPTIONS),
)
def test_a_model_does_not_depend_on_the_partitions(client, seed, n_groups, sizes, weights, options):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(60, 400))
    table = make_table(rng, n_rows, n_groups)
    weight = {
        None: None,
        "whole": rng.integers(1, 4, n_rows),
        "any": rng.random(n_rows) + 0.01,
        "zeros": rng.integers(0, 3, n_rows) + np.where(np.arange(n_rows) < 50, 1, 0),
        "equal": np.full(n_rows, 3.0),
    }[weights]
    if weight is not None:
        table["weight"] = weight
    # A category that occurs in one partition only: the last rows.
    table["city"] = np.where(np.arange(n_rows) >= n_rows - 3, "nowhere else", table["city"])
    local, other = fit_both(table, in_partitions(table, sizes), weight, **options)
    assert_same(local, other)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.filterwarnings("ignore:column '(city|job)' has 3 categories")
def test_every_option_gives_the_local_model(client, options):
    table = make_table(np.random.default_rng(0), 900, 3)
    local, other = fit_both(table, in_partitions(table, [100, 0, 350, 7]), **options)
    assert_same(local, other)
    assert local.frontier().equals(other.frontier())
    grouped = options.get("threshold") == "per_group" and "sensitive_feature" not in options
    given = {"sensitive_features": table["group"]} if grouped else {}
    columns = list(other.feature_names_in_)
    np.testing.assert_array_equal(
        local.decision_function(table[columns], **given), other.to_local().decision_function(table[columns], **given)
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Sending large graph")  # a table that is here has to get there
@pytest.mark.parametrize("name", ["adult", pytest.param("kdd", marks=needs_data)])
def test_the_papers_data_give_the_model_of_one_machine(client, name):
    """Categories, missing values and repeated rows of real data; 45,175 and 299,285 rows."""
    bunch = load_adult() if name == "adult" else fetch_kdd_census(data_home=DATA)
    table = bunch.data.assign(label=np.asarray(bunch.target), group=np.asarray(bunch.sensitive))
    there = in_partitions(table, [len(table) // 5, 0, len(table) // 3])
    columns, options = list(bunch.data.columns), {"n_estimators": 20, "random_state": 0}
    local = AdaFairClassifier(**options).fit(table[columns], table["label"], sensitive_features=table["group"])
    other = DaskAdaFairClassifier(**options)
    other.fit(there[columns], there["label"], sensitive_features=there["group"])
    assert_same(local, other)


def test_many_rows_are_binned_by_stretches_as_on_one_machine(client, monkeypatch):
    """The thresholds between the ways to bin are lowered, so that each of them is taken; in one process."""
    from parityboost._table import binning
    from parityboost.dask import _columns

    for module in (binning, _columns):
        monkeypatch.setattr(module, "EXACT_ROWS", 500)
    monkeypatch.setattr(binning, "MAX_COUNTED", 300)
    monkeypatch.setattr(_columns, "MAX_COUNTED", 300)
    rng = np.random.default_rng(1)
    table = make_table(rng, 4000, 2)
    table["years"] = np.where(rng.random(4000) < 0.95, np.nan, rng.normal(size=4000))  # few that are not missing
    table["city"] = np.where(rng.random(4000) < 0.4, 0.0, np.exp(rng.normal(size=4000)))  # one heavy value
    table["weight"] = rng.random(4000)
    for weight in (None, table["weight"]):
        local, other = fit_both(table, in_partitions(table, [700, 0, 1500]), weight, max_bins=50)
        assert_same(local, other)
        assert len(local.glass_box_.columns[0].edges) > 40


def test_very_many_rows_to_choose_on_stay_where_they_are(client, monkeypatch):
    """With the limit lowered: margins are counted in buckets, and nothing of the rows comes here but a sample."""
    from parityboost._choice import thresholds
    from parityboost.dask import _training

    monkeypatch.setattr(thresholds, "N_BUCKETS", 200)
    monkeypatch.setattr(_training, "MAX_HERE", 200)
    table = make_table(np.random.default_rng(2), 1500, 2)
    for options in ({}, {"threshold": "auto"}, {"threshold": "auto", "max_depth": 2}, {"threshold": "per_group"}):
        local, other = fit_both(table, in_partitions(table, [700, 300]), **options)
        pd.testing.assert_frame_equal(local.history_, other.history_, check_exact=True)
        assert local.estimators_ == other.estimators_
        with pytest.raises(ValueError, match="holds no validation data"):
            other.frontier()


def test_validation_data_of_ones_own(client):
    table = make_table(np.random.default_rng(5), 800, 2)
    train, validation = table.iloc[:500], table.iloc[500:]
    ours = validation[FEATURES], validation["label"], validation["group"], validation["years"] + 1.5
    there, here = in_partitions(validation.assign(w=validation["years"] + 1.5), [100, 0]), in_partitions(train, [300])
    theirs = there[FEATURES], there["label"], there["group"], there["w"]
    local = AdaFairClassifier(n_estimators=8).fit(
        train[FEATURES], train["label"], sensitive_features=train["group"], validation=ours
    )
    other = DaskAdaFairClassifier(n_estimators=8).fit(
        here[FEATURES], here["label"], sensitive_features=here["group"], validation=theirs
    )
    assert_same(local, other)
    with pytest.raises(ValueError, match=r"validation=\(X, y\) lacks the groups"):
        other.fit(here[FEATURES], here["label"], sensitive_features=here["group"], validation=theirs[:2])


def test_arrays_of_known_and_unknown_chunks(client):
    rng = np.random.default_rng(6)
    X, y, group = rng.normal(size=(300, 4)), rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    y[:200] = X[:200, 0] > 0
    local = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=group)
    chunked = da.from_array(X, chunks=(90, 2)), da.from_array(y, chunks=70), da.from_array(group, chunks=300)
    known = DaskAdaFairClassifier(n_estimators=5, random_state=0)
    known.fit(chunked[0], chunked[1], sensitive_features=chunked[2])
    assert_same(local, known)
    frame = dd.from_pandas(pd.DataFrame(X).assign(y=y, g=group), npartitions=3)
    unknown = DaskAdaFairClassifier(n_estimators=5, random_state=0)
    X_unknown = frame[[0, 1, 2, 3]].to_dask_array()
    assert np.isnan(X_unknown.shape[0])
    unknown.fit(X_unknown, frame["y"].to_dask_array(), sensitive_features=frame["g"])
    assert_same(local, unknown)
    named = DaskAdaFairClassifier(n_estimators=5, random_state=0, sensitive_feature=4)
    together = np.column_stack([X, group])
    named.fit(da.from_array(together, chunks=(100, 5)), da.from_array(y, chunks=100))
    same = AdaFairClassifier(n_estimators=5, random_state=0, sensitive_feature=4).fit(together, y)
    assert_same(same, named)
    margins = unknown.decision_function(X_unknown)
    np.testing.assert_array_equal(margins.compute(), local.decision_function(X))
    assert unknown.predict_proba(chunked[0]).compute().shape == (300, 2)


def test_predictions_are_lazy_and_keep_partitions_index_and_dtype(client):
    table = make_table(np.random.default_rng(7), 300, 2)
    table["label"] = np.where(table["label"] == 1, "yes", "no")
    table.index = table.index * 10 + 3
    local, other = fit_both(table, in_partitions(table, [100, 0, 50]))
    collection = in_partitions(table, [40, 0, 200])[FEATURES]
    for method in ("predict", "predict_proba", "decision_function", "predict_log_proba"):
        lazy = getattr(other, method)(collection)
        assert lazy.npartitions == collection.npartitions
        computed = lazy.compute()
        np.testing.assert_array_equal(computed.to_numpy(), getattr(local, method)(table[FEATURES]))
        pd.testing.assert_index_equal(computed.index, table.index)
        np.testing.assert_array_equal(getattr(other, method)(table[FEATURES]), computed.to_numpy())
    assert list(other.predict_proba(collection).columns) == ["no", "yes"]
    with pytest.raises(ValueError, match="feature names"):
        other.predict(collection.rename(columns={"skill": "talent"}))
    per_group = DaskAdaFairClassifier(n_estimators=5, random_state=0, threshold="per_group")
    whole = in_partitions(table, [120])
    per_group.fit(whole[FEATURES], whole["label"], sensitive_features=whole["group"])
    found = per_group.predict(whole[FEATURES], sensitive_features=whole["group"]).compute()
    expected = per_group.to_local().predict(table[FEATURES], sensitive_features=table["group"])
    np.testing.assert_array_equal(found.to_numpy(), expected)


def test_the_local_model_is_an_ordinary_one(client, tmp_path):
    table = make_table(np.random.default_rng(8), 300, 2)
    local, other = fit_both(table, in_partitions(table, [100]))
    other.client = client
    found = other.to_local()
    assert type(found) is AdaFairClassifier
    assert found.get_params() == local.get_params()
    assert not hasattr(found, "client")
    other.save(tmp_path / "model.json")
    assert type(parityboost.load(tmp_path / "model.json")) is AdaFairClassifier
    twin = pickle.loads(pickle.dumps(other))
    assert twin.client is None
    np.testing.assert_array_equal(twin.predict(table[FEATURES]), local.predict(table[FEATURES]))
    assert clone(other).client is client


@pytest.mark.parametrize("kind", [DaskAdaFairClassifier, DaskParityBoostClassifier])
def test_skops_gives_a_model_of_a_cluster_back(client, kind):
    skops = pytest.importorskip("skops.io")
    table = make_table(np.random.default_rng(8), 300, 2)
    X, y, group = (in_partitions(table, [100])[columns] for columns in (FEATURES, "label", "group"))
    model = kind(n_estimators=4, random_state=0, client=client).fit(X, y, sensitive_features=group)
    loaded = skops.loads(skops.dumps(model), trusted=SKOPS_TYPES)
    assert loaded.client is None
    np.testing.assert_array_equal(loaded.predict_proba(table[FEATURES]), model.predict_proba(table[FEATURES]))


def test_signatures_are_the_local_ones():
    theirs = dict(inspect.signature(DaskAdaFairClassifier).parameters)
    assert theirs.pop("client").default is None
    assert theirs == dict(inspect.signature(AdaFairClassifier).parameters)
    for name in ("fit", "predict", "predict_proba", "decision_function", "score"):
        ours, others = (inspect.signature(getattr(c, name)) for c in (AdaFairClassifier, DaskAdaFairClassifier))
        assert ours.parameters == others.parameters
    assert DaskAdaFairClassifier(c=0.5).get_params()["c"] == 0.5


def test_nothing_is_left_on_the_cluster(client):
    table = make_table(np.random.default_rng(9), 300, 2)
    fit_both(table, in_partitions(table, [100]))
    with pytest.raises(ValueError, match="infinity"):
        bad = table.assign(skill=np.where(np.arange(300) == 7, np.inf, 1.0))
        fit_both(bad.assign(label=table["label"]), in_partitions(bad, [100]))[1]
    for _ in range(30):  # the scheduler hears of it a moment later
        left = client.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks])
        if not left:
            break
        time.sleep(0.1)
    assert left == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.assign(label=t["label"].where(t.index != 5)), "1 of 200 labels are missing"),
        (lambda t: t.assign(label=t["label"] + 2 * (t.index == 150)), "Only binary classification"),
        (lambda t: t.assign(label=1), "only one class is present"),
        (lambda t: t.assign(group="a"), "only one group in the sensitive attribute, 'a'"),
        (lambda t: t.assign(group=t["group"].where(t.index != 5)), "'group' is missing in 1 of 200 rows"),
        (lambda t: t.assign(skill=t["skill"].where(t.index != 5, np.inf)), "column 'skill' of X contains infinity"),
        (lambda t: t.assign(w=t["w"].where(t.index != 150, -1.0)), "partition 1: sample_weight must not be negative"),
        (lambda t: t.assign(w=0.0), "sample_weight is zero for every row"),
        (lambda t: t.iloc[:0], "Found array with 0 sample"),
    ],
)
def test_bad_data_are_refused_in_words(client, change, message):
    table = change(make_table(np.random.default_rng(10), 200, 2).assign(w=1.5))
    there = in_partitions(table, [100])
    with pytest.raises(ValueError, match=message):
        DaskAdaFairClassifier(n_estimators=2).fit(
            there[FEATURES], there["label"], sensitive_features=there["group"], sample_weight=there["w"]
        )


def test_collections_that_do_not_match_are_refused_in_words(client):
    table = make_table(np.random.default_rng(11), 200, 2)
    there, others = in_partitions(table, [100]), in_partitions(table, [90])
    model = DaskAdaFairClassifier(n_estimators=2)
    group = {"sensitive_features": there["group"]}
    with pytest.raises(TypeError, match="X must be a Dask DataFrame, Series or Array, got DataFrame"):
        model.fit(table[FEATURES], there["label"], **group)
    with pytest.raises(ValueError, match="X has 2 partitions, y 3"):
        model.fit(there[FEATURES], in_partitions(table, [50, 50])["label"], **group)
    with pytest.raises(ValueError, match=r"partition \d: y has \d+ rows, sensitive_features 100"):
        model.fit(there[FEATURES], others["label"], **group)
    with pytest.raises(ValueError, match=r"partition \d: X has 100 rows, y \d+"):
        model.fit(there[FEATURES], others["label"], sensitive_features=others["group"])
    with pytest.raises(ValueError, match="needs the sensitive attribute"):
        model.fit(there[FEATURES], there["label"])
    with pytest.raises(ValueError, match="given twice"):
        clone(model).set_params(sensitive_feature="city").fit(there[FEATURES], there["label"], **group)
    with pytest.raises(ValueError, match="X has no column 'town'"):
        clone(model).set_params(sensitive_feature="town").fit(there[FEATURES], there["label"])
    with pytest.raises(ValueError, match="cannot be trained on a cluster"):
        clone(model).set_params(estimator=AdaFairClassifier()).fit(there[FEATURES], there["label"], **group)
    with pytest.raises(ValueError, match="is for one machine"):
        clone(model).set_params(device="cuda").fit(there[FEATURES], there["label"], **group)


def test_objects_bands_and_missing_groups(client):
    """Columns whose kind is known only once all partitions have been seen, and groups that are made of numbers."""
    rng = np.random.default_rng(12)
    table = make_table(rng, 400, 2)
    mixed = np.where(np.arange(400) < 100, 1.5, 0).astype(object)
    mixed[250:] = "text"
    numbers = rng.integers(0, 9, 400).astype(object)
    numbers[::7] = None
    table = table.assign(
        city=mixed, years=numbers, group=np.where(rng.random(400) < 0.1, np.nan, rng.integers(18, 80, 400))
    )
    with dask.config.set({"dataframe.convert-string": False}):
        there = in_partitions(table, [100, 150])
        options = {"bands": {"group": [30, 50]}, "missing_group": "unknown"}
        local, other = fit_both(table, there, **options)
    assert_same(local, other)
    assert other.groups_.tolist() == ["under 30", "30 to under 50", "50 or more", "unknown"]


def test_two_sums_travel_per_round_and_their_bytes_are_those_of_the_cost_model(client):
    table = make_table(np.random.default_rng(13), 2000, 2)
    traffic = []
    for n_rounds in (10, 30):
        _, model = fit_both(table, in_partitions(table, [1000]), n_estimators=n_rounds, validation_fraction=None)
        assert model.n_estimators_ == n_rounds
        traffic.append(model._traffic)
        sizes = cost_model(model)
    messages, sent, received = (np.array(traffic[1]) - np.array(traffic[0])) / 20
    assert messages == 2
    assert (sent, received) == sizes


def cost_model(model, n_workers=2):
    """Bytes per round of stumps, as the documentation has them."""
    n_groups, binner = len(model.groups_), model.glass_box_.binner
    bundle_sizes = Bundles(binner, [column.n_bins + 1 for column in binner.columns]).sizes
    received = n_workers * (16 * int(bundle_sizes.sum()) + 16 + 3 * 8 * 2 * n_groups)
    sent = n_workers * (3 * 8 + 2 * 256 + 4 * 8 + 8 + 2 * n_groups * 4 * 8 + 2 * 8 + 2)
    return sent, received


def test_without_dask_it_is_said_how_to_install_it():
    code = """
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
import parityboost, parityboost.dask
assert not [name for name in sys.modules if name.startswith(("dask.", "distributed."))]
class Collection:
    __dask_graph__ = to_delayed = None
parityboost.dask.DaskAdaFairClassifier().fit(Collection(), Collection())
"""
    result = run_python(code)
    assert 'ImportError: parityboost.dask needs Dask: pip install "dask[dataframe]' in result.stderr
    alone = run_python("import sys, parityboost; print([n for n in sys.modules if n.split('.')[0] == 'dask'])")
    assert alone.stdout.strip() == "[]"


def test_a_client_is_needed():
    code = """
import dask.dataframe as dd, pandas as pd
from parityboost.dask import DaskAdaFairClassifier, DaskParityBoostClassifier
from parityboost.datasets import fetch_kdd_census, load_adult
frame = dd.from_pandas(pd.DataFrame({"x": [1, 2], "y": [0, 1]}), npartitions=1)
DaskAdaFairClassifier("none").fit(frame[["x"]], frame["y"])
"""
    assert "DaskAdaFairClassifier found no Dask client: make one" in run_python(code).stderr


# Views, unknown groups, and models that are blind


def with_two_attributes(n_rows=240, seed=5):
    table = make_table(np.random.default_rng(seed), n_rows, 2)
    rng = np.random.default_rng(seed + 1)
    table["town"] = rng.choice(["p", "q", "r"], n_rows, p=[0.5, 0.4, 0.1])
    return table


BLIND = {"groups": "both", "missing_group": "ignore", "sensitive_feature": ["group", "town"], "blind": True}


@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (DaskAdaFairClassifier, {"groups": "each", "class_weight": "balanced_groups"}),
        (DaskAdaFairClassifier, {"groups": "each", "missing_group": "ignore"}),
        (DaskAdaFairClassifier, BLIND),
        (DaskParityBoostClassifier, {"groups": "both"}),
        (DaskParityBoostClassifier, BLIND),
    ],
)
def test_views_and_blind_models_are_those_of_one_machine(client, cls, options):
    table = with_two_attributes()
    if "missing_group" in options:
        table.loc[::7, "town"] = None
        table.loc[::11, "group"] = None
    collection = in_partitions(table, [50, 0, 90])
    few = {"n_bags": 2} if cls is DaskParityBoostClassifier else {}
    options = {"n_estimators": 8, "random_state": 3, **few, **options}
    local, other = cls._local_class(**options), cls(**options)
    names = ["group", "town"]
    columns = FEATURES + (names if "blind" in options else [])
    given = [{} if "blind" in options else {"sensitive_features": t[names]} for t in (table, collection)]
    local.fit(table[columns], table["label"], **given[0])
    other.fit(collection[columns], collection["label"], **given[1])
    assert local.views_ == other.views_ and local.warnings_ == other.warnings_
    pd.testing.assert_frame_equal(local.history_, other.history_, check_exact=True)
    assert (local.decision_function(table[columns]) == other.to_local().decision_function(table[columns])).all()
    predicted = other.predict(collection[columns]).compute().to_numpy()
    assert (predicted == local.predict(table[columns])).all()
    ours = local.frontier(table[columns], table["label"], **given[0])
    theirs = other.frontier(collection[columns], collection["label"], **given[1])
    pd.testing.assert_frame_equal(ours, theirs)
    assert other.score(collection[columns], collection["label"]) == local.score(table[columns], table["label"])


@pytest.mark.parametrize("cls", [DaskAdaFairClassifier, DaskParityBoostClassifier])
def test_validation_data_may_cross_known_values_anew(client, cls):
    table = with_two_attributes(400)
    old, new = table[:250].copy(), table[250:].copy()
    old.loc[(old["group"] == "b") & (old["town"] == "r"), "town"] = "p"
    new.loc[new.index[:4], ["group", "town"]] = ["b", "r"]
    new.loc[new.index[4:8], "town"] = None
    few = {"n_bags": 2} if cls is DaskParityBoostClassifier else {}
    options = {"n_estimators": 8, "random_state": 3, "groups": "each", "missing_group": "ignore", **few}
    names = ["group", "town"]
    local, other = cls._local_class(**options), cls(**options)
    local.fit(
        old[FEATURES], old["label"], sensitive_features=old[names], validation=(new[FEATURES], new["label"], new[names])
    )
    old, new = in_partitions(old, [100]), in_partitions(new, [60])
    other.fit(
        old[FEATURES], old["label"], sensitive_features=old[names], validation=(new[FEATURES], new["label"], new[names])
    )
    assert len(local.groups_) == len(other.groups_) > 5 and set(local.groups_) == set(other.groups_)
    assert local.theta_ == other.theta_
    np.testing.assert_array_equal(local.threshold_, other.threshold_)
