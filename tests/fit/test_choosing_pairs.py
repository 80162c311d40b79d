"""Which pairs of features may occur: those that say something together, and none where they do not."""

import numpy as np
import pandas as pd
import pytest

from parityboost import ParityBoostClassifier, explain

SMALL = {"notion": "none", "class_weight": None, "n_bags": 2, "n_estimators": 60, "random_state": 0}


def pairs_of(model):
    return set(explain.pair_functions(model))


def make_numbers(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    return rng, pd.DataFrame(rng.integers(0, 4, (n_rows, n_columns)), columns=list("abcdefgh")[:n_columns])


def test_what_only_two_features_say_together_needs_their_pair():
    """One of two, but not both: nearly nothing is said by either alone."""
    rng, X = make_numbers(4000, 5)
    y = ((X["a"] > 1) ^ (X["b"] > 0)).astype(int) ^ (rng.random(4000) < 0.05)
    model = ParityBoostClassifier(**SMALL).fit(X, y)
    assert ("a", "b") in pairs_of(model)
    assert model.score(X, y) > 0.9
    one = ParityBoostClassifier(**SMALL, max_pairs=1).fit(X, y)
    assert pairs_of(one) == {("a", "b")} and one.score(X, y) > 0.9


@pytest.mark.parametrize("max_pairs", [20, None])
def test_where_features_add_up_there_are_no_pairs_unless_all_are_asked_for(max_pairs):
    rng, X = make_numbers(3000, 5)
    y = (X["a"] + X["b"] - X["c"] + rng.logistic(size=3000) > 1.5).astype(int)
    model = ParityBoostClassifier(**SMALL, max_pairs=max_pairs).fit(X, y)
    assert (len(pairs_of(model)) > 0) == (max_pairs is None)


@pytest.mark.parametrize("max_pairs", [0, 1, 2])
@pytest.mark.parametrize("interaction_cst", [None, [{"a", "b", "c"}, {"d", "e"}]])
def test_no_more_pairs_than_asked_for_and_only_those_that_are_allowed(max_pairs, interaction_cst):
    rng, X = make_numbers(4000, 6)
    signs = (2 * (X > 1) - 1).astype(float)
    score = signs["a"] * signs["b"] + signs["c"] * signs["d"] + signs["a"] * signs["e"] + signs["d"] * signs["e"]
    y = (score + 0.3 * signs["f"] + 0.3 * rng.logistic(size=4000) > 0).astype(int)
    model = ParityBoostClassifier(**SMALL, max_pairs=max_pairs, interaction_cst=interaction_cst).fit(X, y)
    found = pairs_of(model)
    assert len(found) <= max_pairs
    assert bool(found) == bool(max_pairs)
    if interaction_cst is not None:
        assert all(any(set(pair) <= allowed for allowed in interaction_cst) for pair in found)
