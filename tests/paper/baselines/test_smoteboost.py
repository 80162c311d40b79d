import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import reference
from conftest import make_people
from parityboost import AdaBoostClassifier
from parityboost._engine.kernels import boosting
from parityboost._engine.threads import Team
from parityboost._fit.loop import Settings, boost
from parityboost._fit.samples import CodedSample, CodedTables, Sample, to_masses
from parityboost._table.binning import Binner, Bundles
from parityboost._table.sources import find_categorical, read_sources
from parityboost.datasets import make_biased_classification
from parityboost.metrics import balanced_error_rate
from parityboost.notions import NoNotion
from parityboost.paper.baselines.smoteboost import Smote, SMOTEBoostClassifier, SmoteLearner, Synthetic, majority, space


def make_binner(X):
    sources = read_sources(X)
    with Team(1) as team:
        return Binner.fit(sources, slice(None), None, 255, find_categorical(X, sources, "from_dtype"), team), sources


def rare_positives(n_rows, seed=0):
    """People of whom about one in five is of the positive class: X, y."""
    X, _, _ = make_people(n_rows, seed)
    luck = np.random.default_rng(seed + 1).normal(size=n_rows)
    return X, (X["skill"].fillna(0) + luck > 1).astype(int).to_numpy()


@pytest.fixture
def smote():
    X, y = rare_positives(200)
    binner, sources = make_binner(X)
    return Smote(binner, sources, np.flatnonzero(y == 1), None, 5), X[y == 1].reset_index(drop=True)


# --- SMOTE ----------------------------------------------------------------------------------------


def test_numbers_lie_between_an_instance_and_one_of_its_neighbours(smote):
    smote, X = smote
    drawn = smote.draw(500, np.random.RandomState(0))
    assert all(j in smote.neighbours[i] and i != j for i, j in zip(drawn.base, drawn.neighbour, strict=True))
    names = ["skill", "years", "member"]
    numbers = X[names].to_numpy(dtype=float)
    ends = np.stack([numbers[drawn.base], numbers[drawn.neighbour]])
    known = ~np.isnan(ends).any(axis=0)
    new = drawn.points[:, X.columns.get_indexer(names)]
    assert (new >= ends.min(axis=0) - 1e-9)[known].all()
    assert (new <= ends.max(axis=0) + 1e-9)[known].all()
    # One point on one line: the same share of the way in every column.
    moved = known & (ends[0] != ends[1])
    way = (new - ends[0]) / np.where(moved, ends[1] - ends[0], 1.0)
    for row, used in zip(way, moved, strict=True):
        assert np.ptp(row[used]) < 1e-6 if used.any() else True
    assert 0.4 < way[moved].mean() < 0.6


def test_a_missing_end_leaves_the_instances_own_value(smote):
    smote, X = smote
    drawn = smote.draw(500, np.random.RandomState(0))
    skill = X.columns.get_loc("skill")
    own, other, new = smote.points[drawn.base, skill], smote.points[drawn.neighbour, skill], drawn.points[:, skill]
    one_missing = np.isnan(own) | np.isnan(other)
    assert one_missing.any()
    np.testing.assert_array_equal(new[one_missing], own[one_missing])


def test_categories_are_those_of_the_majority_of_the_neighbours(smote):
    smote, X = smote
    drawn = smote.draw(300, np.random.RandomState(0))
    for name in ("job", "city"):
        categories = [None, *sorted(X[name].unique())]
        for i, code in zip(drawn.base, drawn.points[:, X.columns.get_loc(name)].astype(int), strict=True):
            near = X[name].iloc[smote.neighbours[i]]
            votes = near.value_counts()
            assert votes[categories[code]] == votes.max()


def test_equal_votes_go_to_the_nearest_neighbour():
    codes = np.array([[3], [1], [2], [2], [1]], dtype=np.uint8)
    neighbours = np.array([[1, 2, 3, 4], [2, 0, 4, 3], [0, 1, 3, 4], [0, 1, 2, 4], [3, 1, 0, 2]])
    assert majority(codes, neighbours)[:, 0].tolist() == [1, 2, 1, 1, 2]


def test_neighbours_are_the_nearest_by_smote_ncs_distance(smote):
    smote, X = smote
    numbers = X[["skill", "years", "member"]].to_numpy(dtype=float)
    standardised = numbers - np.nanmean(numbers, axis=0)
    spread = np.sqrt(np.nan_to_num(standardised**2).mean(axis=0))
    standardised /= spread
    n = len(X)
    for i in range(0, n, 7):
        squares = np.empty(n)
        for k in range(n):
            one, other = standardised[i], standardised[k]
            missing = np.isnan(one) != np.isnan(other)
            apart = np.nan_to_num(one) - np.nan_to_num(other)
            squares[k] = (apart**2).sum() + missing.sum()
            squares[k] += sum(X[name].iloc[i] != X[name].iloc[k] for name in ("job", "city"))
        squares[i] = np.inf
        np.testing.assert_allclose(np.sort(squares[smote.neighbours[i]]), np.sort(squares)[:5], rtol=1e-4, atol=1e-5)


