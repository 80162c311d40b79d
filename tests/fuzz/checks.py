"""What must be true of any model that was fitted, whatever it was fitted on."""

import pickle
import tempfile
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow

import parityboost
from devices import WHY_NOT
from parityboost import AdaFairClassifier, ParityBoostClassifier, explain
from parityboost.paper.baselines import SMOTEBoostClassifier

from .tables import chance, pick, take

FAIR = (AdaFairClassifier, ParityBoostClassifier)
WISHES = ("maximize", "limit", "min_ratio", "capacity", "max_false_positive_rate", "min_group_share", "confidence")
AT_CHANCE = "first weak learner is no better than chance"


def asked(trial, at=slice(None)):
    """What to predict, with the groups, which are needed where each has its own threshold; rows with weight only."""
    rows = np.flatnonzero(trial.counts)[at]
    return {
        "X": take(trial.rows.X, rows),
        "sensitive_features": take(trial.rows.groups, rows) if trial.passes_groups else None,
    }


def averages(trial):
    """Whether the model is an average of several trainings, which keeps no learners and has no stages."""
    return trial.cls is ParityBoostClassifier


def margins(trial, model, at=slice(None)):
    return model.decision_function(**asked(trial, at))


def assert_same(trial, one, other, exact=True, history=True):
    """Two models agree: in every bit, or but for rounding."""
    assert one.theta_ == other.theta_, f"θ is {one.theta_} and {other.theta_}"
    compare = np.testing.assert_array_equal if exact else partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)
    if not averages(trial):
        compare(one.estimator_weights_, other.estimator_weights_)
    compare(one.threshold_, other.threshold_)
    compare(margins(trial, one), margins(trial, other))
    if exact and history:
        pd.testing.assert_frame_equal(one.history_, other.history_, check_exact=True)


def moderate(trial):
    """Whether rounding cannot matter: weights within a few powers of ten, and no sampling of rows for the edges."""
    weights = trial.rows.weights
    if trial.sizes_changed or isinstance(trial.options.get("class_weight"), dict):
        return False
    if weights is None:
        return trial.rows.plain
    weights = np.asarray(weights, dtype=np.float64)
    positive = weights[weights > 0]
    return trial.rows.plain and 1e-6 < positive.min() <= positive.max() < 1e6


def no_split(trial):
    """Whether θ is chosen on given rows, not on a random part whose choice depends on the rows' order."""
    return (
        (trial.validation is not None or trial.options.get("validation_fraction", 0.33) is None)
        and trial.cls not in (SMOTEBoostClassifier, ParityBoostClassifier)
        and trial.options.get("estimator") is None
    )


# --- Every time ------------------------------------------------------------------------------------------------------


def is_whole(trial, rng):
    model = trial.model
    margin, predicted, probability = (
        margins(trial, model),
        model.predict(**asked(trial)),
        model.predict_proba(**asked(trial)),
    )
    assert margin.shape == (trial.counts.sum(),) and np.isfinite(margin).all()
    assert len(model.classes_) == 2 and all(label in model.classes_.tolist() for label in predicted.tolist())
    assert ((probability >= 0) & (probability <= 1)).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert 1 <= model.theta_ <= model.n_estimators_ == len(model.history_)
    if averages(trial):
        order = np.argsort(probability[:, 1], kind="stable")
        assert (
            np.ndim(model.threshold_) or (np.diff(margin[order]) >= 0)[np.diff(probability[order, 1]) > 1e-9].all()
        )  # they rise with the margin
        assert model.theta_ == model.thetas_.sum()
    else:
        np.testing.assert_array_equal(probability[:, 1] > 0.5, margin > 0)
        assert model.n_estimators_ == len(model.estimators_)
        assert (model.estimator_weights_ > 0).all() and np.isfinite(model.estimator_weights_).all()
    assert np.isfinite(model.threshold_).all()
    assert model.history_.columns.is_unique
    for name in ("alpha", "error", "Z", "train_er"):
        assert np.isfinite(model.history_[name]).all(), name
    if trial.cls is AdaFairClassifier:
        prefix = "validation" if "validation_objective" in model.history_ else "train"
        objective = model.history_[f"{prefix}_objective"]
        assert np.isfinite(objective.iloc[model.theta_ - 1]), "θ was chosen by an objective that is not a number"
        if not trial.options.get("keep") and trial.options.get("max_violation") is None:
            assert objective.iloc[model.theta_ - 1] <= objective.min() + 1e-9
    if trial.cls in FAIR:
        needed = 1 if trial.options.get("notion") == "none" else 2
        assert len(set(model.groups_.tolist())) == len(model.groups_) >= needed
    repr(model)


