"""
Choosing under a limit
======================

One fit holds many models: every blend of the fair and the plain one, with every threshold. Say how large a gap may be,
and take the best of them, without training again.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from parityboost import ParityBoostClassifier
from parityboost.datasets import load_adult
from parityboost.metrics import group_table

adult = load_adult()
X, X_test, y, y_test = train_test_split(
    adult.data, adult.target, test_size=0.5, random_state=0
)
sex, sex_test = X.pop("sex"), X_test.pop("sex")  # not a feature
model = ParityBoostClassifier("equalized_odds", maximize="accuracy", random_state=0)
model.fit(X, y, sensitive_features=sex)

# %%
# The record of alternatives, counted on rows that were held out in training: the best for each limit, what was taken,
# the default, and plain boosting.

record = model.alternatives()
columns = ["what", "maximize", "limit", "accuracy", "balanced_accuracy", "largest_gap"]
record[columns].round(3).head(12)

# %%
# The larger of the two gaps (in people found, and in wrong yeses) against the accuracy, on the held-out rows and on
# new ones. A limit holds on the former. On the latter the gap may be larger.


def on_test(model):
    predicted = model.predict(X_test)
    table = group_table(y_test, predicted, sensitive_features=sex_test)
    gaps = table.loc[["Female", "Male"], ["tpr", "fpr"]].diff().iloc[1].abs()
    return gaps.max(), (predicted == y_test).mean()


figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
limits = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1]
chosen = [model.choose(limit=limit) for limit in limits]
held_out = [each.alternatives().iloc[0][["largest_gap", "accuracy"]] for each in chosen]
ax.plot(*zip(*held_out, strict=True), "o-", color="#0072B2", label="held-out rows")
ax.plot(
    *zip(*map(on_test, chosen), strict=True), "o", color="#E69F00", label="new rows"
)
plain = model.choose(fairness=0)
ax.plot(*on_test(plain), "s", color="#999999", label="plain boosting, new rows")
ax.set(xlabel="larger gap", ylabel="accuracy", xlim=(0, None))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Suppose a gap of 0.05 is allowed, and one person in five can be invited:

invited = model.choose(limit=0.05, capacity=0.2)
group_table(y_test, invited.predict(X_test), sensitive_features=sex_test).round(3)
