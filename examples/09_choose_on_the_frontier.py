"""
Choosing on the frontier
========================

One fit holds many models: every number of learners θ with every decision threshold. The frontier lists those that no
other beats in both balanced error and unfairness. Choose one, and the fitted model becomes it.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from parityboost import AdaFairClassifier
from parityboost.datasets import load_adult
from parityboost.metrics import balanced_error_rate, disparate_mistreatment

adult = load_adult()
X, X_test, y, y_test = train_test_split(
    adult.data, adult.target, test_size=0.5, random_state=0
)
model = AdaFairClassifier(random_state=0).fit(X, y, sensitive_features=X["sex"])
frontier = model.frontier()

# %%
# Measured on the validation data that the choice is made on, and for some of the choices on test data.


def on_test():
    predicted = model.predict(X_test)
    return (
        disparate_mistreatment(y_test, predicted, sensitive_features=X_test["sex"]),
        balanced_error_rate(y_test, predicted),
    )


figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.plot(
    *on_test(),
    "s",
    color="black",
    markersize=8,
    label="θ as chosen in training, on test data",
)
best = frontier[frontier["violation"] == frontier["violation"].cummin()]
ax.step(
    best["violation"],
    best["ber"],
    where="post",
    color="#0072B2",
    label="frontier, on validation data",
)
for k, choice in enumerate(best.iloc[::6].itertuples()):
    model.set_theta(choice.theta).set_threshold(choice.threshold)
    ax.plot(
        *on_test(),
        "o",
        color="#E69F00",
        label="the same choices, on test data" if k == 0 else None,
    )
ax.set(xlabel="disparate mistreatment", ylabel="balanced error")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Suppose a difference of 0.06 is allowed. The first row below it has the lowest balanced error:

allowed = frontier[frontier["violation"] <= 0.06].iloc[0]
model.set_theta(allowed.theta).set_threshold(allowed.threshold)
print(allowed.round(3).to_dict())
