"""New decisions against a certificate: kept or broken, and whether chance can explain it."""

import json

import numpy as np
import pytest

from conftest import make_people
from parityboost import AdaFairClassifier, ParityBoostClassifier
from parityboost.audit import audit_promise

SMALL = {"n_bags": 3, "n_estimators": 10, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    X, y, s = make_people(4000)
    model = ParityBoostClassifier("equal_opportunity", limit=0.2, confidence=0.95, **SMALL)
    return model.fit(X, y, sensitive_features=s)


def decisions(rates, n):
    """n positives of each group, of whom these shares are found."""
    y, p, s = [], [], []
    for group, rate in zip("ab", rates, strict=True):
        y += [1] * n + [0] * n
        p += [1] * round(rate * n) + [0] * (2 * n - round(rate * n))
        s += [group] * (2 * n)
    return np.array(y), np.array(p), np.array(s)


@pytest.mark.parametrize(
    ("rates", "n", "verdict"),
    [
        ((0.5, 0.55), 2000, "kept"),
        ((0.5, 0.65), 100, "open"),
        ((0.5, 0.75), 60, "open, above"),
        ((0.4, 0.75), 2000, "broken"),
        ((0.75, 0.4), 2000, "broken"),
    ],
)
def test_a_verdict_allows_for_chance(model, rates, n, verdict):
    y, p, s = decisions(rates, n)
    found = audit_promise(model, y, p, sensitive_features=s)
    (row,) = found.found
    assert row["verdict"] == verdict
    assert row["value"] == pytest.approx(abs(rates[0] - rates[1]))
    assert row["lower"] <= row["value"] <= row["upper"]
    assert found.is_broken == (verdict == "broken")
    json.dumps(found.to_dict())
    assert str(found).startswith("Certificate: equal opportunity: the largest gap is at most 0.2")
    assert found.summary()[1].startswith(f"The largest gap is {row['value']:.3f}: at least {row['lower']:.3f}")


@pytest.mark.no_cover
def test_chance_breaks_a_promise_that_is_kept_as_seldom_as_it_should(model):
    """Rates that are just as far apart as is allowed: of many audits few say broken, or kept."""
    rng, verdicts = np.random.default_rng(0), []
    for _ in range(200):
        y, _, s = decisions((0, 0), 150)
        p = (rng.random(len(y)) < np.where(s == "a", 0.4, 0.6)).astype(int)
        verdicts.append(audit_promise(model, y, p, sensitive_features=s).found[0]["verdict"])
    assert verdicts.count("broken") <= 20
    assert verdicts.count("kept") <= 20


def test_text_weights_and_people(model):
    y, p, s = decisions((0.4, 0.75), 200)
    as_text = audit_promise(model, y.astype(str), p.astype(str), sensitive_features=s)
    assert as_text.found == audit_promise(model.glass_box_, y, p, sensitive_features=s).found
    row = as_text.found[0]
    wide = audit_promise(model, y, p, sensitive_features=s, cluster=np.arange(len(y)) // 10).found[0]
    assert wide["value"] == row["value"]
    assert wide["lower"] < row["lower"]
    assert wide["upper"] > row["upper"]
    weight = np.where(np.arange(len(y)) % 4, 1.0, 9.0)
    heavy = audit_promise(model, y, p, sensitive_features=s, sample_weight=weight).found[0]
    assert heavy["upper"] - heavy["lower"] > 1.3 * (row["upper"] - row["lower"])


def test_who_is_not_there_and_who_was_not_known(model):
    y, p, s = decisions((0.5, 0.5), 100)
    one = s == "a"
    found = audit_promise(model, y[one], p[one], sensitive_features=s[one])
    assert found.found[0]["verdict"] == "undefined"
    assert found.absent == ["b"]
    assert "nobody of 'b'" in str(found)
    with pytest.raises(ValueError, match="group 'c' is none of the model's, which are 'a', 'b'"):
        audit_promise(model, y, p, sensitive_features=np.where(one, "c", "a"))


def test_what_can_be_judged(model):
    X, y, s = make_people(300, seed=1)
    p = model.predict(X)
    with pytest.raises(ValueError, match="only what came true tells them"):
        audit_promise(model, None, p, sensitive_features=s)
    for other in (model.choose(confidence=None), model.choose(threshold=0.0)):
        with pytest.raises(ValueError, match="the model has no certificate: fit it with confidence"):
            audit_promise(other, y, p, sensitive_features=s)
    plain = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=s)
    with pytest.raises(ValueError, match="the model has no certificate"):
        audit_promise(plain, y, p, sensitive_features=s)


def test_shares_of_yeses_need_no_outcomes():
    X, y, s = make_people(4000)
    model = ParityBoostClassifier("statistical_parity", min_ratio=0.6, confidence=0.9, **SMALL)
    model.fit(X, y, sensitive_features=s)
    _, p, s = decisions((0.9, 0.2), 500)
    found = audit_promise(model, None, p, sensitive_features=s)
    assert found.found[0]["name"] == "min_ratio"
    assert found.found[0]["value"] == pytest.approx(0.2 / 0.9)
    assert found.is_broken
    assert audit_promise(model, p, p, sensitive_features=s).found == found.found
