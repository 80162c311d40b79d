"""
Rare positives, and what to maximise
====================================

One positive to fifteen negatives. A model can be right 15 times out of 16 by saying *no* to everyone, in every group
alike. ``maximize`` says what is to be high instead, and one training serves all answers.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from parityboost import AdaBoostClassifier, ParityBoostClassifier
from parityboost.datasets import make_biased_classification
from parityboost.metrics import disparate_mistreatment

data = make_biased_classification(20_000, imbalance=15, bias=0.5, random_state=0)
X, X_test, y, y_test = train_test_split(
    data.data, data.target, test_size=0.5, random_state=0, stratify=data.target
)

# %%
# The model is trained once. ``choose`` takes other points of it: for accuracy, for costs of the two mistakes, and for
# the default, balanced accuracy minus the gap. The gap in either error rate is to be at most 0.1.

model = ParityBoostClassifier("equalized_odds", random_state=0)
model.fit(X, y, sensitive_features=X["group"])
dear = {"false_positive": 1, "false_negative": 10}
models = {
    "plain (AdaBoost)": AdaBoostClassifier().fit(X, y),
    "accuracy": model.choose(maximize="accuracy", limit=0.1),
    "a miss costs ten false alarms": model.choose(maximize=dear, limit=0.1),
    "balanced accuracy": model.choose(maximize="balanced_accuracy", limit=0.1),
    "balanced accuracy minus the gap": model,
}

# %%
# What each finds of the positives, how often it is right, and how far the groups differ (the sum of both gaps):

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3), layout="constrained", sharey=True)
for name, chosen in models.items():
    predicted = chosen.predict(X_test)
    found, right = predicted[y_test == 1].mean(), (predicted == y_test).mean()
    gap = disparate_mistreatment(y_test, predicted, sensitive_features=X_test["group"])
    for ax, value in zip(axes, (found, right, gap), strict=True):
        colour = "#999999" if name.startswith("plain") else "#0072B2"
        ax.bar_label(ax.barh(name, value, color=colour), fmt=" %.2f", fontsize=9)
axes[0].set(xlabel="share of positives found", xlim=(0, 1.15))
axes[1].set(xlabel="share of right answers", xlim=(0, 1.15))
axes[2].set(xlabel="disparate mistreatment", xlim=(0, 0.4))
axes[0].invert_yaxis()
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
