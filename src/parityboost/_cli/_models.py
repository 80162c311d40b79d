"""``parityboost train``, ``predict``, ``audit`` and ``explain``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from .._engine.threads import MAX_THREADS
from .._io.portable import too_large
from .._table.sources import listed
from ..audit import Audit
from ..audit import audit as audit_predictions
from ..baselines import AdaBoostClassifier
from ..datasets._table import check_columns as check_named
from ..datasets._table import distinct_values, find_classes, read_file, to_bunch
from ..estimators import AdaFairClassifier
from ..notions import get_notion
from ._files import check_files
from ._tables import read_pieces, table_writer
from ._text import one_line, shortened

# What `audit --fail-above` looks at unless told.
NOTIONS = ("statistical_parity", "equal_opportunity", "predictive_equality", "disparate_mistreatment")

# The columns that `predict` adds.
ADDED = ("prediction", "probability")

LONGEST_ROW = 18  # digits of a row's number


def train(
    data: Path,
    target: str,
    positive: str,
    sensitive: list[str],
    parameters: dict[str, Any],
    model_path: Path,
    report: Path | None = None,
    drop: list[str] | None = None,
    exclude_sensitive: bool = False,
    holdout: float | None = None,
) -> str:
    """Train, save the model, write the report; return what to tell the user."""
    check_files({"the data": data}, {"--model": model_path, "--report": report})
    jobs = parameters["n_jobs"]
    if not 0 < abs(jobs) <= MAX_THREADS:
        raise ValueError(f"--jobs must be a number of threads up to {MAX_THREADS}, or -1 for one per core, got {jobs}")
    names: str | list[str] = sensitive[0] if len(sensitive) == 1 else sensitive
    dropped = [*(drop or []), *(sensitive if exclude_sensitive else [])]
    file = read_file(data)
    table = to_bunch(file, data, target=target, positive=positive, sensitive=names, drop=dropped)
    taken = [name for name in ADDED if name in table.data]
    if taken:
        raise ValueError(
            f"{data} has a column {taken[0]!r}, which predict adds: rename it, or leave it out with --drop"
        )
    X, y, s = table.data, table.target, table.sensitive
    n_groups = len(pd.DataFrame(s).drop_duplicates())
    notion, threshold = get_notion(parameters["notion"]), parameters["threshold"]
    problem = too_large(X.shape[1], n_groups, parameters["n_estimators"], notion, threshold)
    if problem is not None:
        raise ValueError(f"the model could not be saved: {problem}; use fewer --rounds, or --drop what is not needed")
    share = (0.3 if report else 0.0) if holdout is None else holdout
    X_new, y_new, s_new = X, y, s
    if share:
        cells = pd.DataFrame(s).astype(str).agg("\t".join, axis=1) + "\t" + y.astype(str)
        rare = cells.map(cells.value_counts()) < 2
        if rare.any():
            raise ValueError(
                f"row {int(rare.idxmax()) + 1} is the only one of its class and group, so it cannot be both in the "
                "training and in the held-out part; use --holdout 0"
            )
        seed = parameters.get("random_state")
        X, X_new, y, y_new, s, s_new = train_test_split(X, y, s, test_size=share, random_state=seed, stratify=cells)
    model = AdaFairClassifier(**parameters).fit(X, y, sensitive_features=s)
    # Trained on 0 and 1, so that the class called positive is the positive one whatever the labels are.
    model.classes_ = _labels(*find_classes(file[target], positive))
    model.save(model_path)
    lines = [f"{len(X):,} rows, {X.shape[1]} columns: θ = {model.theta_} of {model.n_estimators_} rounds."]
    if share:
        labels = model.classes_[y_new.to_numpy()]
        extra = {"sensitive_features": s_new} if needs_groups(model) else {}
        found = audit_predictions(
            labels, model.predict(X_new, **extra), sensitive_features=s_new, positive_label=model.classes_[1]
        )
        lines += [f"On {len(X_new):,} rows that were held out:", "", str(found), ""]
    lines.append(f"Model: {model_path}")
    if report:
        from ..report import write_report

        if not share:
            lines.append("The report is on the rows that the model was trained on: it flatters the model.")
        baseline = AdaBoostClassifier(model.n_estimators).fit(X, y)
        baseline.classes_ = model.classes_
        labels = pd.Series(model.classes_[y_new.to_numpy()], index=y_new.index)
        write_report(
            report,
            model,
            X_new,
            labels,
            sensitive_features=s_new,
            baseline=baseline,
            title=f"Fairness report: {data.name}",
        )
        lines.append(f"Report: {report}")
    return "\n".join(lines)


def _labels(negative: Any, positive: Any) -> Any:
    """The two classes with the type they have in the file: what predict writes is what was there."""
    plain = type(negative) is type(positive) and isinstance(negative, (bool, int, float))
    return np.array([negative, positive], dtype=None if plain else object)


def needs_groups(model: Any) -> bool:
    """Whether the model has a threshold per group and cannot read the group from X."""
    source = model._group_source
    return source is not None and not source.columns


def predict(model_path: Path, data: Path, out: Path, sensitive: list[str]) -> str:
    """Predict a file of any size; return what to tell the user."""
    from .. import load

    check_files({"the model": model_path, "the data": data}, {"--out": out})
    model = load(model_path)
    if len(set(sensitive)) < len(sensitive):
        raise ValueError(f"--sensitive must name different columns, got {', '.join(map(repr, sensitive))}")
    if needs_groups(model) and not sensitive:
        raise ValueError("the model has a threshold per group: name the group's column with --sensitive")
    n_rows = n_positive = 0
    with table_writer(out) as write:
        for piece, X, groups in read_pieces(data, model, sensitive):
            if not len(piece):
                continue
            extra = {"sensitive_features": groups} if needs_groups(model) else {}
            taken = [name for name in ADDED if name in piece]
            if taken:
                raise ValueError(f"{data} already has a column {taken[0]!r}; rename it")
            score = model.decision_function(X, **extra)
            positive = score > 0
            write(
                piece.assign(prediction=model.classes_[positive.astype(int)], probability=1 / (1 + np.exp(-2 * score)))
            )
            n_rows += len(piece)
            n_positive += int(positive.sum())
        if not n_rows:
            raise ValueError(f"{data} has no rows")
    told = f"{n_rows:,} rows, {n_positive / n_rows:.1%} predicted {model.classes_.tolist()[1]!r}: {out}"
    if sensitive and not needs_groups(model):
        told += "\n--sensitive made no difference: this model predicts without being told the group."
    return told


def audit(
    data: Path,
    target: str,
    prediction: str,
    sensitive: list[str],
    positive: str | None = None,
    scores: str | None = None,
    weights: str | None = None,
    confidence: float = 0.95,
) -> Audit:
    """Audit the predictions in a file."""
    table = read_file(data)
    named = {"scores": [scores] if scores else [], "weights": [weights] if weights else []}
    check_named(table, target=[target], prediction=[prediction], sensitive=sensitive, **named)
    for role, names in {"target": [target], "prediction": [prediction], "sensitive": sensitive}.items():
        for name in names:
            distinct_values(role, table[name])  # says so if they cannot be told apart
    return audit_predictions(
        table[target],
        table[prediction],
        sensitive_features=table[sensitive],
        scores=_numbers(table[scores], "--scores") if scores else None,
        sample_weight=_numbers(table[weights], "--weights") if weights else None,
        positive_label=positive,
        confidence=confidence,
    )


def _numbers(column: pd.Series[Any], option: str) -> pd.Series[Any]:
    """A column that has to hold a number in every row."""
    if not pd.api.types.is_numeric_dtype(column.dtype):
        column = pd.Series([_as_number(value) for value in column], column.index, dtype=object, name=column.name)
    numbers = pd.to_numeric(column, errors="coerce").astype("float64")
    bad = ~np.isfinite(numbers.to_numpy(na_value=np.nan))
    if bad.any():
        row = int(bad.argmax())
        got = shortened(str(column.iloc[row]))
        raise ValueError(f"{option}: column {column.name!r} must hold numbers, got {got} in row {row + 1}")
    return numbers


def _as_number(value: Any) -> Any:
    """A float if it can be one, else as text."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return str(value)


