"""Many groups: what `keep` and the belief in rates of few instances are worth.

    python benchmarks/keep.py [--splits 3]

The largest difference between many groups is mostly noise, so the paper's rule chooses a model that predicts one class for
everyone. This measures, on unseen rows, balanced accuracy and violation of the paper's rule, of AdaBoost with its threshold
chosen on the same rows, and of `keep=0.5` where a rate of 0 (as it is), 5, 10, 20, 50 or 100 instances counts half. Adult
crosses sex with age bands (12 groups) and with race (10); the synthetic table has 12 groups of 40 to 4,000 rows and 200,000
rows to measure on, so that its violations are hardly noise.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from parityboost import AdaFairClassifier, _choice, metrics
from parityboost.datasets import load_adult

NOTIONS = ("disparate_mistreatment", "equal_opportunity", "statistical_parity")
STRENGTHS = (0.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def synthetic(rng, sizes):
    """Groups that differ in base rate and in how well the columns tell the classes apart: X, y, group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    shift, noise = np.linspace(-0.8, 0.8, len(sizes))[group % 5 * 2], 0.6 + 0.1 * (group % 4)
    skill = rng.normal(size=len(group)) + shift
    y = (skill > 0.4).astype(int)
    X = pd.DataFrame({f"x{j}": skill + (1 + j) * noise * rng.normal(size=len(group)) for j in range(5)})
    X["place"] = pd.Categorical((group % 5).astype(str))
    return X, y, pd.Series(group, name="group").astype(str)


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
        parts = train_test_split(X, y, groups, test_size=0.5, random_state=seed, stratify=groups + y.astype(str))
        yield name, parts[0::2], parts[1::2]


def measure(model, train, test, notion):
    X, y, groups = train
    model.fit(X, y, sensitive_features=groups)
    predicted = model.predict(test[0])
    ber = metrics.balanced_error_rate(test[1], predicted)
    return {
        "balanced_accuracy": 1 - ber,
        "violation": metrics.violation(test[1], predicted, sensitive_features=test[2], notion=notion),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    rows = []
    for seed in range(options.splits):
        for name, train, test in tables(seed):
            for notion in NOTIONS:
                common = {
                    "update": "discrete",
                    "class_weight": "balanced_groups",
                    "threshold": "auto",
                    "random_state": seed,
                }
                models = {
                    "AdaBoost": AdaFairClassifier("none", **common),
                    "paper's rule": AdaFairClassifier(notion, random_state=seed),
                    "with options": AdaFairClassifier(notion, **common),
                }
                for method, model in models.items():
                    rows.append(
                        {"table": name, "notion": notion, "method": method} | measure(model, train, test, notion)
                    )
                for strength in STRENGTHS:
                    _choice.HALF_BELIEVED = strength
                    model = AdaFairClassifier(notion, keep=0.5, **common)
                    method = f"keep 0.5, {strength:g}"
                    rows.append(
                        {"table": name, "notion": notion, "method": method} | measure(model, train, test, notion)
                    )
    found = pd.DataFrame(rows)
    found["objective"] = 1 - found["balanced_accuracy"] + found["violation"]
    order = list(dict.fromkeys(found["method"]))
    print(
        found.groupby(["table", "notion", "method"])[["balanced_accuracy", "violation", "objective"]]
        .mean()
        .round(3)["objective"]
        .unstack("method")[order]
        .to_string()
    )
    print(
        found.groupby(["table", "method"])[["balanced_accuracy", "violation", "objective"]].mean().round(3).to_string()
    )
    print(
        found.groupby("method")[["balanced_accuracy", "violation", "objective"]].mean().round(4).loc[order].to_string()
    )


if __name__ == "__main__":
    main()
