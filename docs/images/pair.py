"""Draws the picture of the page on pairs: ``python docs/images/pair.py``."""

from pathlib import Path

import matplotlib as mpl
from sklearn.model_selection import train_test_split

from parityboost import AdaFairClassifier, plot
from parityboost.datasets import load_adult

mpl.rcParams.update({"svg.hashsalt": "parityboost", "svg.fonttype": "none"})
adult = load_adult()
X, _, y, _ = train_test_split(adult.data, adult.target, test_size=0.5, random_state=0)
options = {"update": "discrete", "class_weight": "balanced_groups", "threshold": "auto", "random_state": 0}
model = AdaFairClassifier("statistical_parity", max_depth=2, **options).fit(X, y, sensitive_features=X["sex"])
figure = plot.pair(model, "marital-status", "capital-gain").figure
figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})