def test_codes_of_real_points_are_those_of_the_binner(smote):
    smote, X = smote
    with Team(1) as team:
        expected = smote.binner.encode(read_sources(X), slice(None), team)
    np.testing.assert_array_equal(smote.encode(smote.points), expected)


def test_codes_of_synthetic_points_occur_in_training(smote):
    smote, _ = smote
    codes = smote.encode(smote.draw(500, np.random.RandomState(0)).points)
    for column, n_bins in zip(codes, [each.n_bins for each in smote.binner.columns], strict=True):
        assert column.max() <= n_bins


def test_instances_are_drawn_by_weight():
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    binner, sources = make_binner(X)
    smote = Smote(binner, sources, np.arange(4), np.array([1.0, 3.0, 0.5, 0.5]), 2)
    share = np.bincount(smote.draw(4000, np.random.RandomState(0)).base) / 4000
    np.testing.assert_allclose(share, [0.2, 0.6, 0.1, 0.1], atol=0.03)


def test_constant_and_empty_columns_are_no_distance():
    points = np.array([[1.0, np.nan, 1.0], [1.0, np.nan, 1.0]])
    np.testing.assert_array_equal(*space(points, np.array([False, False, True])))


@pytest.mark.parametrize("huge", [1e200, 1.7e308])
def test_neighbours_of_huge_numbers_are_the_nearest(huge):
    X = pd.DataFrame({"x": [huge, 3.0, -huge, 1.0, huge / 2, 1.5, 10.0]})
    binner, sources = make_binner(X)
    smote = Smote(binner, sources, np.arange(7), None, 2, plain=True)
    assert [set(near) for near in smote.neighbours.tolist()][1:4:2] == [{3, 5}, {1, 5}]
    assert 4 in smote.neighbours[0]
    assert all(i not in near for i, near in enumerate(smote.neighbours.tolist()))
    y = [1] * 7 + [0] * 9
    model = SMOTEBoostClassifier(2, n_synthetic=3, smote="plain", random_state=0)
    model.fit(pd.concat([X, X, X.iloc[:2]]), y)
    assert np.isfinite(model.decision_function(X)).all()


# --- Boosting -------------------------------------------------------------------------------------


def naive(synthetic, columns, categorical, y, n_synthetic, n_rounds, keep, update):
    """SMOTEBoost row by row, on codes: the α of each round, and how many of them were of a learner turned around."""
    alphas, n_flipped = [], 0
    rows, labels, D = columns, y, np.full(len(y), 1 / len(y))
    for j in range(n_rounds):
        new = [x[j * n_synthetic : (j + 1) * n_synthetic] for x in synthetic]
        seen = [np.concatenate(pair) for pair in zip(rows, new, strict=True)]
        seen_labels = np.append(labels, np.ones(n_synthetic, dtype=int))
        seen_D = np.append(D, np.full(n_synthetic, 1 / len(labels)))
        seen_D /= seen_D.sum()
        h = reference.best_stump(seen, categorical, reference.exactly(seen_labels, seen_D), "gini")
        if keep:
            rows, labels, D = seen, seen_labels, seen_D
        wrong = h.vote(rows) != np.where(labels == 1, 1, -1)
        flipped = not keep and D[wrong].sum() > 0.5
        wrong ^= flipped
        alpha = reference.half_log(1 - D[wrong].sum(), D[wrong].sum())
        if alpha <= 0:  # of no weight, and nothing changes
            continue
        confidence = h.confidence(rows) if update == "confidence" else np.ones(len(labels))
        confidence = 1 - confidence if flipped and update == "confidence" else confidence
        n_flipped += flipped
        D = D * np.where(wrong, np.exp(2 * alpha * confidence), 1.0)
        D /= D.sum()
        alphas.append(alpha)
    return alphas, n_flipped


