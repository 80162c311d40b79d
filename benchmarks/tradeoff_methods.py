"""What tradeoff.py compares: the data, the choices on held-out rows, and the methods in families."""

from __future__ import annotations

import subprocess
import tempfile
import time
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from peers import install
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from tradeoff_peers import NOTIONS, REQUIREMENTS, TOLERANCES

from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier, datasets, metrics
from parityboost.notions import get_notion

HERE = Path(__file__).parent
LIMIT = 1800  # seconds that a peer in its own environment may take

LOADERS = {
    "adult": datasets.load_adult,
    "bank": datasets.fetch_bank,
    "compass": datasets.fetch_compas,
    "kdd": datasets.fetch_kdd_census,
    "synthetic, 4,000 rows": partial(datasets.make_biased_classification, 4_000, 10, label_noise=0.1, random_state=0),
    "synthetic, 40,000 rows": partial(datasets.make_biased_classification, 40_000, 20, label_noise=0.1, random_state=0),
}
# Where to be on the trade-off: the lowest sum of balanced error and measure on the held-out rows, the lowest balanced
# error where the measure is at most this much there, and the lowest balanced error.
POINTS = {"sum": None, "0.10": 0.10, "0.05": 0.05, "ber": np.inf}
BAGS = {f"{n_bags} of depth {depth}": (n_bags, depth) for n_bags, depth in
        ((2, 2), (4, 2), (6, 2), (8, 2), (8, 1), (16, 1))}  # fmt: skip


# --- Data -----------------------------------------------------------------------------------------


@cache
def load(dataset):
    return LOADERS[dataset]()


def halves(dataset, split):
    """The training half, also cut into two thirds and a held-out third, and the test half."""
    bunch = load(dataset)
    y = (bunch.target == np.unique(bunch.target)[-1]).to_numpy(dtype=int)
    s, names = pd.factorize(bunch.sensitive, sort=True)
    assert len(names) == 2
    half, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=split)
    train, held = train_test_split(half, test_size=0.33, random_state=split, stratify=2 * y[half] + s[half])
    blind = bunch.data.drop(columns=bunch.sensitive_names)

    def part(rows):
        return SimpleNamespace(X=bunch.data.iloc[rows], blind=blind.iloc[rows], y=y[rows], s=s[rows])

    return part(half), part(train), part(held), part(test)


def codes(X):
    """Categories as integers, for peers that take them so."""
    return X.apply(lambda c: c.cat.codes if str(c.dtype) == "category" else c).to_numpy(dtype=float)


# --- Choosing on held-out rows --------------------------------------------------------------------


def measures(part, predicted, notion):
    groups = {"sensitive_features": part.s}
    return {
        "ber": metrics.balanced_error_rate(part.y, predicted, pos_label=1),
        "measure": metrics.violation(part.y, predicted, **groups, notion=notion, pos_label=1),
        "accuracy": 1 - metrics.error_rate(part.y, predicted),
    }


def best(ber, measure, point):
    """Where in these choices `point` is."""
    ber, measure = np.asarray(ber), np.asarray(measure)
    if POINTS[point] is None:
        return int(np.argmin(ber + measure))
    allowed = measure <= max(POINTS[point], measure.min())
    return int(np.argmin(np.where(allowed, ber, np.inf)))


def choose(candidates, held, test, notion):
    """(point, measures on the test half) for lists of predictions of the held-out and of the test rows."""
    found = [measures(held, predicted, notion) for predicted in candidates[0]]
    for point in POINTS:
        k = best([f["ber"] for f in found], [f["measure"] for f in found], point)
        yield point, measures(test, candidates[1][k], notion)