def write_audit(found: Audit, path: Path, data: Path) -> None:
    """The audit as a page, or as JSON."""
    from ..report import build_audit
    from ..report._render import write

    write(path, build_audit(found, title=f"Fairness audit: {data.name}"))


def exceeding(found: Audit, limit: float | None, measures: list[str] | None) -> list[str]:
    """A line for each measure whose interval lies above the limit, or that is not known to be below it."""
    known = list(dict.fromkeys(found.measures["measure"]))
    for name in measures or []:
        if name not in known:
            raise ValueError(f"unknown measure {name!r}; known are {', '.join(known)}")
    if limit is None:
        return []
    if not 0 <= limit < np.inf:
        raise ValueError(f"--fail-above must be a difference such as 0.1, got {limit:g}")
    watched = found.measures[found.measures["measure"].isin(measures or NOTIONS)]
    undefined = watched[watched["lower"].isna()]
    rows = watched[watched["lower"] > limit]
    return [
        f"{row['measure']} of {row['attribute']} is not defined, so it cannot be told whether it is above {limit:g}"
        for row in undefined.to_dict("records")
    ] + [
        f"{row['measure']} of {row['attribute']} is {row['value']:.3f} [{row['lower']:.3f}, {row['upper']:.3f}], "
        f"above {limit:g}"
        for row in rows.to_dict("records")
    ]


