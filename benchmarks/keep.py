"""Many groups: what `keep` and the partial belief in rates of few instances are worth.

    python benchmarks/keep.py [--splits 3]

The largest difference between many groups is mostly noise, so the paper's rule may choose a model that predicts one
class for everyone. This measures, on unseen rows, the paper's rule, AdaBoost with its threshold chosen on the same
rows, and `keep=0.5` where a rate of 0 (all are taken as they are), 5, 10, 20, 50 or 100 instances counts half. Adult
crosses sex with age bands (12 groups) and with race (10). The synthetic table has 12 groups of 40 to 4,000 rows, and
200,000 rows to measure on, so that its violations are hardly noise.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from parityboost import AdaFairClassifier, FitWarning, metrics
from parityboost._choice import thresholds as _choice
from parityboost.datasets import load_adult

NOTIONS = ("disparate_mistreatment", "equal_opportunity", "statistical_parity")
STRENGTHS = (0.0, 5.0, 10.0, 20.0, 50.0, 100.0)
OPTIONS = {"update": "discrete", "class_weight": "balanced_groups", "threshold": "auto"}
MEASURES = ["balanced_accuracy", "violation", "objective"]


def synthetic(rng, sizes):
    """Groups that differ in base rate and in how well the columns tell the classes apart: X, y, group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    skill = rng.normal(size=len(group)) + np.linspace(-0.8, 0.8, 5)[group % 5]
    noise = 0.6 + 0.1 * (group % 4)
    X = pd.DataFrame({f"x{j}": skill + (1 + j) * noise * rng.normal(size=len(group)) for j in range(5)})
    X["place"] = pd.Categorical((group % 5).astype(str))
    return X, (skill > 0.4).astype(int), pd.Series(group, name="group").astype(str)


def tables(seed):
    """(name, training part, test part), each part X, y, groups."""
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(40, 4000, 12).astype(int)
    yield "synthetic", synthetic(rng, sizes), synthetic(rng, (sizes / sizes.sum() * 200_000).astype(int) + 2_000)
    adult = load_adult()
    X, y = adult.data, adult.target
    age = pd.cut(X["age"], [0, 25, 35, 45, 55, 65, 100]).astype(str)
    for name, other in {"Adult, age and sex": age, "Adult, race and sex": X["race"].astype(str)}.items():
        groups = other + ", " + X["sex"].astype(str)
        cells = groups + y.astype(str)
        parts = train_test_split(X, y, groups, test_size=0.5, random_state=seed, stratify=cells)
        yield name, parts[0::2], parts[1::2]


def methods(notion, seed):
    """(name, model, instances whose rate counts half)."""
    yield "AdaBoost", AdaFairClassifier("none", random_state=seed, **OPTIONS), 0.0
    yield "paper's rule", AdaFairClassifier(notion, random_state=seed), 0.0
    yield "with options", AdaFairClassifier(notion, random_state=seed, **OPTIONS), 0.0
    for strength in STRENGTHS:
        name = f"keep=0.5, {strength:g} count half"
        yield name, AdaFairClassifier(notion, keep=0.5, random_state=seed, **OPTIONS), strength


def measure(model, train, test, notion):
    X, y, groups = train
    predicted = model.fit(X, y, sensitive_features=groups).predict(test[0])
    ber = metrics.balanced_error_rate(test[1], predicted)
    violation = metrics.violation(test[1], predicted, sensitive_features=test[2], notion=notion)
    return {"balanced_accuracy": 1 - ber, "violation": violation, "objective": ber + violation}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", FitWarning)
    rows = []
    for seed in range(options.splits):
        for table, train, test in tables(seed):
            for notion in NOTIONS:
                for method, model, strength in methods(notion, seed):
                    _choice.HALF_BELIEVED = strength
                    found = measure(model, train, test, notion)
                    rows.append({"table": table, "notion": notion, "method": method, **found})
    found = pd.DataFrame(rows)
    for by in (["table", "method"], ["method"]):
        print(found.groupby(by, sort=False)[MEASURES].mean().round(3).to_string(), end="\n\n")


if __name__ == "__main__":
    main()
