"""
A first fit
===========

A plain model finds fewer of the women than of the men who earn over 50K. The fair one finds about as many of both.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from parityboost import AdaBoostClassifier, ParityBoostClassifier, plot
from parityboost.datasets import load_adult
from parityboost.metrics import equal_opportunity_difference

adult = load_adult()
X, X_test, y, y_test = train_test_split(
    adult.data, adult.target, test_size=0.5, random_state=0
)

# %%
# The fair model is told that the same share of the positives is to be found in both groups. It needs the groups in
# training only; prediction takes X alone. What is maximised is accuracy minus the gap. By default it is balanced
# accuracy, which counts both classes alike; that model is another choice from the same training.

plain = AdaBoostClassifier().fit(X, y)
fair = ParityBoostClassifier("equal_opportunity", maximize="accuracy", random_state=0)
fair.fit(X, y, sensitive_features=X["sex"])
default = fair.choose(maximize=None)

# %%
# Found is the share of a group's high earners whom the model finds, left alone the share of its other people whom it
# recognises as such.

models = {"Plain": plain, "Fair, for accuracy": fair, "Fair, by default": default}
figure, axes = plt.subplots(3, 1, figsize=(7, 8), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    predicted = model.predict(X_test)
    plot.group_bars(y_test, predicted, X_test["sex"], ax=ax)
    gap = equal_opportunity_difference(
        y_test, predicted, sensitive_features=X_test["sex"]
    )
    right = (predicted == y_test).mean()
    ax.set_title(f"{name}: {right:.1%} right, gap {gap:.3f}", loc="left", fontsize=11)
plt.show()
