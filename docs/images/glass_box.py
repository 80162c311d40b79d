"""Draws the README's picture: ``python docs/images/glass_box.py``."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from parityboost import AdaFairClassifier, plot
from parityboost.baselines import AdaBoostClassifier
from parityboost.datasets import load_adult

mpl.rcParams.update({"svg.hashsalt": "parityboost", "svg.fonttype": "none", "font.size": 9})
adult = load_adult()
X, X_new, y, y_new = train_test_split(adult.data, adult.target, test_size=0.5, random_state=0)
fair = AdaFairClassifier(random_state=0).fit(X, y, sensitive_features=X["sex"])
plain = AdaBoostClassifier(200).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(11.5, 4.4), layout="constrained", width_ratios=[1, 1.25])
plot.shape_function(fair, "age", X_new, ax=axes[0])
plot.gap_decomposition({"AdaBoost": plain, "AdaFair": fair}, X_new, X_new["sex"], top=6, ax=axes[1])
figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})