@pytest.mark.no_cover
@pytest.mark.parametrize("update", ["discrete", "confidence"])
@pytest.mark.parametrize("keep, n_synthetic", [(False, 4), (False, 20), (True, 4)])
def test_rounds_are_those_of_a_naive_smoteboost(keep, n_synthetic, update):
    X, y = rare_positives(120)
    X = X[["skill", "job"]]
    binner, sources = make_binner(X)
    smote = Smote(binner, sources, np.flatnonzero(y == 1), None, 3)
    drawn = smote.encode(smote.draw(n_synthetic * 8, np.random.RandomState(0)).points)
    with Team(1) as team:
        train = Sample(y, 1, to_masses(None), np.arange(len(y)), team)
        bundles = Bundles(binner)
        coded = CodedSample(train, bundles.consume(binner.encode(sources, train.rows, team)))
        tables = CodedTables(bundles, sources, train, sources, train, coded, coded)
        learner = SmoteLearner(tables, np.ones(2), "gini", Synthetic(drawn, 1, n_synthetic, keep))
        codes = binner.encode(sources, train.rows, team)
        columns = [[np.nan if c == 0 else float(c) for c in column] for column in codes]
        synthetic = [[np.nan if c == 0 else float(c) for c in column] for column in drawn]
        first, again = learner.fit(), learner.fit()
        assert first.model == again.model
        assert first.error == again.error
        boosted = boost(learner, Settings(NoNotion(), n_estimators=8, update=update, choose_theta=False))
    alphas, n_flipped = naive(synthetic, columns, [False, True], train.y, n_synthetic, 8, keep, update)
    assert len(alphas) > 3
    assert n_flipped == (1 if n_synthetic == 20 and update == "discrete" else 0)
    np.testing.assert_allclose(boosted.alphas, alphas, rtol=1e-9)


def test_rounds_at_chance_have_no_weight():
    X = pd.DataFrame({"x": np.ones(50)})
    # Synthetic instances tip the only leaf to the rarer class; turned around it is right, and then at chance for good.
    model = SMOTEBoostClassifier(6, n_synthetic=30, random_state=0).fit(X, np.arange(50) % 5 == 0)
    assert model.n_estimators_ == 1
    assert not model.predict(X).any()
    with pytest.raises(ValueError, match="no better than chance"):
        SMOTEBoostClassifier(6, n_synthetic=30, random_state=0).fit(X, np.arange(50) % 2)


@pytest.mark.parametrize("keep", [False, True])
def test_making_the_histograms_anew_changes_next_to_nothing(monkeypatch, keep):
    X, y = rare_positives(300)
    models = []
    for target in (boosting.TARGET, 60):
        monkeypatch.setattr(boosting, "TARGET", target)
        monkeypatch.setattr(boosting, "MAX_TARGET", max(target, boosting.MAX_TARGET))
        models.append(SMOTEBoostClassifier(30, n_synthetic=5, keep_synthetic=keep, random_state=0).fit(X, y))
    np.testing.assert_allclose(models[0].estimator_weights_, models[1].estimator_weights_, rtol=1e-9)


def test_more_of_the_rare_class_is_found_where_synthetic_instances_are_kept():
    data = make_biased_classification(6000, 6, imbalance=8, random_state=0)
    X, y = data.data, data.target
    train, new = slice(0, 3000), slice(3000, None)
    plain = AdaBoostClassifier(50).fit(X[train], y[train])
    kept = SMOTEBoostClassifier(50, n_synthetic=50, keep_synthetic=True, random_state=0).fit(X[train], y[train])
    assert kept.minority_class_ == 1
    errors = [balanced_error_rate(y[new], model.predict(X[new])) for model in (plain, kept)]
    assert errors[1] < errors[0] - 0.03


def test_the_rare_class_may_be_the_negative_one():
    X, y = rare_positives(300)
    model = SMOTEBoostClassifier(10, n_synthetic=20, random_state=0).fit(X, np.where(y == 1, "a", "b"))
    assert model.minority_class_ == "a"
    by_weight = SMOTEBoostClassifier(10, n_synthetic=20, random_state=0)
    assert by_weight.fit(X, y, sample_weight=np.where(y == 1, 50.0, 1.0)).minority_class_ == 0


def test_groups_change_nothing(people):
    X, y, group = people
    alone = SMOTEBoostClassifier(20, n_synthetic=10, random_state=0).fit(X, y)
    with_groups = SMOTEBoostClassifier(20, n_synthetic=10, random_state=0).fit(X, y, sensitive_features=group)
    assert with_groups.groups_.tolist() == ["a", "b"]
    np.testing.assert_allclose(alone.decision_function(X), with_groups.decision_function(X), atol=1e-9)


def test_neighbours_at_equal_distance_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 3, (3300, 4)).astype(str))
    y = rng.random(3300) < 0.45
    models = [
        SMOTEBoostClassifier(10, n_synthetic=50, keep_synthetic=True, random_state=0, n_jobs=n).fit(X, y)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(*(model.decision_function(X) for model in models))


@pytest.mark.parametrize("keep", [False, True])
def test_same_seed_same_model_whatever_the_number_of_threads(keep):
    X, y = rare_positives(2000)
    first = SMOTEBoostClassifier(20, keep_synthetic=keep, random_state=3)
    second = clone(first).set_params(n_jobs=2)
    third = clone(first).set_params(random_state=4)
    margins = [model.fit(X, y).decision_function(X) for model in (first, second, third)]
    np.testing.assert_array_equal(margins[0], margins[1])
    assert (margins[0] != margins[2]).any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).decision_function(X), margins[0])