EVERY_TIME = [is_whole]


# --- The same model --------------------------------------------------------------------------------------------------


def fits_again_alike(trial, rng):
    assert_same(trial, trial.model, trial.refit())


def does_not_depend_on_threads(trial, rng):
    assert_same(trial, trial.refit(n_jobs=1), trial.refit(n_jobs=int(pick(rng, [2, 3, 4]))))


def does_not_depend_on_the_device(trial, rng):
    if WHY_NOT is None and trial.options.get("estimator") is None and trial.cls is not SMOTEBoostClassifier:
        assert_same(trial, trial.model, trial.refit(device="cuda"))


def does_not_depend_on_the_unit_of_weight(trial, rng):
    """Weights times a power of two: not a bit may change."""
    weights = trial.rows.weights
    given = trial.model.get_params()
    counts_instances = given.get("keep") or given.get("dial") or given.get("category_splits") == "sets"
    if weights is None or np.ndim(weights) == 0 or not trial.rows.plain or counts_instances:
        return  # there weights count instances: few are not believed, choose no blend, and are no category of their own
    weights = np.asarray(weights, dtype=np.float64)
    positive = weights[weights > 0]
    power = int(rng.integers(-60, 60))
    with np.errstate(all="ignore"):
        scaled = np.ldexp(weights, power)
    if not np.isfinite(scaled).all() or positive.min() < 1e-290 or scaled[weights > 0].min() < 1e-290:
        return
    assert_same(trial, trial.model, trial.refit(replace(trial.rows, weights=scaled)))


def repeats_rows_by_weight(trial, rng):
    """A row of weight k is k rows. These weights are others than before: there may be nothing to learn under them."""
    if not (moderate(trial) and no_split(trial)):
        return
    repeats = rng.integers(1, 4, len(trial.rows))
    at = np.repeat(np.arange(len(trial.rows)), repeats)
    weighted = fitted_or_refused(trial, replace(trial.rows, weights=repeats))
    repeated = fitted_or_refused(trial, replace(trial.rows.at(at), weights=None))
    if isinstance(weighted, str) or isinstance(repeated, str):
        assert weighted == repeated, f"of weighted and repeated rows: {weighted}, {repeated}"
    else:
        assert_same(trial, weighted, repeated, exact=False)


def fitted_or_refused(trial, rows):
    """A model, or in which words there is none."""
    try:
        return trial.refit(rows)
    except ValueError as error:
        assert AT_CHANCE in str(error), error
        return str(error)


def does_not_depend_on_the_order_of_rows(trial, rng):
    if not (moderate(trial) and no_split(trial)):
        return
    shuffled = trial.rows.at(rng.permutation(len(trial.rows)))
    assert_same(trial, trial.model, trial.refit(shuffled), exact=False)