def explain(model_path: Path, row: str | None, data: Path | None, feature: str | None, top: int) -> str:
    """The model in words and numbers: importances, one shape function, or one row's contributions."""
    from .. import load
    from ..explain import contributions, importances, shape_function

    model = load(model_path)
    if row is not None:
        X = _read_row(model, row, data)
        parts = contributions(model, X).iloc[0]
        values = X.iloc[0]
        order = parts.drop("constant").abs().sort_values(ascending=False).index[:top]
        lines = [one_line(f"{name} = {values[name]}").ljust(44) + f"{parts[name]:+9.4f}" for name in order]
        score = float(parts.sum())
        others = parts.drop(["constant", *order])
        if len(others):
            lines.append(f"{len(others)} other features".ljust(44) + f"{others.sum():+9.4f}")
        lines += ["constant".ljust(44) + f"{parts['constant']:+9.4f}"]
        label = model.classes_[int(score > 0)]
        lines += ["─" * 53, "score".ljust(44) + f"{score:+9.4f}", f"prediction: {one_line(label)}"]
        return "\n".join(lines)
    if feature is not None:
        table = shape_function(model, feature).frame()
        table["value"] = table["value"].map(one_line)
        return f"{one_line(feature)}: what each value adds to the score\n\n{table.to_string()}"
    table = importances(model).rename(index=one_line)
    lines = [
        f"{type(model).__name__} for {model.notion!r}: θ = {model.theta_} of {model.n_estimators_} rounds, "
        f"positive class {model.classes_.tolist()[1]!r}.",
        "",
        table.head(top).round(4).to_string(),
        "",
        "See what a feature's values add with --feature NAME, and one row with --data FILE --row NUMBER.",
    ]
    return "\n".join(lines)


def _unusable(value: Any) -> str | None:
    """What is wrong with a value from JSON, None if nothing is."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and value.bit_length() > 1023:
        return f"a whole number of {value.bit_length()} bits, more than a float holds"
    if isinstance(value, str) and not value.isascii() and value != value.encode("utf8", "replace").decode():
        return f"{shortened(value)}, which is no Unicode"
    return None


def _read_row(model: Any, row: str, data: Path | None) -> pd.DataFrame:
    names = [column.name for column in model._ensemble.binner.columns]
    if data is None:
        try:
            values = json.loads(row)
        except (ValueError, RecursionError):  # brackets within brackets without end
            values = None
        if not isinstance(values, dict):
            raise ValueError(
                f"--row must be a number together with --data, or a JSON object of values, got {shortened(row)}"
            )
        unknown = sorted(set(values) - set(names))
        if unknown:
            raise ValueError(f"the model has no column {shortened(unknown[0])}; its columns are {listed(names)}")
        for name, value in values.items():
            if (problem := _unusable(value)) is not None:
                raise ValueError(f"--row: column {name!r} must be a number, text, true, false or null, got {problem}")
        return pd.DataFrame([{name: values.get(name) for name in names}])
    if not (row.isdecimal() and len(row) <= LONGEST_ROW and int(row) > 0):
        raise ValueError(f"--row must be the number of a row, from 1, got {shortened(row)}")
    start = 0
    for _, X, _ in read_pieces(data, model):
        if int(row) <= start + len(X):
            return X.iloc[[int(row) - 1 - start]]
        start += len(X)
    raise ValueError(f"{data} has {start} rows, no row {row}")
