"""Fits on hostile tables with every option, and checks of what was fitted."""

import re
import warnings
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import InvalidParameterError

from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier
from parityboost._engine import threads
from parityboost._fit import samples
from parityboost._model import tables as _tables
from parityboost._table import binning
from parityboost.notions import FairnessNotion, Gap, StatisticalParity
from parityboost.paper.baselines import SMOTEBoostClassifier

from .checks import CHECKS, EVERY_TIME, FAIR
from .engine import ACCEPTED, REFUSED
from .tables import BAD, Culprits, Rows, chance, draw_rows, pick

# What the rows themselves may not allow, however sound they are; each of these sentences names the culprit.
DATA_REFUSED = re.compile(
    r"first weak learner is no better than chance|cannot be compared between fewer than two groups"
    r"|has no example of class '|only one group|only class .+ has rows|only one class is present: all labels are"
    r"|group '.*' does not occur in the training data|SMOTE needs two instances of the rarer class"
    r"|smote=\"plain\" takes (numbers only|no missing values)|costs_from=\"validation\" needs a validation set"
    r"|got bytes b'|threshold=\"per_group\" is for up to \d+ groups, got \d+"
    r"|(max_depth|interaction_cst|monotonic_cst)=.+ is for the native trees"
    r"|monotonic_cst: column .+ holds categories|monotonic_cst has 1 entries, but X has \d+ columns"
    r"|bag \d+ has no row to (train on|hold out)|no row can be held out of \d+|n_bags\[\d+\] has no row of class '"
    r"|n_bags=StratifiedKFold.*n_splits=2 cannot be greater than"
    r"|sample_weight is zero for every row|does not hold numbers, so categorical_features must have it"
    r"|no choice( among those within [\w, ]+)? keeps what was asked for"
    r"|(limit|min_ratio)=\S+ limits what a notion compares"
    r"|confidence=\S+ promises a limit on people|no choice of use can be promised"
    r"|certify_on=\S+ makes its promise on rows that the trainings hold out; with validation"
    r"|confidence promises gaps between rates"
    r"|column ['\"].*['\"] held numbers in training, got object values"  # its text is among the validation rows only
)


class EqualErrors(FairnessNotion):
    """A notion of the user's own."""

    name = "equal_errors"
    gaps = (Gap("error", lambda n: errors(n), (0, 1)),)


def errors(counts):
    total = counts.sum((-2, -1))
    return np.divide(counts[..., 0, 1] + counts[..., 1, 0], total, out=np.full_like(total, np.nan), where=total > 0)


