"""
Class imbalance and c
=====================

One positive to fifteen negatives. A model can be right 15 times out of 16 by saying *no* to everyone, in every group
alike. ``c`` says which error counts when θ is chosen, ``class_weight`` which weights training starts with.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from parityboost import AdaFairClassifier, explain, plot
from parityboost.datasets import make_biased_classification
from parityboost.metrics import disparate_mistreatment

data = make_biased_classification(20_000, imbalance=15, bias=0.5, random_state=0)
X, X_test, y, y_test = train_test_split(data.data, data.target, test_size=0.5, random_state=0, stratify=data.target)

# %%
# c decides after training, so one fit shows all its values. c = 1 looks at the balanced error, c = 0 at the error.

model = AdaFairClassifier(random_state=0).fit(X, y, sensitive_features=X["group"])
explain.choices_over_c(model).round(3)

# %%

plot.tradeoff_c(model)

# %%
# Weights change the training itself. The share of positives that is found, against the difference between the groups:

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for weight, marker in {None: "o", "balanced": "s", "balanced_groups": "D"}.items():
    for c, filled in ((1.0, True), (0.0, False)):
        fair = AdaFairClassifier(class_weight=weight, c=c, random_state=0).fit(X, y, sensitive_features=X["group"])
        predicted = fair.predict(X_test)
        found = predicted[y_test == 1].mean()
        gap = disparate_mistreatment(y_test, predicted, sensitive_features=X_test["group"])
        ax.plot(gap, found, marker, color="#0072B2", fillstyle="full" if filled else "none", markersize=9)
        ax.annotate(f"{weight}, c = {c:g}", (gap, found), (8, -3), textcoords="offset points", fontsize=8)
ax.set(xlabel="disparate mistreatment on new data", ylabel="share of positives found", ylim=(0, 1))
ax.margins(x=0.35)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
