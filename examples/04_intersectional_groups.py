"""
Intersectional groups
=====================

Parity between men and women, and parity between white people and others, do not add up to parity between the four
groups that they make together. Cross the columns, and the model is trained for all four.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import train_test_split

from parityboost import AdaBoostClassifier, ParityBoostClassifier
from parityboost.audit import audit
from parityboost.datasets import load_adult

adult = load_adult()
groups = pd.DataFrame(
    {
        "sex": adult.data["sex"].astype(str),
        "race": adult.data["race"]
        .astype(str)
        .where(adult.data["race"] == "White", "not white"),
    }
)
X, X_test, y, y_test, s, s_test = train_test_split(
    adult.data, adult.target, groups, test_size=0.5, random_state=0
)

# %%
# Three models: plain, fair by sex, fair by sex and race.

models = {
    "plain (AdaBoost)": AdaBoostClassifier().fit(X, y),
    "fair by sex": ParityBoostClassifier("equal_opportunity", random_state=0).fit(
        X, y, sensitive_features=s["sex"]
    ),
    "fair by both": ParityBoostClassifier("equal_opportunity", random_state=0).fit(
        X, y, sensitive_features=s
    ),
}
audits = {
    name: audit(y_test, model.predict(X_test), sensitive_features=s_test)
    for name, model in models.items()
}

# %%
# The audit looks at each column, and at the groups that all of them make. Small groups have wide intervals.

figure, axes = plt.subplots(
    1, 3, figsize=(9, 3.6), layout="constrained", sharex=True, sharey=True
)
for ax, (name, result) in zip(axes, audits.items(), strict=True):
    rows = result.groups[result.groups["attribute"] == "sex & race"]
    ax.hlines(rows["group"], rows["tpr_lower"], rows["tpr_upper"], color="#0072B2")
    ax.plot(rows["tpr"], rows["group"], "o", color="#0072B2")
    measures = result.measures.set_index(["attribute", "measure"])["value"]
    ax.set_title(
        f"{name}\nlargest difference {measures['sex & race', 'equal_opportunity']:.3f}",
        fontsize=10,
        loc="left",
    )
    ax.spines[["top", "right"]].set_visible(False)
axes[1].set_xlabel("true positive rate, 95 % interval")
plt.show()