def test_few_instances_have_few_neighbours():
    X = pd.DataFrame({"x": np.arange(20.0)})
    y = (X["x"] > 17).astype(int)
    model = SMOTEBoostClassifier(5, n_synthetic=3, random_state=0).fit(X, y)
    assert (model.predict(X) == y).all()


def test_a_single_instance_of_the_rare_class():
    X = pd.DataFrame({"x": np.arange(20.0)})
    with pytest.raises(ValueError, match="class 'yes' has only one"):
        SMOTEBoostClassifier().fit(X, np.where(X["x"] > 18, "yes", "no"))


@pytest.mark.parametrize(
    "parameter", [{"n_synthetic": 0}, {"k_neighbors": 0}, {"keep_synthetic": "no"}, {"n_estimators": 0}, {"update": 1}]
)
def test_parameters_out_of_range_are_named(people, parameter):
    X, y, _ = people
    with pytest.raises(ValueError, match=next(iter(parameter))):
        SMOTEBoostClassifier(**parameter).fit(X, y)


def test_bad_input_has_adafairs_errors(people):
    X, y, _ = people
    with pytest.raises(ValueError, match="only one class"):
        SMOTEBoostClassifier().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="'years' of X contains infinity"):
        SMOTEBoostClassifier().fit(X.assign(years=np.inf), y)


# --- Plain SMOTE ----------------------------------------------------------------------------------


def one_hot_people(n_rows=300, seed=0):
    X, y = rare_positives(n_rows, seed)
    X = X.assign(skill=X["skill"].fillna(0.0))
    return pd.get_dummies(X, columns=["job", "city"], dtype=float), y


def test_plain_smote_moves_every_column_along_the_line_and_measures_distance_as_it_is():
    X, y = one_hot_people()
    binner, sources = make_binner(X)
    smote = Smote(binner, sources, np.flatnonzero(y == 1), None, 5, plain=True)
    values = X[y == 1].to_numpy(dtype=float)
    distances = np.linalg.norm(values[:, None] - values[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    chosen = np.take_along_axis(distances, smote.neighbours, axis=1)
    np.testing.assert_allclose(np.sort(chosen, axis=1), np.sort(distances, axis=1)[:, :5], atol=1e-6)
    drawn = smote.draw(400, np.random.RandomState(0))
    gap = drawn.points - values[drawn.base]
    whole = values[drawn.neighbour] - values[drawn.base]
    shares = np.divide(gap, whole, out=np.full_like(gap, np.nan), where=np.abs(whole) > 1e-12)
    assert np.nanmax(np.nanmax(shares, axis=1) - np.nanmin(shares, axis=1)) < 1e-6
    between = (drawn.points > 0) & (drawn.points < 1)
    assert between[:, X.columns.str.startswith("job_")].any()


def test_plain_smote_lets_the_stumps_split_between_zero_and_one():
    X, y = one_hot_people()
    options = {"n_estimators": 30, "n_synthetic": 40, "keep_synthetic": True, "random_state": 0}
    plain = SMOTEBoostClassifier(smote="plain", **options).fit(X, y)
    zero_one = [j for j, name in enumerate(X.columns) if name.startswith(("job_", "city_"))]
    edges = [plain.glass_box_.binner.columns[j].edges for j in zero_one]
    assert all(((e > 0) & (e < 1)).all() for e in edges)
    assert max(map(len, edges)) > 10
    nc = SMOTEBoostClassifier(**options).fit(X, y)
    assert max(len(nc.glass_box_.binner.columns[j].edges) for j in zero_one) == 1
    np.testing.assert_array_equal(plain.predict(X), clone(plain).set_params(n_jobs=2).fit(X, y).predict(X))
    assert not np.array_equal(plain.decision_function(X), nc.decision_function(X))


def test_plain_smote_names_what_it_cannot_take():
    X, y = rare_positives(200)
    with pytest.raises(ValueError, match=r"takes numbers only, but column 'job' holds categories.*smote=\"nc\""):
        SMOTEBoostClassifier(smote="plain").fit(X, y)
    numbers = X[["skill", "years"]]
    assert numbers["skill"][y == 1].isna().any()
    with pytest.raises(ValueError, match="no missing values, but column 'skill' has some"):
        SMOTEBoostClassifier(smote="plain").fit(numbers, y)