NOTIONS = [
    *("disparate_mistreatment", "equal_opportunity", "statistical_parity", "predictive_equality", "none"),
    *("equalized_odds", "demographic_parity", "true_positive_rate_parity", "false_positive_rate_parity"),
    *(StatisticalParity(), StatisticalParity(boost="both"), EqualErrors()),
]
# Sound values of each parameter; the default is drawn more often than these together.
OPTIONS = {
    "notion": NOTIONS,
    "c": [0, 0.5, 1, np.float32(0.25), True],
    "epsilon": [0, 0.05, 0.5, 1e300],
    "cumulative": [False, np.True_],
    "update": ["confidence", "discrete", "real"],
    "learning_rate": [0.1, 0.5, 1, np.float32(0.3), 0.001],
    "learner_weight": ["cost"],
    "class_weight": ["balanced", "balanced_groups", None],
    "threshold": ["auto", "auto", "per_group", "per_group", 0.125, -5, 1e300, np.float64(0.5)],
    "max_depth": [2, 2, np.int64(2)],
    "interaction_cst": ["no_interactions", "pairwise", [{0}], [(0,), []]],
    "monotonic_cst": [{0: 1}, {0: -1}, [0], {}],
    "criterion": ["error"],
    "category_splits": ["sets", "one"],
    "max_pairs": [0, 1, np.int64(3), None],
    "max_bins": [2, 3, 16, np.int64(100)],
    "validation_fraction": [None, None, None, 0.01, 0.5, 0.99],
    "n_iter_no_change": [1, 3],
    "keep": [0.0, 0.5, 1, 0.999],
    "max_violation": [0, 0.02, 0.1, 0.3, 5.0],
    "maximize": ["balanced_accuracy", "accuracy", {"false_positive": 1, "false_negative": 5}],
    "limit": [0, 0.05, 0.3, 1, np.float32(0.5)],
    "min_ratio": [0.1, 0.8, 1],
    "capacity": [0.01, 0.3, 1],
    "max_false_positive_rate": [0, 0.1, 0.9],
    "min_group_share": [0.01, 0.3],
    "confidence": [0.8, 0.95],
    "certify_on": ["out_of_bag", "held_out"],
    "groups": ["each", "each", "both", "crossed"],
    "n_jobs": [1, 2, 3, -1],
    "verbose": [1],
    "n_bags": [1, 2, 3, "auto", StratifiedKFold(2)],
    "dial": [True],
    "n_synthetic": [1, 7],
    "k_neighbors": [1, 50],
    "keep_synthetic": [True],
    "costs_from": ["validation"],
    "smote": ["plain"],
}
BAD_OPTIONS = {
    "notion": ["fair", "", None, 3],
    "n_estimators": [0, -1, 2.5, "many", None, 1j],
    "c": [-0.1, 1.1, np.nan, "half", None, 1j, [1]],
    "epsilon": [-1, np.nan, "none", None],
    "cumulative": ["yes", 2, None],
    "update": ["fast", None, 1],
    "learning_rate": [0, 1e-12, -1, 1.5, np.nan, "slow", None],
    "learner_weight": ["best", None],
    "class_weight": ["even", [], {"no such label": 1.0}, 3],
    "threshold": ["best", np.nan, np.inf, None, 1j, [0.5]],
    "estimator": ["tree", object(), KNeighborsClassifier(), 3],
    "max_depth": [0, 3, 1.5, "deep", None],
    "interaction_cst": ["all", [{"no such column"}], [{999}], [0], 3],
    "monotonic_cst": [{"no such column": 1}, {0: 2}, {0: 0.5}, {0: "up"}, "up", 1],
    "criterion": ["entropy", None],
    "category_splits": ["many", None, 2],
    "max_pairs": [-1, 1.5, "few"],
    "max_bins": [1, 0, 256, 2.5, None, "many"],
    "categorical_features": ["all", ["no such column"], [999], [True] * 50, 5, [None], [[0]]],
    "validation_fraction": [0, 1, -1, np.nan, "third", 2],
    "n_iter_no_change": [0, -1, "few", 1.5],
    "sensitive_feature": ["no such column", 999, ["no such column"], [], 1.5, [[0]]],
    "bands": [{"no such column": [1]}, {0: "text"}, {"a": [2, 1]}, {"a": []}, 5, [1]],
    "missing_group": [3, [], 1.5],
    "groups": ["all", None, 2],
    "blind": ["yes", None, 2],
    "positive": ["no such label", 7.5, [], {"a": 1}],
    "favourable": ["no such label", 7.5, [], {"a": 1}],
    "keep": [-0.1, 1.1, np.nan, None, "half"],
    "max_violation": [-1, np.nan, "none"],
    "maximize": ["f1", {"false_positive": 1}, {"false_positive": -1, "false_negative": 1}, {"cost": 1}, 3],
    "limit": [-0.1, 1.5, np.nan, "low", True],
    "min_ratio": [0, 1.5, np.nan, "four fifths"],
    "capacity": [0, 1.5, np.nan, "many"],
    "max_false_positive_rate": [-0.1, 2, "low"],
    "min_group_share": [-0.1, 1, None, "small"],
    "confidence": [0, 1, 1.5, "sure"],
    "certify_on": ["all", None],
    "n_jobs": ["all", 1.5, 0],
    "verbose": ["loud", -1],
    "random_state": ["seed", -1, 1.5, 2**40],
    "n_bags": [0, 1001, 2.5, "many", None, [], [([0], [1], [2])], [([0], [10**9])]],
    "dial": ["yes", 2, None],
    "device": ["gpu", "CPU", None, 0],
    "n_synthetic": [0, 1.5],
    "k_neighbors": [0, "all"],
    "keep_synthetic": ["yes"],
    "costs_from": ["test", None],
    "smote": ["fancy", None],
}


