"""``python -m parityboost.demo``: what fair boosting does to the bundled Adult data, in one table."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import pandas as pd
from sklearn.model_selection import train_test_split

from . import metrics
from ._model.glass_box import FitWarning
from .adaboost import AdaBoostClassifier
from .datasets import load_adult
from .estimators import AdaFairClassifier
from .recommended import ParityBoostClassifier

NOTIONS = {"St.Parity": "statistical_parity", "Eq.Op.": "equal_opportunity", "D.M.": "disparate_mistreatment"}
CLASSES = {"AdaFair": AdaFairClassifier, "ParityBoost": ParityBoostClassifier}
MEASURES = {
    "St.Parity": metrics.statistical_parity_difference,
    "Eq.Op.": metrics.equal_opportunity_difference,
    "D.M.": metrics.disparate_mistreatment,
}


def run(n_estimators: int = 200, random_state: int = 0) -> pd.DataFrame:
    """Train AdaBoost, and AdaFair and ParityBoost for three notions, on half of Adult; measure on the other half."""
    adult = load_adult()
    X, X_test, y, y_test, s, s_test = train_test_split(
        adult.data, adult.target, adult.sensitive, test_size=0.5, random_state=random_state
    )
    models: dict[str, Any] = {"AdaBoost": AdaBoostClassifier(n_estimators)}
    for name, cls in CLASSES.items():
        for short, notion in NOTIONS.items():
            models[f"{name} {short}"] = cls(notion, n_estimators=n_estimators, random_state=random_state)
    rows = {name: _measure(model, X, y, s, X_test, y_test, s_test) for name, model in models.items()}
    return pd.DataFrame.from_dict(rows, orient="index")


def _measure(model: Any, X: Any, y: Any, s: Any, X_test: Any, y_test: Any, s_test: Any) -> dict[str, float]:
    started = time.perf_counter()
    model.fit(X, y, sensitive_features=s)
    seconds = time.perf_counter() - started
    predicted = model.predict(X_test)
    table = metrics.group_table(y_test, predicted, sensitive_features=s_test)
    row = {
        "accuracy": float(table["accuracy"]["all"]),
        "balanced accuracy": 1 - metrics.balanced_error_rate(y_test, predicted),
    }
    for name, measure in MEASURES.items():
        row[name] = measure(y_test, predicted, sensitive_features=s_test)
    for rate in ("tpr", "tnr"):
        for group in table.index[:-1]:
            row[f"{rate.upper()} {group}"] = float(table[rate][group])
    return {**row, "fit seconds": seconds}


def render(table: pd.DataFrame) -> str:
    """The table as aligned text, each notion's own measure marked."""
    words = {name: name.split() if " " in name else [name, ""] for name in table.columns}
    width = max(len(name) for name in table.index)
    lines = [" " * width + "".join(f"{words[name][k]:>10}" for name in table.columns) for k in (0, 1)]
    lines.append("─" * (width + 10 * len(table.columns)))
    for model, row in table.iterrows():
        cells = [
            f"{value:>9.{2 if name == 'fit seconds' else 3}f}{'*' if str(model).endswith(f' {name}') else ' '}"
            for name, value in row.items()
        ]
        lines.append(str(model).ljust(width) + "".join(cells))
    return "\n".join(line.rstrip() for line in lines)


def explain(table: pd.DataFrame) -> str:
    """Three lines that say what the table shows, from its numbers."""
    plain, fair = table.loc["AdaBoost"], table.loc["ParityBoost D.M."]
    women, men = [name.removeprefix("TPR ") for name in table.columns if name.startswith("TPR ")]
    own = [f"{name} {plain[name]:.3f} → {table[name][f'ParityBoost {name}']:.3f}" for name in MEASURES]
    change = 100 * (fair["balanced accuracy"] - plain["balanced accuracy"])
    return "\n".join(
        [
            f"1. AdaBoost finds {plain[f'TPR {men}']:.0%} of the men and {plain[f'TPR {women}']:.0%} of the women who "
            f"earn over 50K; ParityBoost D.M. finds {fair[f'TPR {men}']:.0%} and {fair[f'TPR {women}']:.0%}.",
            f"2. Each model shrinks the measure it is asked for (*). ParityBoost: {', '.join(own)}.",
            f"3. ParityBoost D.M. pays {100 * (plain['accuracy'] - fair['accuracy']):.1f} points of accuracy and "
            f"{'gains' if change >= 0 else 'loses'} {abs(change):.1f} of balanced accuracy; predict needs no groups.",
            "",
            "AdaFair is the paper's method, ParityBoost the model that we recommend.",
        ]
    )


def main() -> None:
    """Print the demo."""
    print("Adult census: who earns over 50K? Groups: sex. Half of 45,175 rows for training, half for testing.")
    print("St.Parity, Eq.Op. and D.M. measure unfairness: 0 is best.\n")
    if sys.stderr.isatty():
        print("Compiling, on the first run only …", end="", file=sys.stderr, flush=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # two rounds are no model, and only there to compile
        run(n_estimators=2)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    table = run()
    print(f"{render(table)}\n\n{explain(table)}")


if __name__ == "__main__":
    main()


__all__ = ["explain", "main", "render", "run"]