def does_not_depend_on_names_of_groups(trial, rng):
    """Other names in the same order: not a bit may change. In another order: nothing but rounding."""
    model = trial.model
    if trial.options.get("groups", "crossed") != "crossed":  # of one column there is nothing to compare by itself
        return
    if not trial.passes_groups or trial.validation is not None or trial.options.get("threshold") == "per_group":
        return
    codes = np.array([position(model.groups_, group) for group in crossed(trial.rows.groups)])
    if (codes < 0).any():  # groups that have no weight
        return
    names = pick(rng, ["g{:03d}", "{:03d} & x", "\u00e4{:03d}"])
    renamed = replace(trial.rows, groups=np.array([names.format(code) for code in codes]))
    # The names are in the columns of history_, the numbers are not.
    assert_same(trial, model, trial.refit(renamed), history=False)
    if moderate(trial) and no_split(trial) and model.groups_.tolist() != ["all"]:
        other = rng.permutation(len(model.groups_))
        assert_same(trial, model, trial.refit(replace(trial.rows, groups=other[codes])), exact=False)


def position(groups, group):
    found = [k for k, name in enumerate(groups.tolist()) if type(name) is type(group) and name == group]
    found = found or [k for k, name in enumerate(groups.tolist()) if name == group]
    return found[0] if found else -1


def crossed(groups):
    """The group of each row, tuples if there are several columns."""
    frame = parityboost._table.grouping.sensitive_frame(groups)
    columns = [frame.iloc[:, j].astype(object).tolist() for j in range(frame.shape[1])]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def does_not_depend_on_the_index(trial, rng):
    X = trial.rows.X
    if not isinstance(X, pd.DataFrame):
        return
    shuffled = X.set_axis(rng.permutation(len(X)), axis=0)
    assert_same(trial, trial.model, trial.refit(replace(trial.rows, X=shuffled)))


# --- What a model can do ---------------------------------------------------------------------------------------------


def predicts_rows_alone(trial, rng):
    """One row at a time, other rows, values that never occurred, holes."""
    n_rows = int(trial.counts.sum())
    whole = margins(trial, trial.model)
    at = rng.integers(n_rows, size=min(n_rows, 5))
    np.testing.assert_array_equal(margins(trial, trial.model, at), whole[at])
    for i in at[:2]:
        np.testing.assert_array_equal(margins(trial, trial.model, np.array([i])), whole[[i]])
    X = asked(trial)["X"]
    if not isinstance(X, pd.DataFrame) or not X.columns.is_unique or trial.options.get("estimator") is not None:
        return
    X = X.copy()
    j = int(rng.integers(X.shape[1]))
    if not isinstance(X.iloc[0, j], (str, bool, int, float, np.number, np.bool_)):
        return
    column = X.iloc[:, j].astype(object)
    column.iloc[int(rng.integers(n_rows))] = None
    if isinstance(X.iloc[0, j], str) and chance(rng, 0.5):
        column.iloc[int(rng.integers(n_rows))] = "never seen"
    column = pd.Series(column.to_numpy(), index=column.index, dtype=object)
    X[X.columns[j]] = column
    before = asked(trial)["X"].iloc[:, j].astype(object)
    changed = [one is not other for one, other in zip(column, before, strict=True)]
    margin = trial.model.decision_function(**{**asked(trial), "X": X})
    assert np.isfinite(margin).all()
    same = ~np.array(changed)
    np.testing.assert_array_equal(margin[same], whole[same], "a row changed with the value of another")


def stages_end_in_the_model(trial, rng):
    if averages(trial):
        return
    stages = list(trial.model.staged_decision_function(**asked(trial)))
    assert len(stages) == trial.model.n_estimators_
    np.testing.assert_array_equal(stages[trial.model.theta_ - 1], margins(trial, trial.model))


def survives_copies(trial, rng):
    for other in (pickle.loads(pickle.dumps(trial.model)), deepcopy(trial.model)):
        assert_same(trial, trial.model, other)
    copied = deepcopy(trial.model)
    if trial.cls in FAIR:
        pd.testing.assert_frame_equal(trial.model.frontier(), copied.frontier())


