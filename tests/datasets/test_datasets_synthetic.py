"""make_biased_classification: the disparity that was asked for is the one that is there."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from parityboost.datasets import base_rates, load_adult, make_biased_classification


@settings(deadline=None, max_examples=40)
@given(
    n_samples=st.integers(20, 300),
    n_groups=st.integers(2, 5),
    bias=st.floats(0, 1),
    imbalance=st.floats(0.1, 20),
    seed=st.integers(0, 100),
)
def test_base_rates_are_the_documented_ones_up_to_whole_instances(n_samples, n_groups, bias, imbalance, seed) -> None:
    bunch = make_biased_classification(
        n_samples, 4, n_groups=n_groups, bias=bias, imbalance=imbalance, random_state=seed
    )
    share = 1 / (1 + imbalance)
    documented = share + bias * min(share, 1 - share) * np.linspace(-1, 1, n_groups)
    rates = base_rates(bunch)
    assert rates["n"].max() - rates["n"].min() <= 1
    assert np.all(np.abs(rates["positives"] - documented * rates["n"]) <= 0.5 + 1e-9)
    assert np.allclose(bunch.expected_base_rates, documented)


def test_the_bunch_has_the_shape_of_the_loaders() -> None:
    bunch = make_biased_classification(50, 9, random_state=0)
    assert set(bunch) == {*load_adult(), "expected_base_rates"}
    assert bunch.data.shape == (50, 9)
    assert bunch.feature_names == ["group", "proxy", *(f"x{j}" for j in range(7))]
    categorical = [name for name, kind in bunch.feature_types.items() if kind == "categorical"]
    assert categorical == ["group", "x2", "x3", "x6"]
    assert bunch.sensitive.equals(bunch.data["group"])
    assert bunch.protected == "g0"


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data() -> None:
    one, two, other = (make_biased_classification(100, label_noise=0.1, random_state=seed) for seed in (7, 7, 8))
    assert one.data.equals(two.data)
    assert one.target.equals(two.target)
    assert not one.data.equals(other.data)


def test_the_stream_of_a_seed_is_pinned() -> None:
    bunch = make_biased_classification(6, 3, random_state=0)
    assert bunch.data["group"].tolist() == ["g1", "g0", "g1", "g1", "g0", "g0"]
    assert bunch.data["x0"].round(6).tolist() == [-0.515688, -0.42086, 0.818417, 0.410205, -1.374472, -0.724802]


def test_label_noise_moves_the_base_rates_as_documented() -> None:
    bunch = make_biased_classification(200_000, 3, bias=0.5, imbalance=3, label_noise=0.2, random_state=0)
    assert bunch.expected_base_rates.round(6).to_dict() == {"g0": 0.275, "g1": 0.425}
    # Four standard errors of a share over 100,000 instances.
    assert np.allclose(base_rates(bunch)["base_rate"], bunch.expected_base_rates, atol=4 * np.sqrt(0.16 / 100_000))


def test_without_bias_the_group_tells_nothing_and_with_bias_the_proxy_tells_the_group() -> None:
    for bias, gap in ((0.0, 0.0), (0.8, 1.6)):
        bunch = make_biased_classification(40_000, 4, bias=bias, random_state=0)
        means = bunch.data.groupby("group", observed=True)[["proxy"]].mean()["proxy"]
        assert means["g1"] - means["g0"] == pytest.approx(gap, abs=0.05)
        label_means = bunch.data.groupby([bunch.target, bunch.sensitive], observed=True)["x0"].mean()
        # Given the class, the informative column does not depend on the group.
        assert label_means[1]["g1"] == pytest.approx(label_means[1]["g0"], abs=0.06)


@pytest.mark.parametrize("n_features", [4, 20])
def test_the_classes_are_as_far_apart_as_documented_however_many_columns(n_features: int) -> None:
    bunch = make_biased_classification(20_000, n_features, bias=0, imbalance=1, random_state=0)
    # The levels of a category are ordered, so their codes will do for a linear model.
    X = bunch.data.apply(lambda column: column.cat.codes if column.dtype == "category" else column)
    accuracy = LinearDiscriminantAnalysis().fit(X, bunch.target).score(X, bunch.target)
    assert 0.82 < accuracy < 0.85  # 0.841 is the limit; the cut into categories costs a little


@pytest.mark.slow
def test_a_million_rows_take_seconds() -> None:
    start = time.process_time()
    bunch = make_biased_classification(1_000_000, 20, random_state=0)
    assert bunch.data.shape == (1_000_000, 20)
    assert time.process_time() - start < 10  # about 1 on a laptop


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 3}, "n_samples must be an integer of at least 4, got 3"),
        ({"n_samples": 10.0}, "n_samples must be an integer of at least 4, got 10.0"),
        ({"n_features": 2}, "n_features must be an integer of at least 3, got 2"),
        ({"n_groups": 1}, "n_groups must be an integer of at least 2, got 1"),
        ({"bias": 1.5}, "bias must be a number from 0 to 1, got 1.5"),
        ({"bias": "much"}, "bias must be a number from 0 to 1, got 'much'"),
        ({"bias": float("nan")}, "bias must be a number from 0 to 1, got nan"),
        ({"imbalance": 0}, "imbalance must be positive and finite, got 0"),
        ({"imbalance": float("inf")}, "imbalance must be positive and finite, got inf"),
        ({"label_noise": 0.6}, "label_noise must be a number from 0 to 0.5, got 0.6"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        make_biased_classification(**parameters)
