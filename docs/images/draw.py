"""Draws the pictures of the pages from the models that the pages train: ``python docs/images/draw.py [NAME …]``."""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from parityboost import (
    AdaBoostClassifier,
    AdaFairClassifier,
    ParityBoostClassifier,
    plot,
)
from parityboost.audit import audit
from parityboost.datasets import load_adult
from parityboost.metrics import group_table

mpl.rcParams.update(
    {"svg.hashsalt": "parityboost", "svg.fonttype": "none", "font.size": 9}
)
adult = load_adult()
X, X_test, y, y_test = train_test_split(
    adult.data, adult.target, test_size=0.5, random_state=0
)
sex, sex_test = X["sex"], X_test["sex"]


def fair(notion="disparate_mistreatment", **options):
    return AdaFairClassifier(notion, random_state=0, **options).fit(
        X, y, sensitive_features=sex
    )


def recommended(notion):
    return ParityBoostClassifier(notion, random_state=0).fit(
        X, y, sensitive_features=sex
    )


def side_by_side(height, widths=(1, 1)):
    return plt.subplots(
        1, 2, figsize=(11.5, height), layout="constrained", width_ratios=widths
    )


def start():
    """The plain and the fair model of the page, by group."""
    model = recommended("equal_opportunity")
    figure, axes = side_by_side(3.4)
    for ax, (name, one) in zip(
        axes,
        {"Plain": AdaBoostClassifier().fit(X, y), "Fair": model}.items(),
        strict=True,
    ):
        plot.group_bars(y_test, one.predict(X_test), sex_test, ax=ax)
        ax.set_title(name, loc="left", fontsize=11)
    return figure


def theta():
    """Error and violation over the rounds, and the choices that no other beats."""
    model = fair()
    figure, axes = side_by_side(4.2)
    plot.history(model, ax=axes[0])
    plot.frontier(model, ax=axes[1])
    return figure


def thresholds():
    """Who is found, and who is selected, as the threshold moves."""
    columns = [name for name in X if name != "sex"]
    model = ParityBoostClassifier("equalized_odds", random_state=0)
    model = model.fit(X[columns], y, sensitive_features=sex).choose(threshold=0.0)
    score = model.decision_function(X_test[columns])
    at = np.linspace(-1.2, 1.2, 121)
    tables = [
        group_table(y_test, (score > t).astype(int), sensitive_features=sex_test)
        for t in at
    ]
    figure, axes = side_by_side(3.6)
    for ax, rate, words in zip(
        axes, ["tpr", "fpr"], ["found (TPR)", "wrongly selected (FPR)"], strict=True
    ):
        lines = {
            group: [table.loc[group, rate] for table in tables]
            for group in ("Female", "Male")
        }
        apart = int(np.argmax(np.abs(np.subtract(*lines.values()))))
        for (group, values), colour, line in zip(
            lines.items(), ("#B8860B", "#882255"), ("-", "--"), strict=True
        ):
            ax.plot(at, values, line, color=colour)
            ax.annotate(
                group,
                (at[apart], values[apart]),
                textcoords="offset points",
                xytext=(4, 4),
                color=colour,
            )
        ax.spines[["top", "right"]].set_visible(False)
        ax.set(xlabel="threshold", ylabel=f"share {words}", ylim=(0, 1))
    return figure


def explaining():
    """One person of the page, and the gap that the page takes apart."""
    model, plain = recommended("statistical_parity"), AdaBoostClassifier().fit(X, y)
    figure, axes = side_by_side(4.6, (1, 1.15))
    plot.waterfall(model, X_test.iloc[[5]], ax=axes[0])
    plot.gap_decomposition(
        {"AdaBoost": plain, "ParityBoost": model}, X_test, sex_test, top=6, ax=axes[1]
    )
    return figure


def glass_box():
    """What one feature does, and what makes the gap between the groups."""
    figure, axes = side_by_side(4.4, (1, 1.25))
    model, plain = recommended("equal_opportunity"), AdaBoostClassifier(200).fit(X, y)
    plot.shape_function(model, "age", X_test, ax=axes[0])
    plot.gap_decomposition(
        {"AdaBoost": plain, "ParityBoost": model}, X_test, sex_test, top=6, ax=axes[1]
    )
    return figure


def auditing():
    """The share found in every group that is large enough to judge, with its interval."""
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    predicted = tree.fit(pd.get_dummies(X), y).predict(pd.get_dummies(X_test))
    found = audit(y_test, predicted, sensitive_features=X_test[["sex", "race"]])
    groups = found.groups
    groups = groups[(groups["positives"] >= 10) & groups["tpr"].notna()].sort_values(
        "tpr"
    )
    figure, ax = plt.subplots(figsize=(8, 0.34 * len(groups) + 1), layout="constrained")
    low, high = groups["tpr"] - groups["tpr_lower"], groups["tpr_upper"] - groups["tpr"]
    ax.errorbar(
        groups["tpr"],
        range(len(groups)),
        xerr=[low, high],
        fmt="o",
        color="#404040",
        capsize=3,
    )
    words = [
        f"{name} ({n:,} positives)"
        for name, n in zip(groups["group"], groups["positives"], strict=True)
    ]
    ax.set_yticks(range(len(groups)), words)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(
        xlabel="share of the positives that is found, with its 95 % interval",
        xlim=(0, 1),
    )
    return figure


def pair():
    """What two features add together."""
    options = {
        "update": "discrete",
        "class_weight": "balanced_groups",
        "threshold": "auto",
    }
    return plot.pair(
        fair("statistical_parity", max_depth=2, **options),
        "marital-status",
        "capital-gain",
    ).figure


def several():
    """What it costs to compare each attribute, crossed groups, or both; from the benchmark's table."""
    rows = pd.read_csv(
        Path(__file__).parents[2] / "benchmarks" / "results" / "views.csv"
    )
    names = ["plain boosting", "each", "each, limit=0.12", "both", "crossed"]
    figure, axes = side_by_side(2.6)
    for ax, (table, title) in zip(
        axes, {"adult": "Adult", "acs": "ACSIncome"}.items(), strict=True
    ):
        means = rows[rows["table"] == table].groupby("method")
        means = means[["balanced_accuracy", "worst", "crossed"]].mean().loc[names[::-1]]
        at = np.arange(len(names))
        ax.hlines(at, means["worst"], means["crossed"], color="0.75", zorder=1)
        ax.scatter(means["worst"], at, color="#0072b2", label="worst attribute")
        ax.scatter(
            means["crossed"],
            at,
            facecolor="white",
            edgecolor="#0072b2",
            label="crossed groups",
        )
        for k, accuracy in enumerate(means["balanced_accuracy"]):
            ax.text(0.66, k, f"{accuracy:.3f}", va="center", ha="right")
        ax.text(0.66, len(names) - 0.35, "balanced accuracy", ha="right", color="0.4")
        ax.set(yticks=at, yticklabels=means.index, xlim=(0, 0.67), xlabel="violation")
        ax.set_title(title, loc="left", fontsize=11)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(loc="lower right", bbox_to_anchor=(0.8, 0.02), frameon=False)
    return figure


PICTURES = {
    draw.__name__: draw
    for draw in (
        start,
        theta,
        thresholds,
        explaining,
        glass_box,
        auditing,
        pair,
        several,
    )
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]().savefig(
            Path(__file__).with_name(f"{name}.svg"), metadata={"Date": None}
        )