def survives_a_file(trial, rng):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        try:
            trial.model.save(path)
        except parityboost.ModelFileError as error:
            words = (
                "cannot be stored",
                "only a model of native trees",
                "a notion of your own",
                "as UTF-8",
                "no other column has",
            )
            assert any(word in str(error) for word in words), f"refused to save: {error}"
            assert not path.exists()
            return
        loaded = parityboost.load(path)
        assert_same(trial, trial.model, loaded, history=False)
        assert type(loaded) is type(trial.model)
        again = Path(folder, "again.json")
        loaded.save(again)
        assert again.read_bytes() == path.read_bytes()


def stays_as_fitted(trial, rng):
    """Parameters that are set after fit are for the next fit."""
    model = deepcopy(trial.model)
    before = margins(trial, model)
    frontier = trial.model.frontier() if trial.cls in FAIR else None
    n_learners = None if averages(trial) else len(model.estimators_)
    changes = {
        "notion": "statistical_parity",
        "c": 0.123,
        "n_estimators": 1,
        "threshold": "per_group" if trial.options.get("threshold") != "per_group" else 0.0,
        "estimator": "a tree" if trial.options.get("estimator") is None else None,
        "max_bins": 2,
        "validation_fraction": None,
        "sensitive_feature": "nothing",
        "class_weight": "balanced",
        "update": "discrete",
        "categorical_features": ["nothing"],
    }
    model.set_params(**{name: value for name, value in changes.items() if name in model.get_params(deep=False)})
    np.testing.assert_array_equal(margins(trial, model), before)
    assert averages(trial) or len(model.estimators_) == n_learners
    if frontier is not None:
        pd.testing.assert_frame_equal(model.frontier(), frontier)


def explains_itself(trial, rng):
    model = trial.model
    if trial.options.get("estimator") is not None:
        return
    assert np.isfinite(model.feature_importances_).all()
    try:
        parts = explain.contributions(model, asked(trial)["X"])
    except ValueError as error:
        assert "thresholds per group are not a step function" in str(error), error
        return
    rounding = 1e-6 + 1e-9 * np.abs(model.threshold_).max()
    turned = -1.0 if model.positive_ == model.classes_.tolist()[0] else 1.0  # explanations speak for the positive label
    np.testing.assert_allclose(parts.sum(axis=1), turned * margins(trial, model), atol=rounding)
    shapes = explain.shape_functions(model)
    assert len(shapes) <= model.n_features_in_
    importances = explain.importances(model, trial.rows.X)
    assert len(importances) == model.n_features_in_ + len(explain.pair_functions(model))


def moves_along_its_frontier(trial, rng):
    if trial.cls not in FAIR:
        return
    model = deepcopy(trial.model)
    frontier = trial.model.frontier()
    assert len(frontier) >= 1 and np.isfinite(frontier["ber"]).all()
    c = trial.model.about_.settings.c
    error = c * frontier["ber"] + (1 - c) * frontier["er"]
    assert (np.diff(error) >= 0).all()
    # Only what fit chose may be beaten.
    assert (frontier["violation"] > frontier["violation"].cummin()).sum() <= 1
    row = frontier.iloc[int(rng.integers(len(frontier)))]
    if averages(trial):
        has_dial = model.glass_box_.dial is not None
        model = model.choose(fairness=row.fairness if has_dial else None, threshold=row.threshold)
    else:
        model.set_theta(row.theta).set_threshold(row.threshold)
    assert np.isfinite(margins(trial, model)).all()


def predicts_the_same_from_other_libraries(trial, rng):
    """A table of pyarrow or polars, with nulls, holds the same rows."""
    X = asked(trial)["X"]
    if not isinstance(X, pd.DataFrame) or not all(isinstance(name, str) for name in X.columns):
        return
    try:
        table = pyarrow.Table.from_pandas(X, preserve_index=False)
        other = pick(rng, [lambda: table, lambda: polars.from_arrow(table)])()
    except (pyarrow.ArrowException, polars.exceptions.PolarsError, UnicodeError, OverflowError, TypeError):
        return  # they have no such columns
    if not all(map(is_plain, table.schema.types)):
        return
    margin = trial.model.decision_function(**{**asked(trial), "X": other})
    np.testing.assert_array_equal(margin, margins(trial, trial.model), f"of {table.schema} as {type(other)}")


