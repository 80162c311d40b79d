"""Other libraries' methods on a table that folktables.py has left: run in an environment of their own.

    PEER/bin/python judged_methods.py METHOD INPUT.npz OUTPUT.npz

A method is a function that gives, per setting, what it says about the held-out rows and about the test rows: scores,
or for methods that decide by themselves the chance of a yes (0 or 1 where nothing is drawn). It is trained twice: on
the rows that are not held out, to say something about those that are, and on all of them, for the test rows. Whoever
needs no held-out rows gives only what it says about the test rows.
"""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import numpy as np

TREES = 200
FEWER_TREES = 50  # of each of the dozens of models that a reduction trains


def read(path):
    """The table: X, y and group of the training rows, which of them are held out, X and group of the test rows."""
    data = SimpleNamespace(**np.load(path))
    data.categorical = [int(column) for column in data.categorical]
    data.notion, data.setting = str(data.notion), str(data.setting)
    data.part = SimpleNamespace(X=data.X[~data.held], y=data.y[~data.held], s=data.s[~data.held])
    data.rest = SimpleNamespace(X=data.X[data.held], y=data.y[data.held], s=data.s[data.held])
    data.all = SimpleNamespace(X=data.X, y=data.y, s=data.s)
    return data


def scores(data, fit):
    """Of the held-out rows by a model of the others, and of the test rows by a model of all."""
    return fit(data.part)(data.rest.X), fit(data.all)(data.X_test)


# --- Scores ---------------------------------------------------------------------------------------


def gradient_boosting(data, trees=TREES):
    """LightGBM as it comes, with twice its trees; the base of all methods below that need one."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=trees, categorical_feature=data.categorical, n_jobs=1, random_state=0, verbose=-1
    )


def lightgbm_scores(data):
    def fit(rows):
        model = gradient_boosting(data).fit(rows.X, rows.y)
        return lambda X: model.predict_proba(X)[:, 1]

    return scores(data, fit)


def lightgbm(data):
    yield "200 trees", *lightgbm_scores(data)


def hist_gradient_boosting(data):
    """Columns of more than 255 categories count as numbers: it takes no more."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    few = [c for c in data.categorical if len(np.unique(data.X[:, c])) <= 255 and data.X[:, c].max() < 255]

    def fit(rows):
        model = HistGradientBoostingClassifier(
            max_iter=TREES, categorical_features=few, early_stopping=False, random_state=0
        )
        model.fit(rows.X, rows.y)
        return lambda X: model.predict_proba(X)[:, 1]

    yield "200 iterations", *scores(data, fit)


def fairgbm(data):
    """Its own tolerance of 0, and multipliers that learn slower than its default of 0.1, which overshoots here."""
    from fairgbm import FairGBMClassifier

    constraint = {"equal_opportunity": "FNR", "equalized_odds": "FPR,FNR"}[data.notion]
    for rate in (1e-5, 1e-4, 1e-3, 1e-2, 0.1):

        def fit(rows, rate=rate):
            model = FairGBMClassifier(
                n_estimators=TREES,
                constraint_type=constraint,
                multiplier_learning_rate=rate,
                n_jobs=1,
                random_state=0,
            )
            model.fit(rows.X, rows.y, constraint_group=rows.s, categorical_feature=data.categorical)
            return lambda X: model.predict_proba(X)[:, 1]

        yield f"multipliers' rate {rate:g}", *scores(data, fit)


def parityboost(data, **options):
    """Ours, trained once on all rows: as accurate as each limit allows, chosen on what its trainings held out."""
    import pandas as pd

    from parityboost import LimitNotMet, ParityBoostClassifier

    def table(X):
        frame = pd.DataFrame(X).rename(columns=str)
        return frame.astype({str(column): "category" for column in data.categorical})

    model = ParityBoostClassifier(data.notion, maximize="accuracy", min_group_share=0.01, n_jobs=1, random_state=0)
    model.set_params(**options)
    model.fit(table(data.X), data.y, sensitive_features=data.s)
    X_test = table(data.X_test)
    limits = {
        "equal_opportunity": [{"min_ratio": k / 200} for k in range(110, 191)],  # 0.55 to 0.95
        "equalized_odds": [{"limit": limit} for limit in (0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.02)],
    }[data.notion]
    for wish in [{"limit": 1.0}, *limits]:
        try:
            chosen = model.choose(**{"limit": None, "min_ratio": None, **wish})
        except LimitNotMet:
            continue
        name = (
            "most accurate" if wish == {"limit": 1.0} else " ".join(f"{key} {value:g}" for key, value in wish.items())
        )
        yield name.replace("_", " "), None, (chosen.predict(X_test) == 1).astype(float)


def parityboost_all_pairs(data):
    """Ours for whoever gives up few tables and time for accuracy: every pair of features, 16 trainings."""
    yield from parityboost(data, max_pairs=None, n_bags=16)


# --- Decisions that do not need the group ---------------------------------------------------------


