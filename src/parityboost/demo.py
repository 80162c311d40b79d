"""``python -m parityboost.demo``: what fair boosting does to the bundled Adult data, in one table."""

from __future__ import annotations

import sys
import textwrap
from typing import Any

import pandas as pd
from sklearn.model_selection import train_test_split

from . import metrics
from .adaboost import AdaBoostClassifier
from .datasets import load_adult
from .estimators import AdaFairClassifier
from .recommended import ParityBoostClassifier

# What each model is asked to make equal, in words.
NOTIONS = {
    "people found": "equal_opportunity",
    "both mistakes": "disparate_mistreatment",
    "yeses": "statistical_parity",
}
CLASSES = {"AdaFair": AdaFairClassifier, "ParityBoost": ParityBoostClassifier}
PLAIN = "AdaBoost, plain"
MEASURES = {
    "people found": metrics.equal_opportunity_difference,
    "both mistakes": metrics.disparate_mistreatment,
    "yeses": metrics.statistical_parity_difference,
}


def run(n_estimators: int = 200, random_state: int = 0) -> pd.DataFrame:
    """Train AdaBoost, and AdaFair and ParityBoost for three notions, on half of Adult; measure on the other half."""
    adult = load_adult()
    X, X_test, y, y_test, s, s_test = train_test_split(
        adult.data, adult.target, adult.sensitive, test_size=0.5, random_state=random_state
    )
    models: dict[str, Any] = {PLAIN: AdaBoostClassifier(n_estimators)}
    for name, cls in CLASSES.items():
        for words, notion in NOTIONS.items():
            models[f"{name}, {words}"] = cls(notion, n_estimators=n_estimators, random_state=random_state)
    rows = {name: _measure(model, X, y, s, X_test, y_test, s_test) for name, model in models.items()}
    return pd.DataFrame.from_dict(rows, orient="index")


def _measure(model: Any, X: Any, y: Any, s: Any, X_test: Any, y_test: Any, s_test: Any) -> dict[str, float]:
    """In people of 100."""
    predicted = model.fit(X, y, sensitive_features=s).predict(X_test)
    table = metrics.group_table(y_test, predicted, sensitive_features=s_test)
    row = {"right answers": table["accuracy"]["all"], "yeses": table["selection_rate"]["all"]}
    row |= {f"found {group}": table["tpr"][group] for group in table.index[:-1]}
    for name, measure in MEASURES.items():
        row[f"gap in {name}"] = measure(y_test, predicted, sensitive_features=s_test)
    return {name: 100 * float(value) for name, value in row.items()}


def render(table: pd.DataFrame) -> str:
    """The table as aligned text of 80 columns, the gap that each model is asked to close marked."""
    heads = [textwrap.wrap(name, 8) for name in table.columns]
    height, first = max(map(len, heads)), max(len(name) for name in table.index)
    gaps = [name.startswith("gap") for name in table.columns]  # which have room for a mark
    widths = [max(5, *map(len, head)) + 1 for head in heads]
    padded = [[""] * (height - len(head)) + head for head in heads]
    lines = []
    for k in range(height):
        cells = [f"{head[k]:>{width}}{' ' * gap}" for head, width, gap in zip(padded, widths, gaps, strict=True)]
        lines.append(" " * first + "".join(cells))
    lines.append("─" * (first + sum(widths) + sum(gaps)))
    for model, row in table.iterrows():
        own = f"gap in {str(model).partition(', ')[2]}"
        marks = ["*" if name == own else " " * gap for name, gap in zip(table.columns, gaps, strict=True)]
        cells = [f"{value:>{width}.1f}{mark}" for value, width, mark in zip(row, widths, marks, strict=True)]
        lines.append(str(model).ljust(first) + "".join(cells))
    return "\n".join(line.rstrip() for line in lines)


def explain(table: pd.DataFrame) -> str:
    """Three sentences that say what the table shows, from its numbers."""
    plain, fair = table.loc[PLAIN], table.loc["ParityBoost, people found"]
    women, men = [name.removeprefix("found ") for name in table.columns if name.startswith("found ")]

    def found(row: Any) -> str:
        return f"{row[f'found {women}']:.0f} of 100 women and {row[f'found {men}']:.0f} of 100 men"

    own = [
        f"{name} {plain[f'gap in {name}']:.1f} → {table[f'gap in {name}'][f'ParityBoost, {name}']:.1f}"
        for name in NOTIONS
    ]
    sentences = [
        f"1. AdaBoost finds {found(plain)} who earn over 50K; ParityBoost, asked for equal shares of people found, "
        f"{found(fair)}.",
        f"2. Each model shrinks the gap that it is asked to close (*). ParityBoost: {', '.join(own)}.",
        f"3. {fair['right answers']:.1f} of 100 answers are right instead of {plain['right answers']:.1f}; ParityBoost "
        f"says yes to {fair['yeses']:.0f} of 100 people, AdaBoost to {plain['yeses']:.0f}. model.explore(X, y, …) "
        "compares them at equal numbers of yeses. No group is told to predict.",
        "",
        "AdaFair is the paper's method, ParityBoost the model that we recommend.",
    ]
    return "\n".join("\n".join(textwrap.wrap(text, 79, subsequent_indent="   ")) for text in sentences)


def main() -> None:
    """Print the demo."""
    print("Adult census: who earns over 50K? Groups: sex. Half of 45,175 rows for training,")
    print("half for testing. Numbers are people of 100; a gap is between women and men.\n", flush=True)
    if sys.stderr.isatty():
        print("training 7 models …", end="", file=sys.stderr, flush=True)
    table = run()
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    print(f"{render(table)}\n\n{explain(table)}")


if __name__ == "__main__":
    main()


__all__ = ["explain", "main", "render", "run"]
