"""
A first fit
===========

A plain model finds fewer of the women than of the men who earn over 50K. AdaFair finds about as many of both.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from parityboost import AdaBoostClassifier, AdaFairClassifier, plot
from parityboost.datasets import load_adult
from parityboost.metrics import equal_opportunity_difference

adult = load_adult()
X, X_test, y, y_test = train_test_split(
    adult.data, adult.target, test_size=0.5, random_state=0
)

# %%
# The plain model is AdaBoost with stumps. The fair one uses the same stumps, and is told that the false negative rates
# should be equal. It needs the groups in training only; prediction takes X alone.

plain = AdaBoostClassifier().fit(X, y)
fair = AdaFairClassifier("equal_opportunity", random_state=0).fit(
    X, y, sensitive_features=X["sex"]
)

# %%
# TPR is the share of a group's high earners that the model finds, TNR the share of its other people that it recognises
# as such.

figure, axes = plt.subplots(2, 1, figsize=(7, 5.5), layout="constrained")
for ax, (name, model) in zip(
    axes, {"AdaBoost": plain, "AdaFair": fair}.items(), strict=True
):
    predicted = model.predict(X_test)
    plot.group_bars(y_test, predicted, X_test["sex"], ax=ax)
    gap = equal_opportunity_difference(
        y_test, predicted, sensitive_features=X_test["sex"]
    )
    ax.set_title(f"{name}: the difference in TPR is {gap:.3f}", loc="left", fontsize=11)

# %%
# Error, violation and their sum on the validation data, round by round. θ, the number of stumps that are used, is where
# the sum is lowest.

plot.history(fair)
plt.show()
