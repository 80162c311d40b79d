"""
The three notions compared
==========================

One model for each notion, measured by all of them: each is good at what it was asked for, and may be worse than a plain
model at what it was not.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import train_test_split

from parityboost import AdaBoostClassifier, ParityBoostClassifier
from parityboost.datasets import load_adult
from parityboost.metrics import violation

adult = load_adult()
notions = ["statistical_parity", "equal_opportunity", "disparate_mistreatment"]
rows = []
for split in range(3):
    X, X_test, y, y_test = train_test_split(
        adult.data, adult.target, test_size=0.5, random_state=split
    )
    models = {"none (AdaBoost)": AdaBoostClassifier()}
    models |= {
        notion: ParityBoostClassifier(notion, maximize="accuracy", random_state=split)
        for notion in notions
    }
    for name, model in models.items():
        predicted = model.fit(X, y, sensitive_features=X["sex"]).predict(X_test)
        row = {"asked for": name, "accuracy": (predicted == y_test).mean()}
        for notion in notions:
            row[notion] = violation(
                y_test, predicted, sensitive_features=X_test["sex"], notion=notion
            )
        rows.append(row)

# %%
# Means over three random splits. The first column is the accuracy. The others are violations: lower is better.

table = pd.DataFrame(rows).groupby("asked for", sort=False).mean()
table.round(3)

# %%
# A bar for each model and measure; the one that was asked for is outlined.

figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
colours = ["#999999", "#0072B2", "#E69F00", "#009E73"]
for i, (name, values) in enumerate(table[notions].iterrows()):
    bars = ax.bar(
        [k + 0.2 * (i - 1.5) for k in range(3)],
        values,
        0.18,
        color=colours[i],
        label=name,
    )
    for notion, bar in zip(notions, bars, strict=True):
        ax.text(
            bar.get_x() + bar.get_width() / 2,
            bar.get_height() + 0.004,
            f"{bar.get_height():.2f}",
            ha="center",
            fontsize=8,
        )
        if notion == name:
            bar.set(edgecolor="black", linewidth=1.6)
ax.set_xticks(range(3), [notion.replace("_", " ") for notion in notions])
ax.set_ylabel("violation on new data, 0 is best")
ax.legend(title="asked for", frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