@dataclass
class Trial:
    """A fit that was accepted, for the checks."""

    cls: Any
    options: dict[str, Any]
    rows: Rows
    validation: tuple | None
    passes_groups: bool
    model: Any
    sizes_changed: bool

    @property
    def counts(self):
        """Which rows have weight; the others are no rows, and their groups may be unknown."""
        weights = self.rows.weights
        return np.ones(len(self.rows), dtype=bool) if np.ndim(weights) == 0 else np.asarray(weights, dtype=float) > 0

    def refit(self, rows=None, validation="same", **options):
        """Another model, of other rows or with other options."""
        rows = rows or self.rows
        model = self.cls(**deepcopy({**self.options, **options}))
        validation = self.validation if validation == "same" else validation
        return model.fit(**arguments(rows, validation, self.passes_groups))


def arguments(rows, validation, passes_groups):
    found = {"X": rows.X, "y": rows.y, "sample_weight": rows.weights}
    if passes_groups:
        found["sensitive_features"] = rows.groups
    return found if validation is None else {**found, "validation": validation}


def draw_options(rng, cls, rows, culprits):
    """Parameters, some of them bad; whether the groups are passed to fit or named by a parameter."""
    known = cls._get_param_names()
    options = {name: pick(rng, OPTIONS[name]) for name in known if name in OPTIONS and chance(rng, 0.3)}
    options["n_estimators"] = int(rng.integers(1, 12))
    if cls is ParityBoostClassifier:
        if chance(rng, 0.5):
            options["n_bags"] = 2  # sooner than four
        if options.get("validation_fraction", 0.33) is None:  # each bag holds rows out
            del options["validation_fraction"]
    options["random_state"] = pick(rng, [0, 7, np.int64(3), np.random.RandomState(1)])
    X, passes_groups = rows.X, True
    labels = np.unique(np.asarray(rows.y)).tolist() if rows.plain and not isinstance(rows.y, pd.DataFrame) else []
    if "dial" in known and options.get("monotonic_cst") and chance(rng, 0.5):
        options["dial"] = True
    if "class_weight" in known and labels and chance(rng, 0.1):
        factors = pick(rng, [(1, 2), (1e-300, 1e300), (0.1, 5), (np.float32(2), 7)])
        options["class_weight"] = dict(zip(labels, factors, strict=False))
        culprits.words.append("class_weight")  # of too wide a range
    for name in ("positive", "favourable"):
        if name in known and len(labels) == 2 and chance(rng, 0.2):
            options[name] = pick(rng, labels)
    if isinstance(X, pd.DataFrame) and not culprits.must_refuse and chance(rng, 0.1):  # infinity is a fine category
        every = pick(rng, [list(X.columns), list(range(X.shape[1])), [True] * X.shape[1], pd.Index(X.columns)])
        options["categorical_features"] = pick(rng, [None, [], every])
    numeric = isinstance(X, np.ndarray) and X.dtype.kind in "iufb" and not (np.abs(X) > 1e30).any()  # of 32 bits
    if "estimator" in known and numeric and chance(rng, 0.3):
        options["estimator"] = pick(rng, [DecisionTreeClassifier(max_depth=2), LogisticRegression()])
        culprits.words += ["Input X", "Input"]  # scikit-learn's estimators have their own words and limits
    if options.get("update") == "real":  # which is not for everyone
        options.pop("learner_weight", None)
        if cls not in FAIR or "estimator" in options:
            options["update"] = "discrete"
    if cls in FAIR and chance(rng, 0.1):
        column = int(rng.integers(np.shape(X)[1])) if not isinstance(X, list) else 0
        name = X.columns[column] if isinstance(X, pd.DataFrame) and chance(rng, 0.7) else column
        options["sensitive_feature"] = pick(rng, [name, [name]])
        passes_groups = False
        culprits.words += ["sensitive attribute", "sensitive_feature"]  # missing values, for one
        if chance(rng, 0.3):
            options["bands"] = {
                name if isinstance(X, pd.DataFrame) else f"x{name}": sorted(rng.normal(size=2).tolist())
            }
            culprits.words.append("bands")  # of a column that is no number
    elif cls not in FAIR and chance(rng, 0.3):
        passes_groups = False
    if "missing_group" in known and not culprits.must_refuse and chance(rng, 0.1):
        options["missing_group"] = pick(rng, ["no group is called so", "ignore"])
    if options.get("threshold") == "per_group":  # which is a threshold for each crossed group
        options.pop("groups", None)
    if "blind" in known and "sensitive_feature" in options and chance(rng, 0.3):
        n_columns = len(X[0]) if isinstance(X, list) else np.shape(X)[1]
        options["blind"] = options.get("threshold") != "per_group" and n_columns > 1
        if options["blind"]:  # positions count the columns that are left
            for of_columns in ("categorical_features", "monotonic_cst", "interaction_cst"):
                options.pop(of_columns, None)
    if chance(rng, 0.06):
        name = pick(rng, [name for name in known if name in BAD_OPTIONS])
        options[name] = pick(rng, BAD_OPTIONS[name])
        if name == "sensitive_feature":
            passes_groups = False
        others = {"random_state": "Seed", "estimator": "KNeighborsClassifier"}  # how scikit-learn and we name these
        culprits.add(BAD, f"'{name}'", others.get(name, f"'{name}'"), *([name] if len(name) > 2 else []))
    return options, passes_groups