def exponentiated_gradient(data):
    """fairlearn's reduction, of at most 20 rounds: the chance of a yes, and the answer of the majority."""
    from fairlearn import reductions

    moment = {
        "equal_opportunity": reductions.TruePositiveRateParity,
        "equalized_odds": reductions.EqualizedOdds,
    }[data.notion]
    bound = float(data.setting)
    model = reductions.ExponentiatedGradient(
        gradient_boosting(data, FEWER_TREES), moment(difference_bound=bound), eps=bound, max_iter=20
    )
    model.fit(data.X, data.y, sensitive_features=data.s)
    chance = model._pmf_predict(data.X_test)[:, 1]
    yield f"difference at most {bound:g}", None, chance
    yield f"difference at most {bound:g}, majority", None, (chance > 0.5).astype(float)


def oxonfair_inferred(data):
    """Thresholds by guessed group: the likelier one, by a model of the same columns."""
    from lightgbm import LGBMClassifier

    def fit(rows):
        model = LGBMClassifier(
            n_estimators=FEWER_TREES, categorical_feature=data.categorical, n_jobs=1, random_state=0, verbose=-1
        ).fit(rows.X, rows.s)
        return model.predict_proba

    yield from oxonfair(data, scores(data, fit))


# --- Decisions that need the group ----------------------------------------------------------------


def oxonfair(data, guesses=None):
    from oxonfair import FairPredictor
    from oxonfair import group_metrics as gm

    notion = {"equal_opportunity": gm.recall.max_diff, "equalized_odds": gm.equalized_odds_max}[data.notion]
    said = lightgbm_scores(data)
    held, test = (
        {
            "data": np.column_stack([1 - score, score, *([] if guesses is None else guesses[k].T)]),
            "target": y,
            "groups": groups,
        }
        for k, (score, y, groups) in enumerate(
            zip(said, (data.rest.y, np.zeros(len(data.X_test))), (data.rest.s, data.s_test), strict=True)
        )
    )
    # threshold=0, the likelier group: its default of 2/3 fails where a group is never as likely as that.
    guess = (lambda columns: columns[:, 2:]) if guesses is not None else False
    model = FairPredictor(lambda columns: columns[:, :2].copy(), held, inferred_groups=guess, threshold=0)
    model.fit(gm.accuracy, notion, 0.05)
    accuracy, gap = model.frontier_scores()
    for bound in (0.2, 0.15, 0.1, 0.05, 0.02):
        best = int(np.argmax(np.where(gap <= max(bound, gap.min()), accuracy, -1)))
        model.set_threshold(model.frontier_thresholds()[..., best])
        yield f"difference at most {bound:g}", np.asarray(model.predict(held)), np.asarray(model.predict(test))


def threshold_optimizer(data):
    """fairlearn's, with each of its tolerances; it relaxes equalized odds not at all."""
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.base import BaseEstimator

    held, test = lightgbm_scores(data)
    tolerances = {"equal_opportunity": (0.1, 0.05, 0.02, None), "equalized_odds": (None,)}[data.notion]
    names = {"equal_opportunity": "true_positive_rate_parity", "equalized_odds": "equalized_odds"}

    class Scores(BaseEstimator):  # a model whose only column is what it says
        def __sklearn_is_fitted__(self):
            return True

        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.asarray(X)[:, 0]

    for tolerance in tolerances:
        model = ThresholdOptimizer(
            estimator=Scores(), constraints=names[data.notion], prefit=True, predict_method="predict", tol=tolerance
        )
        model.fit(held.reshape(-1, 1), data.rest.y, sensitive_features=data.rest.s)
        yield (
            "no difference" if tolerance is None else f"difference at most {tolerance:g}",
            model._pmf_predict(held.reshape(-1, 1), sensitive_features=data.rest.s)[:, 1],
            model._pmf_predict(test.reshape(-1, 1), sensitive_features=data.s_test)[:, 1],
        )


def error_parity(data):
    """Cruz and Hardt's. Random: what is drawn with its seed is what counts."""
    from error_parity import RelaxedThresholdOptimizer

    held, test = lightgbm_scores(data)
    names = {"equal_opportunity": "true_positive_rate_parity", "equalized_odds": "equalized_odds"}
    for tolerance in (0.2, 0.15, 0.1, 0.05, 0.02, 0.0):
        model = RelaxedThresholdOptimizer(predictor=np.ravel, constraint=names[data.notion], tolerance=tolerance)
        model.fit(held.reshape(-1, 1), data.rest.y, group=data.rest.s, y_scores=held)
        yield (
            f"difference at most {tolerance:g}",
            model.predict(held.reshape(-1, 1), group=data.rest.s),
            model.predict(test.reshape(-1, 1), group=data.s_test),
        )


def main():
    method, source, target = sys.argv[1:]
    found, started = {}, time.process_time()
    for setting, held, test in globals()[method](read(source)):
        seconds = time.process_time() - started
        found |= {f"{setting}|test": np.asarray(test), f"{setting}|seconds": seconds}
        if held is not None:
            found[f"{setting}|held"] = np.asarray(held)
        started = time.process_time()
    np.savez(target, **found)


if __name__ == "__main__":
    main()
