"""Never a useless model without a word: many groups, rare positives, few rows, a leak, and remedies that help."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

import parityboost
from conftest import needs_data
from parityboost import AdaFairClassifier, FitWarning, metrics
from parityboost._base import _up_to
from parityboost._choice.thresholds import HALF_BELIEVED, shrunk_violation
from parityboost._table.reading import rows_per_weight
from parityboost.datasets import fetch_bank, fetch_compas, load_adult
from parityboost.notions import StatisticalParity, get_notion

NOTIONS = ["disparate_mistreatment", "equal_opportunity", "statistical_parity"]
RECOMMENDED = {"update": "discrete", "class_weight": "balanced_groups", "threshold": "auto", "keep": 0.5}


def people(sizes, rng, cut=0.4):
    """Groups that differ in base rate and in how well the columns tell the classes apart: X, y, groups."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    skill = rng.normal(size=len(group)) + np.linspace(-0.8, 0.8, 5)[group % 5]
    y = (skill > cut).astype(int)
    noise = 0.6 + 0.1 * (group % 4)
    X = pd.DataFrame({f"x{j}": skill + (1 + j) * noise * rng.normal(size=len(group)) for j in range(4)})
    order = rng.permutation(len(group))
    return X.iloc[order].reset_index(drop=True), y[order], np.array([f"g{k}" for k in group])[order]


def many_groups(rng, scale=1.0):
    return people((np.geomspace(40, 4000, 12) * scale).astype(int), rng)


def rare_positives(rng, scale=1.0):
    return people([int(3000 * scale)] * 2, rng, cut=1.7)


def few_rows(rng, scale=1.0):
    return people([int(150 * scale)] * 2, rng)


def perfect_column(rng, scale=1.0):
    X, y, group = people([int(1000 * scale)] * 2, rng)
    return X.assign(leak=y), y, group


def constant_column(rng, scale=1.0):
    X, y, group = people([int(1000 * scale)] * 2, rng)
    return X.assign(constant=1.0), y, group


def crowd(rng):
    """With 25 groups and few positives the first round, in which everyone is rejected, is the fairest."""
    return people([100] * 25, rng, cut=2.0)


TABLES = [many_groups, rare_positives, few_rows, perfect_column, constant_column]


def fit(table, **options):
    """The model, and what it said."""
    X, y, group = table
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = AdaFairClassifier(**({"random_state": 0} | options)).fit(X, y, sensitive_features=group)
    said = [str(w.message) for w in caught if issubclass(w.category, FitWarning)]
    assert said == model.warnings_
    return model, said


def chosen_counts(model):
    """counts[group, y, ŷ] of the model on the rows that θ was chosen on."""
    margin = list(model._selection.margins())[model.theta_ - 1]
    return model._selection.counts(margin > model.threshold_)


@pytest.mark.no_cover
@pytest.mark.parametrize("options", [{}, {"keep": 0.5}, RECOMMENDED], ids=["paper", "keep", "recommended"])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("make", TABLES)
def test_one_class_for_everyone_is_always_said(make, notion, options):
    for seed in range(3):
        table = make(np.random.default_rng(seed))
        model, said = fit(table, notion=notion, n_estimators=60, **options)
        predicted = chosen_counts(model).sum(axis=(0, 1))
        if (predicted == 0).any():
            assert any("for everyone" in message for message in said)


