"""What trees of depth two are worth: BER + measure against stumps, and plain boosting against HistGradientBoosting.

    python benchmarks/pairs.py [--splits 10]

Half of Adult and of Bank is trained on, the other half measured on, on random splits. Writes results/pairs.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from parityboost import AdaFairClassifier, datasets, metrics

NOTIONS = ("disparate_mistreatment", "equal_opportunity", "statistical_parity")
DATA = {"Adult": datasets.load_adult, "Bank": lambda: datasets.fetch_bank(download=False)}
FAIR = {"class_weight": "balanced_groups", "threshold": "auto"}
PLAIN = {"n_estimators": 400, "threshold": "auto"}
VOTES = {
    'update="discrete"': {"update": "discrete"},
    'update="discrete", criterion="error"': {"update": "discrete", "criterion": "error"},
    'update="real", learning_rate=0.2': {"update": "real", "learning_rate": 0.2},
}


def fair(data: Any, rows: Any, new: Any, depth: int, votes: dict[str, Any], seed: int) -> float:
    """BER + measure, the mean of three notions."""
    X, y, s = data.data, data.target, data.sensitive
    objectives = []
    for notion in NOTIONS:
        model = AdaFairClassifier(notion, max_depth=depth, random_state=seed, n_jobs=1, **FAIR, **votes)
        model.fit(X.iloc[rows], y.iloc[rows], sensitive_features=s.iloc[rows])
        predicted = model.predict(X.iloc[new])
        objectives.append(
            metrics.fairness_objective(y.iloc[new], predicted, sensitive_features=s.iloc[new], notion=notion)
        )
    return float(np.mean(objectives))


def plain(data: Any, rows: Any, chosen_on: Any, new: Any, depth: int, votes: dict[str, Any]) -> float:
    """Balanced accuracy without any fairness."""
    X, y, s = data.data, data.target, data.sensitive
    model = AdaFairClassifier("none", max_depth=depth, n_jobs=1, **PLAIN, **votes)
    validation = (X.iloc[chosen_on], y.iloc[chosen_on], s.iloc[chosen_on])
    model.fit(X.iloc[rows], y.iloc[rows], sensitive_features=s.iloc[rows], validation=validation)
    return float(balanced_accuracy_score(y.iloc[new], model.predict(X.iloc[new])))


def gradient_boosting(data: Any, rows: Any, chosen_on: Any, new: Any, seed: int) -> float:
    """HistGradientBoosting, its threshold chosen on the same validation rows by balanced accuracy."""
    X, y = data.data.copy(), data.target.to_numpy()
    categorical = [str(dtype) == "category" for dtype in X.dtypes]
    for name in X.columns[categorical]:
        X[name] = X[name].cat.codes
    model = HistGradientBoostingClassifier(categorical_features=categorical, random_state=seed)
    model.fit(X.iloc[rows], y[rows])
    scores = model.predict_proba(X.iloc[chosen_on])[:, 1]
    order = np.argsort(scores)
    labels = y[chosen_on][order]
    balanced = 1 - np.cumsum(labels) / labels.sum() + np.cumsum(1 - labels) / (1 - labels).sum()
    threshold = scores[order][np.argmax(balanced)]
    return float(balanced_accuracy_score(y[new], model.predict_proba(X.iloc[new])[:, 1] > threshold))


def measure(load: Any, n_splits: int) -> dict[Any, list[float]]:
    data = load()
    results = defaultdict(list)
    for seed in range(n_splits):
        everyone, y = np.arange(len(data.target)), data.target
        rows, new = train_test_split(everyone, test_size=0.5, random_state=seed, stratify=y)
        inner, chosen_on = train_test_split(rows, test_size=0.33, random_state=seed, stratify=y.iloc[rows])
        for depth in (1, 2):
            for how, votes in VOTES.items():
                results["fair", depth, how].append(fair(data, rows, new, depth, votes, seed))
                results["plain", depth, how].append(plain(data, inner, chosen_on, new, depth, votes))
        results["HistGradientBoosting"].append(gradient_boosting(data, inner, chosen_on, new, seed))
    return results


def report(name: str, results: dict[Any, list[float]]) -> list[str]:
    lines = []
    theirs = np.array(results["HistGradientBoosting"])
    for how in VOTES:
        one, two = (np.array(results["fair", depth, how]) for depth in (1, 2))
        stump, tree = (np.array(results["plain", depth, how]) for depth in (1, 2))
        lines.append(
            f"| {name} | `{how}` | {one.mean():.4f} | {two.mean():.4f} | {with_error(two - one)} | "
            f"{stump.mean():.4f} | {tree.mean():.4f} | {theirs.mean():.4f} | {with_error(tree - theirs)} |"
        )
    return lines


def with_error(differences: np.ndarray) -> str:
    """Their mean and its standard error."""
    return f"{differences.mean():+.4f} ± {differences.std(ddof=1) / len(differences) ** 0.5:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    n_splits = parser.parse_args().splits
    warnings.simplefilter("ignore")
    lines = [
        "# Trees of depth two",
        "",
        f"{n_splits} random halves. BER + measure: mean of three notions, `{FAIR}`, lower is better; differences "
        f"have their standard errors. Balanced accuracy: notion none, `{PLAIN}`; HistGradientBoosting with its own "
        "early stopping and the threshold chosen on the same validation rows.",
        "",
        "| data | votes | BER + measure, stumps | depth 2 | difference | balanced accuracy, stumps | depth 2 | "
        "HistGradientBoosting | difference |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, load in DATA.items():
        lines += report(name, measure(load, n_splits))
        print(*lines[-len(VOTES) :], sep="\n", flush=True)
    (Path(__file__).parent / "results" / "pairs.md").write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