def is_plain(kind):
    """Whether a column of pyarrow's holds numbers, truth values or text."""
    kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    is_text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
    return is_text or (pyarrow.types.is_primitive(kind) and not pyarrow.types.is_temporal(kind))


def tells_large_groups_apart(trial, rng):
    """Whole numbers beyond 2⁵³, one of them missing: pyarrow's and polars' groups are those of a list."""
    if trial.cls not in FAIR or not trial.passes_groups or trial.validation is not None:
        return
    if trial.options.get("threshold") == "per_group" or not trial.rows.plain:
        return
    large = [2**53 + int(code) for code in trial.rows.codes]
    large[int(rng.integers(len(large)))] = None
    options = {"missing_group": "not known"}
    try:
        expected = trial.refit(replace(trial.rows, groups=large), **options)
    except ValueError:
        return  # too few rows of one of them
    for groups in (polars.Series("g", large), pyarrow.array(large), pd.Series(pd.array(large, dtype="Int64"))):
        found = trial.refit(replace(trial.rows, groups=groups), **options)
        assert [str(group) for group in found.groups_] == [str(group) for group in expected.groups_]
        assert_same(trial, found, expected, history=False)


def keeps_its_constraints(trial, rng):
    """A score that may only rise, or fall, with the first column does so at every position of the dial."""
    if trial.cls not in FAIR or trial.options.get("estimator") is not None:
        return
    if trial.options.get("threshold") == "per_group" and not trial.passes_groups:
        return  # the column may be the one whose groups have a threshold each
    sign = int(pick(rng, [1, -1]))
    options = {"monotonic_cst": {0: sign}, **({"dial": True} if averages(trial) else {})}
    try:
        model = trial.refit(**options)
    except ValueError:
        return  # a column of categories has no order
    if model.positive_ != model.classes_[1]:
        sign = -sign  # the order is that of the positive label, the score that of the larger one
    X = asked(trial)["X"]
    first = (X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, dtype=object)).iloc[:, 0]
    order = np.argsort(pd.to_numeric(first, errors="coerce").to_numpy(dtype=float, na_value=np.nan))
    order = order[first.notna().to_numpy()[order]]
    if len(order) < 2:
        return
    given = asked(trial, np.full(len(order), int(rng.integers(trial.counts.sum()))))
    X = given["X"] if isinstance(given["X"], (pd.DataFrame, np.ndarray)) else np.array(given["X"], dtype=object)
    if isinstance(X, pd.DataFrame):
        X = X.reset_index(drop=True)
        X.isetitem(0, first.iloc[order].reset_index(drop=True))
    else:
        X = X.copy()
        X[:, 0] = first.iloc[order]
    has_dial = averages(trial) and model.glass_box_.dial is not None
    for position in [None, 0.0, 0.5, 1.0, 1.5, 2.0] if has_dial else [None]:
        if position is not None:
            try:
                model = model.choose(fairness=position)
            except ValueError as error:
                assert position > 1 and "for monotonic_cst to hold" in str(error), error
                continue
        steps = sign * np.diff(model.decision_function(**{**given, "X": X}))
        assert (steps >= -1e-9).all(), f"{options} is not kept with fairness {position}"


def a_limit_that_is_kept_anyway_changes_nothing(trial, rng):
    """One that what would be chosen without it just reaches, if that is on the frontier, or one out of reach."""
    if trial.cls not in FAIR:
        return
    if averages(trial):
        wishes_are_kept(trial, rng)
        return
    free = trial.refit(max_violation=None)
    frontier = free.frontier()
    own = np.array([np.array_equal(threshold, free.threshold_) for threshold in frontier["threshold"]])
    for name in {"theta", "fairness"} & {*frontier}:
        own &= frontier[name] == getattr(free, f"{name}_")
    limits = [1e6, *(violation * (1 + 1e-6) + 1e-6 for violation in frontier["violation"][own])]
    limited = trial.refit(max_violation=limits[-1])
    assert_same(trial, free, limited, history=False)  # which says what other rounds would have chosen


