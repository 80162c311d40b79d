"""
Class imbalance and c
=====================

One positive to fifteen negatives. A model can be right 15 times out of 16 by saying *no* to everyone, in every group
alike. ``c`` says which error counts when θ is chosen, ``class_weight`` which weights training starts with.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from parityboost import AdaBoostClassifier, AdaFairClassifier, explain, plot
from parityboost.datasets import make_biased_classification
from parityboost.metrics import disparate_mistreatment

data = make_biased_classification(20_000, imbalance=15, bias=0.5, random_state=0)
X, X_test, y, y_test = train_test_split(
    data.data, data.target, test_size=0.5, random_state=0, stratify=data.target
)

# %%
# Training does not depend on c, so one fit shows what every value would choose. c = 1 looks at the balanced error,
# c = 0 at the plain error.

model = AdaFairClassifier(random_state=0).fit(X, y, sensitive_features=X["group"])
explain.choices_over_c(model).round(3)

# %%

plot.tradeoff_c(model)

# %%
# With small c the best "model" is the first stump, which says *no* to everyone: the error is low, and no two groups
# differ. Weights change the training itself. What each setting finds of the positives, and how far the groups differ:

settings = {
    "AdaBoost": AdaBoostClassifier(),
    "c = 0": AdaFairClassifier(c=0, random_state=0),
    "c = 1, the default": AdaFairClassifier(random_state=0),
    'class_weight="balanced"': AdaFairClassifier(
        class_weight="balanced", random_state=0
    ),
    'class_weight="balanced_groups"': AdaFairClassifier(
        class_weight="balanced_groups", random_state=0
    ),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained", sharey=True)
for name, setting in settings.items():
    predicted = setting.fit(X, y, sensitive_features=X["group"]).predict(X_test)
    found = predicted[y_test == 1].mean()
    gap = disparate_mistreatment(y_test, predicted, sensitive_features=X_test["group"])
    for ax, value in zip(axes, (found, gap), strict=True):
        bar = ax.barh(name, value, color="#999999" if name == "AdaBoost" else "#0072B2")
        ax.bar_label(bar, fmt=" %.2f", fontsize=9)
axes[0].set(xlabel="share of positives found", xlim=(0, 1))
axes[1].set(xlabel="disparate mistreatment", xlim=(0, 0.3))
axes[0].invert_yaxis()
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
