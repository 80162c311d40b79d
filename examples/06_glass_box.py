"""
Inside the model
================

The whole model is one step function per feature, and one table for each of a few pairs. Nothing here is an
approximation: the parts add up to the score.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from parityboost import AdaBoostClassifier, ParityBoostClassifier, explain, plot
from parityboost.datasets import load_adult

adult = load_adult()
X, X_test, y, y_test = train_test_split(
    adult.data, adult.target, test_size=0.5, random_state=0
)
model = ParityBoostClassifier("statistical_parity", random_state=2).fit(
    X, y, sensitive_features=X["sex"]
)

# %%
# **A feature.** What age adds to the score, with the people behind it. The band shows how far the trainings differ.

plot.shape_function(model, "age", X)

# %%
# **A pair.** What the two add together, beyond what each adds alone: the strongest pair of this model.

first, second = next(iter(explain.pair_functions(model)))
plot.pair(model, first, second, X)

# %%
# **A person.** How one person's attributes add up to the score; above zero the prediction is positive.

person = X_test.iloc[[5]]
plot.waterfall(model, person)

# %%
# The same as numbers. Their sum is the score, exactly.

parts = explain.contributions(model, person)
print(float(parts.sum(axis=1).iloc[0]), float(model.decision_function(person)[0]))

# %%
# **The groups.** The difference between the mean scores of men and women, and which features make it. More than half
# of AdaBoost's gap comes from marital status. For statistical parity, the fair model adds to the score of women
# directly. You can see it here, and judge it.

plain = AdaBoostClassifier().fit(X, y)
plot.gap_decomposition(
    {"AdaBoost": plain, "ParityBoost": model}, X_test, X_test["sex"], top=6
)

# %%
# **Without the column.** If ``sex`` is not among the attributes, other features have to make up for the gap.

columns = [name for name in X if name != "sex"]
blind = ParityBoostClassifier("statistical_parity", random_state=0).fit(
    X[columns], y, sensitive_features=X["sex"]
)
plot.gap_decomposition(blind, X_test[columns], X_test["sex"], top=6)
plt.show()
