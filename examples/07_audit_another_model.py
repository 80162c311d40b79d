"""
Auditing another model
======================

An audit needs labels, predictions and groups, whatever made the predictions. Here, scikit-learn's gradient boosting.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from parityboost.audit import audit
from parityboost.datasets import load_adult

adult = load_adult()
X, X_test, y, y_test = train_test_split(
    adult.data, adult.target, test_size=0.5, random_state=0
)
model = HistGradientBoostingClassifier(
    categorical_features="from_dtype", random_state=0
).fit(X, y)

result = audit(
    y_test,
    model.predict(X_test),
    sensitive_features=X_test[["sex", "race"]],
    scores=model.predict_proba(X_test)[:, 1],
    intersections=False,
)
for sentence in result.summary()[:4]:
    print("-", sentence)

# %%
# Every rate has an interval. Where it is wide, little is known about the group.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
names = {"tpr": "true positive rate", "fpr": "false positive rate"}
for ax, (rate, title) in zip(axes, names.items(), strict=True):
    rows = result.groups.iloc[::-1]
    ax.hlines(
        rows["group"],
        rows[f"{rate}_lower"],
        rows[f"{rate}_upper"],
        color="#0072B2",
        linewidth=2,
    )
    ax.plot(rows[rate], rows["group"], "o", color="#0072B2")
    ax.set_xlabel(f"{title}, 95 % interval")
    ax.spines[["top", "right"]].set_visible(False)

# %%
# Gradient boosting is well calibrated in both groups (of those with score 0.7, seven in ten are positive), and still
# has different error rates: where base rates differ, a model cannot have both.

figure, ax = plt.subplots(figsize=(5, 4.2), layout="constrained")
for group, colour in (("Female", "#E69F00"), ("Male", "#0072B2")):
    bins = result.reliability[result.reliability["group"] == group]
    ax.plot(bins["mean_score"], bins["observed"], "o-", color=colour, label=group)
ax.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, zorder=0)
ax.set(xlabel="mean score of a bin", ylabel="share of positives in it")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %%
# The measures whose whole interval is above 0.05:

result.exceeds(0.05)[["attribute", "measure", "value", "lower", "upper"]].round(3)