def choose_thresholds(scores, held, test, notion, per_group=False):
    """The same for scores: all thresholds, or up to 200 per group and all their pairs."""
    cuts, counts = [], []
    for group in (0, 1):
        own = scores[0][held.s == group] if per_group else scores[0]
        values = np.unique(np.quantile(own, np.linspace(0, 1, 200), method="nearest")) if per_group else np.unique(own)
        cuts.append(values)
        table = np.empty((len(values), 2, 2))  # [cut, y, predicted]
        for y in (0, 1):
            ranked = np.sort(scores[0][(held.s == group) & (held.y == y)])
            table[:, y, 0] = np.searchsorted(ranked, values, side="right")
            table[:, y, 1] = len(ranked) - table[:, y, 0]
        counts.append(table)
    pairs = (
        np.indices((len(cuts[0]), len(cuts[1]))).reshape(2, -1) if per_group else np.tile(range(len(cuts[0])), (2, 1))
    )
    both = np.stack([counts[0][pairs[0]], counts[1][pairs[1]]], axis=1)  # [choice, group, y, predicted]
    rates = both.sum(axis=1)
    ber = (rates[:, 0, 1] / rates[:, 0].sum(axis=1) + rates[:, 1, 0] / rates[:, 1].sum(axis=1)) / 2
    measure = get_notion(notion).violation(both)
    for point in POINTS:
        k = best(ber, measure, point)
        thresholds = np.array([cuts[0][pairs[0, k]], cuts[1][pairs[1, k]]])
        yield point, measures(test, (scores[1] > thresholds[test.s]).astype(int), notion)


# --- The families of methods: (method, notion, processor seconds to fit, [(point, measures)]) --------------------


def timed(function):
    started = time.process_time()
    result = function()
    return result, time.process_time() - started


def ours(half, train, held, test, seed):
    paper = partial(AdaFairClassifier, random_state=seed, n_jobs=1)
    recommended = partial(ParityBoostClassifier, random_state=seed, n_jobs=1)
    recommended("none", n_bags=2, n_estimators=2).fit(half.X, half.y, sensitive_features=half.s)  # compiles
    paper("none", n_estimators=2).fit(half.X, half.y, sensitive_features=half.s)
    variants = {
        "ParityBoost": (recommended, "blind", {}),
        "ParityBoost, group in X": (recommended, "X", {}),
        "ParityBoost, threshold per group": (recommended, "X", {"threshold": "per_group"}),
        "AdaFair": (paper, "blind", {}),
        "AdaFair, group in X": (paper, "X", {}),
    }
    yield from fitted(variants, half, test)


def fitted(variants, half, test):
    for notion in NOTIONS:
        for method, (make, table, options) in variants.items():
            model = make(notion, **options)
            _, seconds = timed(lambda: model.fit(getattr(half, table), half.y, sensitive_features=half.s))  # noqa: B023
            yield method, notion, seconds, list(along_frontier(model, getattr(test, table), test, notion))


def along_frontier(model, X, test, notion):
    def predicted():
        return model.predict(X, sensitive_features=test.s) if model.threshold == "per_group" else model.predict(X)

    yield "sum", measures(test, predicted(), notion)  # its own choice
    frontier = model.frontier()
    for point in [p for p in POINTS if p != "sum"]:
        row = frontier.iloc[best(frontier["ber"], frontier["violation"], point)]
        if isinstance(model, ParityBoostClassifier):
            model = model.choose(fairness=row["fairness"], threshold=row["threshold"])
        else:
            model.set_theta(row["theta"]).set_threshold(row["threshold"])
        yield point, measures(test, predicted(), notion)


def bags(half, train, held, test, seed):
    """How many trainings, and how deep: only the model's own choice."""
    for notion in NOTIONS:
        for method, (n_bags, depth) in BAGS.items():
            model = ParityBoostClassifier(notion, n_bags, max_depth=depth, random_state=seed, n_jobs=1)
            _, seconds = timed(lambda: model.fit(half.blind, half.y, sensitive_features=half.s))  # noqa: B023
            yield method, notion, seconds, [("sum", measures(test, model.predict(test.blind), notion))]


def gradient_boosting(**options):
    return HistGradientBoostingClassifier(categorical_features="from_dtype", early_stopping=False, **options)