@pytest.mark.no_cover
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("make", TABLES)
def test_keep_keeps_accuracy_and_is_no_less_fair_than_plain_boosting(make, notion):
    """On many unseen rows, against AdaBoost whose threshold was chosen on the same rows, within two standard errors."""
    accuracy, excess, told = [], [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        table, (X, y, group) = make(rng), make(rng, scale=10)
        plain, _ = fit(table, notion="none", n_estimators=60, threshold="auto")
        fair, said = fit(table, notion=notion, n_estimators=60, **RECOMMENDED)
        lead = [0.5 - metrics.balanced_error_rate(y, model.predict(X)) for model in (plain, fair)]
        gap = [
            metrics.violation(y, model.predict(X), sensitive_features=group, notion=notion) for model in (plain, fair)
        ]
        accuracy.append(lead[1] - 0.5 * lead[0])
        excess.append(gap[1] - gap[0])
        told.append(any("given up for fairness" in message for message in said))
    for values, sign in ((accuracy, 1), (excess, -1)):
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert sign * np.mean(values) >= -2 * error - 1e-9 or all(told), (np.mean(values), error)


def apply_remedy(message, table):
    """The options, or the table, that a warning advises."""
    X, y, group = table
    tried = re.search(r"Tried on the same rows, (.*?) gives", message)
    if tried:
        return table, dict(re.findall(r"(\w+)=('?[\w.]+'?)", tried[1]))
    column = re.search(r"column '(\w+)' alone", message)
    if column:
        return (X.drop(columns=column[1]), y, group), {}
    if "chance: give more rows" in message:
        return tuple(pd.concat([pd.DataFrame(part)] * 20, ignore_index=True).squeeze(axis=1) for part in table), {}
    if "others. Their rates" in message or "groups: the largest difference" in message:
        return (X, y, np.array([int(name[1:]) % 2 for name in group])), {}
    if "fewer than" in message:  # merge the groups that are named with the largest one
        small = set(re.findall(r"'(\w+)' \(", message))
        largest = pd.Series(group).value_counts().index[0]
        return (X, y, np.where(np.isin(group, list(small)), largest, group)), {}
    return None


def kind(message):
    return re.sub(r"[\d.,%]+|'[^']*'", "_", message)[:30]


@pytest.mark.no_cover
@pytest.mark.parametrize("options", [{}, {"keep": 0.5}, {"max_violation": 0.02, "keep": 0.5}, RECOMMENDED])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("make", [*TABLES, crowd])
def test_every_remedy_that_is_named_removes_its_warning(make, notion, options):
    n_remedies = 0
    for seed in range(2):
        table = make(np.random.default_rng(seed))
        _, said = fit(table, notion=notion, n_estimators=40, **options)
        for message in said:
            remedy = apply_remedy(message, table)
            if remedy is None:
                assert "No other θ or threshold" in message
                continue
            other, named = remedy
            values = {key: value.strip("'") if "'" in value else float(value) for key, value in named.items()}
            _, still = fit(other, notion=notion, n_estimators=40, **(options | values))
            assert kind(message) not in [kind(m) for m in still], message
            n_remedies += 1
    assert n_remedies or make is not crowd


def test_the_words_of_a_useless_model():
    table = crowd(np.random.default_rng(0))
    model, said = fit(table)
    assert (model.predict(table[0]) == 0).all()
    assert said[0].startswith("the model predicts '0' for everyone on the data that θ was chosen on")
    assert re.search(r"Tried on the same rows, .*keep=0.5.* gives a balanced accuracy of 0\.[678]", said[0])
    assert any(message.startswith("25 groups: the largest difference") for message in said)
    assert any(re.match(r"groups with fewer than 10 examples .* and \d+ others\. Their rates are", m) for m in said)


def test_a_leak_is_named():
    table = perfect_column(np.random.default_rng(0))
    model, said = fit(table)
    assert (model.theta_, model.n_estimators_) == (1, 1)
    assert said[0].startswith("column 'leak' alone predicts the target: is it a leak of the outcome?")
    X, y, group = table
    nearly = np.where(np.arange(len(y)) % 200 == 0, 1 - y, y)
    assert fit((X.assign(leak=nearly), y, group))[1][0].startswith(
        "column 'leak' alone predicts the target with a balanced accuracy of 0.99"
    )


def test_no_warning_where_nothing_is_wrong():
    adult = load_adult()
    for notion in (*NOTIONS, "none"):
        assert fit((adult.data, adult.target, adult.sensitive), notion=notion)[1] == []


def test_a_large_violation_that_nothing_was_given_up_for_is_said():
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=2000)
    skill = rng.normal(size=2000) + 2 * group
    X = pd.DataFrame({f"x{j}": skill + rng.normal(size=2000) for j in range(4)})
    table = X, (skill > 1).astype(int), group
    model, said = fit(table, notion="statistical_parity", n_estimators=30, keep=0.9999)
    assert model.history_["validation_violation"].loc[model.theta_] > 0.1
    assert "no smaller than" in said[0]
    assert "nothing was given up for fairness" in said[0]


