"""
GridSearchCV with routing
=========================

The groups travel through cross-validation as metadata: to ``fit``, which needs them, and to the score, which then can
look at fairness. They need not be a column of X.
"""

import matplotlib.pyplot as plt
import pandas as pd
import sklearn
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, train_test_split

from parityboost import ParityBoostClassifier
from parityboost.datasets import load_adult
from parityboost.metrics import disparate_mistreatment, group_table

adult = load_adult()
X, X_test, y, y_test = train_test_split(
    adult.data, adult.target, test_size=0.5, random_state=0
)
sex, sex_test = X.pop("sex"), X_test.pop("sex")  # not a feature

# %%
# Two scores: the search chooses by the first, the second is for information. The requests say who gets the groups.

sklearn.set_config(enable_metadata_routing=True)
unfairness = make_scorer(
    disparate_mistreatment, greater_is_better=False
).set_score_request(sensitive_features=True)
search = GridSearchCV(
    ParityBoostClassifier(n_bags=2, n_estimators=200, random_state=0).set_fit_request(
        sensitive_features=True
    ),
    {
        "limit": [0.1, 0.2],
        "maximize": ["accuracy", "balanced_accuracy"],
        "max_depth": [1, 2],
    },
    scoring={"balanced_accuracy": "balanced_accuracy", "unfairness": unfairness},
    # Of the settings within 0.15 of disparate mistreatment, the one with the best balanced accuracy.
    refit=lambda results: int(
        pd.DataFrame(results)
        .query("mean_test_unfairness >= -0.15")["mean_test_balanced_accuracy"]
        .idxmax()
    ),
    cv=3,
)
search.fit(X, y, sensitive_features=sex)
sklearn.set_config(enable_metadata_routing=False)
print(search.best_params_)

# %%
# Every setting, by both scores.

results = pd.DataFrame(search.cv_results_)
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for maximize, colour in (("balanced_accuracy", "#E69F00"), ("accuracy", "#0072B2")):
    own = results[results["param_maximize"] == maximize]
    ax.scatter(
        -own["mean_test_unfairness"],
        own["mean_test_balanced_accuracy"],
        color=colour,
        label=f"maximize={maximize!r}",
    )
best = results.loc[search.best_index_]
ax.scatter(
    -best["mean_test_unfairness"],
    best["mean_test_balanced_accuracy"],
    s=160,
    facecolors="none",
    edgecolors="black",
)
ax.annotate(
    "chosen",
    (-best["mean_test_unfairness"], best["mean_test_balanced_accuracy"]),
    (10, -14),
    textcoords="offset points",
)
ax.axvline(0.15, color="#999999", linestyle="--", linewidth=0.8)
ax.set(
    xlabel="disparate mistreatment in cross-validation",
    ylabel="balanced accuracy in cross-validation",
)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# On new data:

group_table(y_test, search.predict(X_test), sensitive_features=sex_test).round(3)