def boosting(half, train, held, test, seed):
    """AdaBoost and gradient boosting with thresholds, and fairlearn's ThresholdOptimizer."""
    models = {
        "AdaBoost": (AdaBoostClassifier(random_state=seed, n_jobs=1), "blind"),
        "AdaBoost, group in X": (AdaBoostClassifier(random_state=seed, n_jobs=1), "X"),
        "HistGradientBoosting": (gradient_boosting(random_state=seed), "blind"),
        "HistGradientBoosting, group in X": (gradient_boosting(random_state=seed), "X"),
    }
    for name, (model, table) in models.items():
        _, seconds = timed(lambda: model.fit(getattr(train, table), train.y))  # noqa: B023
        scores = [model.decision_function(getattr(part, table)) for part in (held, test)]
        for notion in NOTIONS:
            yield name, notion, seconds, list(choose_thresholds(scores, held, test, notion))
            if name == "HistGradientBoosting, group in X":
                method = "HistGradientBoosting, thresholds per group"
                (found, more) = timed(lambda: list(choose_thresholds(scores, held, test, notion, True)))  # noqa: B023
                yield method, notion, seconds + more, found
    whole, whole_seconds = timed(lambda: gradient_boosting(random_state=seed).fit(half.X, half.y))
    for notion in NOTIONS:
        for name, base, base_seconds, rows in (
            ("ThresholdOptimizer(HistGradientBoosting)", model, seconds, held),
            ("ThresholdOptimizer(HistGradientBoosting), no rows held out", whole, whole_seconds, half),
        ):
            candidates, more = timed(lambda: optimized_thresholds(base, rows, test, notion, seed))  # noqa: B023
            yield name, notion, base_seconds + more, list(choose(candidates, rows, test, notion))


def optimized_thresholds(model, rows, test, notion, seed):
    """fairlearn's answers, without and with its tolerances; what is random is drawn with the seed."""
    from fairlearn.postprocessing import ThresholdOptimizer

    constraint = dict(zip(NOTIONS, ("equalized_odds", "true_positive_rate_parity", "demographic_parity"), strict=True))
    found = [], []
    tolerances = () if notion == "disparate_mistreatment" else TOLERANCES[2::2]  # not for equalized odds
    for tolerance in (None, *tolerances):
        optimizer = ThresholdOptimizer(
            estimator=model,
            constraints=constraint[notion],
            objective="balanced_accuracy_score",
            prefit=True,
            predict_method="predict_proba",
            tol=tolerance,
        ).fit(rows.X, rows.y, sensitive_features=rows.s)
        for part, predictions in zip((rows, test), found, strict=True):
            predictions.append(
                np.asarray(optimizer.predict(part.X, sensitive_features=part.s, random_state=seed)).astype(int)
            )
    return found


def postprocessing(half, train, held, test, seed, environments):
    """oxonfair and error-parity, in environments of their own, on the scores of one gradient boosting model each."""
    model, seconds = timed(lambda: gradient_boosting(random_state=seed).fit(train.X, train.y))
    blind = gradient_boosting(random_state=seed).fit(train.blind, train.y)
    guess = gradient_boosting(random_state=seed).fit(train.blind, train.s)
    parts = {"held": held, "test": test}
    known = {f"y_{name}": part.y for name, part in parts.items()} | {f"s_{name}": p.s for name, p in parts.items()}
    scores = known | {f"score_{name}": model.predict_proba(part.X)[:, 1] for name, part in parts.items()}
    inferred = known | {f"score_{name}": blind.predict_proba(part.blind)[:, 1] for name, part in parts.items()}
    inferred |= {f"group_{name}": guess.predict_proba(part.blind)[:, 1] for name, part in parts.items()}
    for method, peer, arrays in (
        ("oxonfair(HistGradientBoosting)", "oxonfair", scores),
        ("oxonfair(HistGradientBoosting), inferred group", "oxonfair inferred", inferred),
        ("error-parity(HistGradientBoosting)", "error-parity", scores),
    ):
        found = elsewhere(peer, environments, **arrays)
        for notion in NOTIONS:
            if isinstance(found, str):
                yield method, notion, None, found
            else:
                candidates = found[f"{notion} held"].astype(int), found[f"{notion} test"].astype(int)
                more = float(found[f"{notion} seconds"])
                yield method, notion, seconds + more, list(choose(candidates, held, test, notion))


def fairgbm(half, train, held, test, seed, environments):
    yield from scored("FairGBM, group in X", "fairgbm", train, held, test, environments)


def mmm_fair(half, train, held, test, seed, environments):
    yield from scored("MMM-Fair, group in X", "mmm-fair", train, held, test, environments)