@contextmanager
def small_sizes(changed):
    """Blocks, threads, merged rows and counted stretches, as in large data, but of few rows."""
    sizes = {
        (threads, "WORTH_A_THREAD"): 1,
        (samples, "BLOCK_ROWS"): 16,
        (samples, "MIN_ROWS_TO_MERGE"): 4,
        (_tables, "MIN_BLOCK_ROWS"): 16,
        (_tables, "MAX_BLOCK_ROWS"): 16,
        (binning, "EXACT_ROWS"): 32,
    }
    before = {key: getattr(*key) for key in sizes}
    try:
        for (module, name), value in (sizes if changed else {}).items():
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)


def attempt(rng):
    changed = chance(rng, 0.4)
    with small_sizes(changed):
        return fit_and_check(rng, changed)


def fit_and_check(rng, sizes_changed):
    culprits, of_groups = Culprits(), Culprits()
    cls = pick(rng, [AdaFairClassifier] * 6 + [ParityBoostClassifier] * 3 + [AdaBoostClassifier, SMOTEBoostClassifier])
    n_rows = int(pick(rng, [rng.integers(2, 15), rng.integers(15, 80), rng.integers(80, 400)]))
    n_groups = int(pick(rng, [2, 2, 2, 3, 5, 30]))
    rows = draw_rows(rng, culprits, of_groups, n_rows, int(rng.integers(1, 6)), n_groups)
    options, passes_groups = draw_options(rng, cls, rows, culprits)
    if passes_groups:
        if of_groups.must_refuse and isinstance(options.get("missing_group"), str):
            del options["missing_group"]  # what is wrong may be that some are missing
        culprits.words += of_groups.words
        culprits.must_refuse |= of_groups.must_refuse
    validation = None
    if rows.plain and not culprits.must_refuse and n_rows > 10 and chance(rng, 0.3):
        rows, validation = split_off(rng, rows, passes_groups)
    given = arguments(rows, validation, passes_groups)
    before = deepcopy(given)

    model = cls(**deepcopy(options))
    refitted = chance(rng, 0.1) and fitted_before(model, cls)
    model.set_params(**deepcopy(options))
    try:
        model.fit(**given)
    except (ValueError, TypeError) as error:
        check_refusal(error, culprits)
        left = [name for name in ("theta_", "history_", "threshold_", "glass_box_") if hasattr(model, name)]
        # A parameter is refused before anything is touched: then the earlier model is there, all of it.
        untouched = refitted and isinstance(error, InvalidParameterError) and len(left) == 4
        assert not left or untouched, (
            f"the fit failed, but {left} of {'an earlier' if refitted else 'this'} one is there"
        )
        return REFUSED
    assert not culprits.must_refuse, f"accepted, though wrong are {culprits.words}"
    check_unchanged(before, given)
    trial = Trial(cls, options, rows, validation, passes_groups, model, sizes_changed)
    for check in EVERY_TIME:
        check(trial, rng)
    for check in CHECKS:
        if chance(rng, CHECKS[check]):
            try:
                check(trial, rng)
            except Exception as error:
                error.add_note(f"in {check.__name__} of {model!r}")
                raise
    return ACCEPTED


