import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parityboost import notions
from parityboost.notions import get_notion

ALL = ["statistical_parity", "equal_opportunity", "disparate_mistreatment", "predictive_equality", "none"]
COUNTS = st.integers(2, 5).flatmap(lambda k: hnp.arrays(np.float64, (k, 2, 2), elements=st.integers(0, 20).map(float)))


def counts_of(rates):
    """Counts with given (FNR, FPR) per group, 100 positives and 100 negatives each."""
    return np.array([[[100 * (1 - fpr), 100 * fpr], [100 * fnr, 100 * (1 - fnr)]] for fnr, fpr in rates])


def test_two_groups_cost_what_the_paper_says():
    counts = counts_of([(0.3, 0.1), (0.5, 0.2)])
    # Eq. (11): the group with the higher FNR pays the difference on its misclassified positives.
    np.testing.assert_allclose(get_notion("equal_opportunity").costs(counts), [[0, 0], [0, 0.2]])
    np.testing.assert_allclose(get_notion("predictive_equality").costs(counts), [[0, 0], [0.1, 0]])
    np.testing.assert_allclose(get_notion("disparate_mistreatment").costs(counts), [[0, 0], [0.1, 0.2]])
    # Selection rates are 0.4 and 0.35: the group with fewer positive predictions pays on its misclassified positives,
    np.testing.assert_allclose(get_notion("statistical_parity").costs(counts), [[0, 0], [0, 0.05]])
    # or on all its misclassified instances, as Eq. (9) is printed.
    printed = notions.StatisticalParity(boost="misclassified")
    np.testing.assert_allclose(printed.costs(counts), [[0, 0], [0.05, 0.05]])
    assert (get_notion("none").costs(counts) == 0).all()


def test_violations_are_absolute_and_sum_over_the_rates():
    counts = counts_of([(0.5, 0.1), (0.3, 0.2)])
    assert get_notion("disparate_mistreatment").violation(counts) == pytest.approx(0.3)
    assert get_notion("equal_opportunity").violation(counts) == pytest.approx(0.2)
    assert get_notion("statistical_parity").violation(counts) == pytest.approx(0.15)
    assert get_notion("none").violation(counts) == 0


def test_deltas_are_signed_second_minus_first():
    deltas = get_notion("disparate_mistreatment").deltas(counts_of([(0.5, 0.1), (0.3, 0.2)]))
    assert deltas["fnr"] == pytest.approx(-0.2)
    assert deltas["fpr"] == pytest.approx(0.1)
    three = get_notion("equal_opportunity").deltas(counts_of([(0.5, 0), (0.3, 0), (0.6, 0)]))
    assert three["fnr"] == pytest.approx(0.3)


def test_each_of_many_groups_pays_its_distance_to_the_best():
    costs = get_notion("equal_opportunity").costs(counts_of([(0.2, 0), (0.5, 0), (0.3, 0)]), epsilon=0.15)
    np.testing.assert_allclose(costs[:, 1], [0, 0.3, 0])


def test_a_group_without_the_rate_neither_pays_nor_sets_the_standard():
    counts = counts_of([(0.2, 0.1), (0.5, 0.1), (0.9, 0.1)])
    counts[2, 1] = 0  # no positives
    notion = get_notion("equal_opportunity")
    assert notion.violation(counts) == pytest.approx(0.3)
    np.testing.assert_allclose(notion.costs(counts)[:, 1], [0, 0.3, 0])


@given(COUNTS, st.sampled_from(ALL), st.floats(0, 1), st.floats(0, 1))
def test_more_tolerance_never_adds_costs(counts, name, one, other):
    notion = get_notion(name)
    low, high = sorted([one, other])
    assert (notion.costs(counts, high) <= notion.costs(counts, low)).all()


@given(COUNTS, st.sampled_from(ALL))
def test_costs_lie_between_zero_and_one_and_spare_the_best_group(counts, name):
    u = get_notion(name).costs(counts)
    assert ((u >= 0) & (u <= 1)).all()
    assert (u.min(axis=0) == 0).all()


@given(COUNTS, st.sampled_from(ALL), st.randoms(use_true_random=False))
def test_the_order_of_groups_does_not_matter(counts, name, random):
    order = list(range(len(counts)))
    random.shuffle(order)
    notion = get_notion(name)
    np.testing.assert_array_equal(notion.costs(counts[order]), notion.costs(counts)[order])
    np.testing.assert_allclose(notion.violation(counts[order]), notion.violation(counts))


@pytest.mark.no_cover
@given(st.lists(COUNTS.filter(lambda c: len(c) == 2), min_size=1, max_size=4), st.sampled_from(ALL))
def test_many_tables_at_once_equal_one_by_one(tables, name):
    notion, stack = get_notion(name), np.array(tables)
    np.testing.assert_array_equal(notion.costs(stack), [notion.costs(t) for t in tables])
    np.testing.assert_array_equal(notion.objective(stack, 0.3), [notion.objective(t, 0.3) for t in tables])


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("equalized_odds", "disparate_mistreatment"),
        ("demographic_parity", "statistical_parity"),
        ("true_positive_rate_parity", "equal_opportunity"),
        ("false_positive_rate_parity", "predictive_equality"),
    ],
)
def test_fairlearns_names_mean_the_same(alias, name):
    assert get_notion(alias) == get_notion(name)
    assert hash(get_notion(alias)) == hash(get_notion(name))


def test_an_unknown_notion_lists_the_known_ones():
    with pytest.raises(
        ValueError, match=r"unknown fairness notion 'fair'; known are demographic_parity, disparate_mist"
    ):
        get_notion("fair")
    with pytest.raises(ValueError, match=r"boost must be 'auto', 'positives', 'both' or 'misclassified', got 'all'"):
        notions.StatisticalParity(boost="all")


def test_notions_print_their_settings():
    assert repr(notions.StatisticalParity("misclassified")) == "StatisticalParity(boost='misclassified')"
    assert notions.StatisticalParity("misclassified") != notions.StatisticalParity()


@pytest.mark.parametrize("n_groups", [1, 2, 5])
def test_costs_of_one_table_are_those_of_a_stack_to_the_last_bit(n_groups):
    rng = np.random.default_rng(n_groups)
    for name in ("disparate_mistreatment", "statistical_parity", "equal_opportunity", "predictive_equality"):
        counts = rng.integers(0, 4, (200, n_groups, 2, 2)).astype(float)  # many a group without a rate
        notion = get_notion(name)
        for epsilon in (0.0, 0.2):
            stack = notion.costs(counts, epsilon)
            assert np.isfinite(stack).all()
            np.testing.assert_array_equal(np.array([notion.costs(table, epsilon) for table in counts]), stack)