def scored(method, peer, train, held, test, environments):
    """A peer that gives scores with several settings: the setting and one threshold for all are chosen."""
    categorical = np.flatnonzero([str(dtype) == "category" for dtype in train.X.dtypes])
    arrays = {"X": codes(train.X), "X_held": codes(held.X), "X_test": codes(test.X), "y": train.y, "s": train.s}
    found = elsewhere(peer, environments, categorical=categorical, **arrays)
    for notion in NOTIONS:
        if isinstance(found, str):
            yield method, notion, None, found
            continue
        scores = found[f"{notion} held"], found[f"{notion} test"]
        cuts = [np.unique(np.quantile(s, np.linspace(0, 1, 100), method="nearest")) for s in scores[0]]
        candidates = [
            [(s > cut).astype(int) for s, own in zip(part, cuts, strict=True) for cut in own] for part in scores
        ]
        points = list(choose(candidates, held, test, notion))
        yield method, notion, float(found[f"{notion} seconds"]), points


def elsewhere(name, environments, **arrays):
    """What tradeoff_peers.py finds in the environment of a peer, or the last line of what went wrong."""
    requirements = REQUIREMENTS[name.partition(" ")[0]]
    try:
        python = install(environments / requirements[0].partition("==")[0], requirements)
    except subprocess.CalledProcessError:
        return f"could not be installed: {requirements[0]}"
    with tempfile.TemporaryDirectory() as work:
        source, target = Path(work, "in.npz"), Path(work, "out.npz")
        np.savez(source, **arrays)
        command = [python, "-W", "ignore", HERE / "tradeoff_peers.py", name, source, target]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return f"not within {LIMIT} s"
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
        with np.load(target) as found:
            return dict(found)


def reductions(half, train, held, test, seed):
    """fairlearn's ExponentiatedGradient, 20 rounds of 50 boosted trees each, for balanced error; blind to the group."""
    from fairlearn import reductions as fairlearn

    share = train.y.mean()
    costs = {"fp": min(1.0, share / (1 - share)), "fn": min(1.0, (1 - share) / share)}
    moments = (fairlearn.EqualizedOdds, fairlearn.TruePositiveRateParity, fairlearn.DemographicParity)
    numbers = [codes(part.blind) for part in (train, held, test)]
    categorical = [str(dtype) == "category" for dtype in train.blind.dtypes]
    for notion, moment in zip(NOTIONS, moments, strict=True):
        base = HistGradientBoostingClassifier(
            max_iter=50, categorical_features=categorical, early_stopping=False, random_state=seed
        )
        objective = fairlearn.ErrorRate(costs=costs)
        model = fairlearn.ExponentiatedGradient(base, moment(), objective=objective, max_iter=20)
        _, seconds = timed(lambda: model.fit(numbers[0], train.y, sensitive_features=train.s))  # noqa: B023
        drawn = [[np.asarray(model.predict(table, random_state=seed)).astype(int)] for table in numbers[1:]]
        found = [point for point in choose(drawn, held, test, notion) if point[0] == "sum"]
        yield "ExponentiatedGradient(HistGradientBoosting)", notion, seconds, found
        share_of_models = [model._pmf_predict(table)[:, 1] for table in numbers[1:]]
        found = list(choose_thresholds(share_of_models, held, test, notion))
        yield "ExponentiatedGradient(HistGradientBoosting), majority", notion, seconds, found


def times(half, train, held, test, seed):
    """Ours and gradient boosting on the training half, in turns."""
    models = {
        "ParityBoost": ParityBoostClassifier(random_state=0, n_jobs=1),
        "AdaFair": AdaFairClassifier(random_state=0, n_jobs=1),
        "HistGradientBoosting": gradient_boosting(max_iter=100),
    }
    for turn in range(6 if len(half.y) < 50_000 else 3):
        for method, model in models.items():
            groups = {} if method == "HistGradientBoosting" else {"sensitive_features": half.s}
            _, seconds = timed(lambda: model.fit(half.X, half.y, **groups))  # noqa: B023
            if turn:  # the first one compiles
                yield method, str(turn), seconds, []


FAMILIES = {
    "ours": ours,
    "boosting": boosting,
    "postprocessing": postprocessing,
    "fairgbm": fairgbm,
    "mmm_fair": mmm_fair,
    "times": times,
    "reductions": reductions,
    "bags": bags,
}