def split_off(rng, rows, passes_groups):
    """Validation rows; perhaps with rows of weight zero whose class and group do not count."""
    held_out = rng.random(len(rows)) < 0.4
    held_out[rng.integers(len(rows))] = True
    at, rest = np.flatnonzero(held_out), np.flatnonzero(~held_out)
    held = rows.at(at)
    X, y, groups, weights = held.X, held.y, held.groups, held.weights
    groups = groups if passes_groups else None
    if chance(rng, 0.2):
        nothing = rng.random(len(at)) < 0.3
        weights = np.where(nothing, 0.0, rng.uniform(1, 2, len(at)))
        if chance(rng, 0.5) and isinstance(y, (np.ndarray, list)) and np.ndim(y) == 1:
            other = "another class" if isinstance(y[0], str) else 99
            y = [other if empty else label for label, empty in zip(y, nothing, strict=True)]
        if chance(rng, 0.5) and isinstance(groups, (np.ndarray, list)) and np.ndim(groups) == 1:
            groups = np.array(list(groups), dtype=object)
            groups[nothing] = "another group"
    parts = [X, y, groups, weights]
    while len(parts) > 2 and parts[-1] is None:
        parts.pop()
    return rows.at(rest), tuple(parts)


def fitted_before(model, cls):
    """Whether an earlier fit succeeded, as it should."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"before": rng.normal(size=40)})
    own = model.get_params(deep=False)
    model.set_params(**cls(n_estimators=2).get_params(deep=False))
    model.fit(X, X["before"] > 0, sensitive_features=np.arange(40) % 2)
    return bool(own)


def check_refusal(error, culprits):
    """A refusal names what is wrong, and comes only where something is."""
    message = str(error)
    if DATA_REFUSED.search(message):
        return
    named = any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message) for word in culprits.words)
    if not named:
        raise AssertionError(f"refused, but the message names none of {culprits.words}") from error
    if len(message) > 1500:
        raise AssertionError(f"a message of {len(message)} characters") from error


def check_unchanged(before, after):
    for name, value in before.items():
        parts = zip(value, after[name], strict=True) if name == "validation" else [(value, after[name])]
        for one, other in parts:
            if isinstance(one, pd.DataFrame):
                pd.testing.assert_frame_equal(one, other)
            elif isinstance(one, pd.Series):
                pd.testing.assert_series_equal(one, other)
            elif isinstance(one, np.ndarray) and one.dtype != object:
                np.testing.assert_array_equal(one, other)


def warm_up():
    """Compile, or read from the cache, what fits need."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=300), "k": pd.Categorical(rng.choice(["p", "q"], 300))})
    y, groups = rng.integers(2, size=300), rng.choice(["a", "b"], 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for threshold in (0.0, "auto", "per_group"):
            model = AdaFairClassifier(n_estimators=2, threshold=threshold, random_state=0)
            model.fit(X, y, sensitive_features=groups, sample_weight=rng.uniform(1, 2, 300))
            model.predict(X, sensitive_features=groups)
        SMOTEBoostClassifier(2).fit(X, y)