def wishes_are_kept(trial, rng):
    """What is wished of an average is kept where it was chosen, by a model that was stored too."""
    notion = trial.model.about_.settings.notion
    asked_for = {"maximize": pick(rng, ["accuracy", "balanced_accuracy"]), "capacity": pick(rng, [None, 0.3])}
    if notion.gaps:
        asked_for |= {"limit": pick(rng, [0.02, 0.1, 0.5, 1.0]), "min_ratio": pick(rng, [None, 0.8])}
    loaded = deepcopy(trial.model)
    with tempfile.TemporaryDirectory() as folder, suppress(parityboost.ModelFileError):  # of survives_a_file
        trial.model.save(Path(folder) / "model.json")
        loaded = parityboost.load(Path(folder) / "model.json")
    try:
        found = trial.model.choose(**asked_for)
    except parityboost.LimitNotMet as error:
        assert error.possible or "nothing to compare" in str(error)
        return
    np.testing.assert_array_equal(margins(trial, found), margins(trial, loaded.choose(**asked_for)))
    counts, wishes = found.glass_box_.held_out_counts, found.glass_box_.wishes
    favourable = int(not found.about_.labels.favours_negative)

    def keeps_all(counts):
        measured = {**wishes.limits(counts, notion, favourable), **wishes.kept(counts, favourable)}
        return all(direction * value >= direction * bound - 1e-9 for value, bound, direction in measured.values())

    assert keeps_all(counts) or not notion.gaps
    others = trial.model.choose(**dict.fromkeys(WISHES)).glass_box_.held_out_counts  # the default
    assert not keeps_all(others) or wishes.error(counts) <= wishes.error(others) + 1e-9


def is_the_same_in_onnx(trial, rng):
    import onnxruntime

    if trial.options.get("estimator") is not None:
        return
    X = asked(trial)["X"]
    try:
        graph = trial.model.to_onnx().SerializeToString()
        inputs = parityboost.onnx_inputs(trial.model, X)
    except (ValueError, TypeError) as error:
        words = ("ONNX", "thresholds per group are not a step function", "column", "class", "label", "group")
        assert any(word in str(error) for word in words), f"refused to export: {error}"
        return
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads, options.inter_op_num_threads = 3, 1, 1
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    label, _, score = session.run(["label", "probabilities", "score"], inputs)
    np.testing.assert_array_equal(score, margins(trial, trial.model))
    predicted = trial.model.predict(**asked(trial))
    assert [str(a) for a in label.tolist()] == [str(b) for b in predicted.tolist()]


# And how often each is made.
CHECKS = {
    fits_again_alike: 0.1,
    does_not_depend_on_threads: 0.2,
    does_not_depend_on_the_device: 0.3,
    does_not_depend_on_the_unit_of_weight: 0.5,
    repeats_rows_by_weight: 0.3,
    does_not_depend_on_the_order_of_rows: 0.3,
    does_not_depend_on_names_of_groups: 0.2,
    does_not_depend_on_the_index: 0.1,
    predicts_rows_alone: 0.4,
    stages_end_in_the_model: 0.1,
    survives_copies: 0.2,
    survives_a_file: 0.2,
    stays_as_fitted: 0.2,
    explains_itself: 0.2,
    moves_along_its_frontier: 0.2,
    predicts_the_same_from_other_libraries: 0.2,
    tells_large_groups_apart: 0.1,
    keeps_its_constraints: 0.3,
    a_limit_that_is_kept_anyway_changes_nothing: 0.1,
    is_the_same_in_onnx: 0.1,
}
