"""
Your own notion in ten lines
============================

A notion is a rate that should be equal, and the classes that are boosted in a group that is behind. Here: *precision*.
Of those who are predicted positive, the same share should be right in every group, so that a *yes* means the same for
everyone.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from parityboost import AdaBoostClassifier, ParityBoostClassifier
from parityboost.datasets import make_biased_classification
from parityboost.metrics import violation
from parityboost.notions import FairnessNotion, Gap


def precision(counts):
    """Of ``counts[..., group, y_true, y_pred]``, for each group; NaN where nobody is predicted positive."""
    selected = counts[..., :, 1].sum(axis=-1)
    return np.divide(
        counts[..., 1, 1],
        selected,
        out=np.full(selected.shape, np.nan),
        where=selected > 0,
    )


class PredictiveParity(FairnessNotion):
    name = "predictive_parity"
    # A group with low precision has too many false positives: its misclassified negatives (class 0) are boosted.
    gaps = (Gap("precision", precision, boosts=(0,), high_is_good=True),)


# %%
# That is all. It can be trained for and measured like the built-in ones.

data = make_biased_classification(20_000, bias=0.6, imbalance=2, random_state=0)
X, X_test, y, y_test = train_test_split(
    data.data, data.target, test_size=0.5, random_state=0, stratify=data.target
)
plain = AdaBoostClassifier().fit(X, y)
fair = ParityBoostClassifier(PredictiveParity(), random_state=0).fit(
    X, y, sensitive_features=X["group"]
)

figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
for row, (name, model) in enumerate({"AdaBoost": plain, "ParityBoost": fair}.items()):
    predicted = model.predict(X_test)
    gap = violation(
        y_test, predicted, sensitive_features=X_test["group"], notion=PredictiveParity()
    )
    for group, colour in (("g0", "#E69F00"), ("g1", "#0072B2")):
        selected = (X_test["group"] == group) & (predicted == 1)
        ax.plot(
            y_test[selected].mean(),
            row,
            "o",
            color=colour,
            markersize=10,
            label=group if row == 0 else None,
        )
    ax.text(1.01, row, f"{name}: difference {gap:.3f}", va="center")
ax.set(xlabel="precision on new data", yticks=[], xlim=(0.4, 1), ylim=(1.5, -0.5))
ax.legend(frameon=False, loc="lower left")
ax.spines[["top", "right", "left"]].set_visible(False)
plt.show()