# --- The choice -----------------------------------------------------------------------------------


@pytest.mark.no_cover
def test_the_share_of_the_lead_over_chance_is_kept():
    table = many_groups(np.random.default_rng(1))
    # The lowest of all rounds and thresholds for all.
    lowest = fit(table, n_estimators=40, threshold="auto")[0].frontier()["ber"].min()
    for threshold in (0.0, "auto", "per_group"):
        for keep in (0.3, 0.9, 1.0) if threshold == "auto" else (0.5,):
            model, _ = fit(table, n_estimators=40, threshold=threshold, keep=keep)
            ber = model.history_["validation_ber"]
            best = ber.min() if threshold == 0.0 else lowest
            assert ber.loc[model.theta_] <= 0.5 - keep * (0.5 - best) + 1e-12, (threshold, keep)


@pytest.mark.parametrize("threshold", [0.0, "auto"])
@pytest.mark.parametrize("limit", [0.02, 0.05, 0.2])
@pytest.mark.parametrize("c", [1.0, 0.3])
def test_the_lowest_objective_with_a_violation_up_to_a_limit(limit, threshold, c):
    table = constant_column(np.random.default_rng(3))
    model, said = fit(table, n_estimators=50, threshold=threshold, max_violation=limit, c=c)
    history = model.history_
    chosen = history.loc[model.theta_]
    if threshold == "auto":
        points = model.frontier(max_violation=limit)
        assert chosen["validation_objective"] == pytest.approx(points["objective"].min(), abs=1e-12)
        assert (points["violation"] <= limit).all()
    else:
        allowed = history[history["validation_violation"] <= limit]
        if len(allowed):
            assert chosen["validation_objective"] == allowed["validation_objective"].min()
        else:
            assert chosen["validation_violation"] == history["validation_violation"].min()
            assert any(f"a violation of at most {limit:g}" in message for message in said)


def test_a_limit_that_nothing_reaches_is_said():
    table = constant_column(np.random.default_rng(3))
    model, said = fit(table, n_estimators=30, threshold=0.0, max_violation=0.0, keep=0.9)
    reached = model.history_["validation_violation"].loc[model.theta_]
    limit = next(message for message in said if "at most" in message)
    assert "that keep=0.9 allows has a violation of at most 0 on the data that it is made on" in limit
    assert f"the closest, {reached:.3f}, is used" in limit
    points = pd.DataFrame({"ber": [0.1, 0.2], "violation": [0.4, 0.25]})
    with pytest.warns(FitWarning, match=r"has a violation of at most 0\.1: the closest has 0\.250"):
        assert _up_to(points, 0.1)["ber"].tolist() == [0.2]


@pytest.mark.parametrize("limit", [-0.1, "0.1", np.nan])
def test_a_limit_of_the_frontier_that_is_no_number_is_refused(limit):
    model, _ = fit(few_rows(np.random.default_rng(0)), n_estimators=5)
    with pytest.raises(ValueError, match="max_violation must be a number of at least 0, got"):
        model.frontier(max_violation=limit)


def test_rates_of_few_instances_are_believed_in_part():
    counts = np.zeros((3, 2, 2))
    counts[:, 1] = [[10, 10], [100, 100], [1, 0]]  # FNR 0.5, 0.5, and 1 of a single instance
    counts[:, 0] = [[20, 0]] * 3
    notion = get_notion("equal_opportunity")
    assert notion.violation(counts) == 0.5
    common = 111 / 221
    drawn = common + 1 / (1 + HALF_BELIEVED) * (1 - common)
    others = common + 20 / (20 + HALF_BELIEVED) * (0.5 - common), common + 200 / (200 + HALF_BELIEVED) * (0.5 - common)
    assert shrunk_violation(notion, counts) == pytest.approx(drawn - min(others))


def test_integers_are_numbers_of_rows_and_other_weights_have_a_mean_of_one():
    assert rows_per_weight(None, 4) == 1
    assert rows_per_weight([3, 3, 3, 3], 4) == 3
    assert rows_per_weight([1, 2, 0, 5], 4) == 4  # 5 is scaled to 1.25
    assert rows_per_weight([0.5, 1.5, 0.0, 0.25], 4) == pytest.approx(3 / 2.25)


def test_early_stopping_waits_for_a_model_that_tells_people_apart():
    table = crowd(np.random.default_rng(0))
    model, _ = fit(table, n_estimators=150)
    assert model.theta_ == 1  # the fairest is a constant
    for patience in (5, 20):
        assert fit(table, n_estimators=150, n_iter_no_change=patience)[0].n_estimators_ == 150
    usual = fit(constant_column(np.random.default_rng(0)), n_estimators=150, n_iter_no_change=20)[0]
    assert usual.n_estimators_ == usual.theta_ + 20 < 150


# --- Which label is positive ----------------------------------------------------------------------


def test_both_sides_pay_for_a_difference_in_selection():
    counts = np.array([[[60.0, 20.0], [10.0, 10.0]], [[30.0, 40.0], [5.0, 25.0]], [[40.0, 10.0], [20.0, 30.0]]])
    rates = np.array([0.3, 0.65, 0.4])
    u = StatisticalParity(boost="both").costs(counts)
    np.testing.assert_allclose(u[:, 1], rates.max() - rates)
    np.testing.assert_allclose(u[:, 0], rates - rates.min())
    swapped = StatisticalParity(boost="both").costs(counts[:, ::-1, ::-1])
    np.testing.assert_allclose(swapped, u[:, ::-1])
    assert StatisticalParity(boost="both").violation(counts) == pytest.approx(0.35)


def polarity(X, y, group, seed):
    """BER + St.Parity on unseen rows with each of the two labels as the positive one, all else being the same."""
    y, group = np.asarray(y), np.asarray(group)
    parts = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed)
    training, validation = train_test_split(parts[0], test_size=0.33, random_state=seed)
    found = []
    for labels in (y, 1 - y):
        model = AdaFairClassifier(StatisticalParity(boost="both"), **RECOMMENDED)
        held_out = (X.iloc[validation], labels[validation], group[validation])
        model.fit(X.iloc[training], labels[training], sensitive_features=group[training], validation=held_out)
        truth, predicted = labels[parts[1]], model.predict(X.iloc[parts[1]])
        difference = metrics.statistical_parity_difference(truth, predicted, sensitive_features=group[parts[1]])
        found.append(metrics.balanced_error_rate(truth, predicted) + difference)
    return found[0] - found[1]


@pytest.mark.no_cover
@pytest.mark.slow
@needs_data
def test_which_label_is_positive_hardly_matters():
    tables = [(b.data, b.target, b.sensitive) for b in (load_adult(), fetch_bank(), fetch_compas())]
    tables += [people([2000, 2000], np.random.default_rng(0), cut=cut) for cut in (-1.7, 0.0, 1.7)]
    changes = [np.mean([polarity(*table, seed) for seed in range(2)]) for table in tables]
    assert np.mean(np.abs(changes)) <= 0.02, changes


# --- Where the words go ---------------------------------------------------------------------------


def test_a_file_keeps_the_warnings(tmp_path):
    model, said = fit(crowd(np.random.default_rng(0)), n_estimators=20)
    model.save(tmp_path / "model.json")
    assert parityboost.load(tmp_path / "model.json").warnings_ == said
