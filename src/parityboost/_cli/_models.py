"""``parityboost train``, ``predict`` and ``audit``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from .._engine.threads import MAX_THREADS
from .._io.json_values import to_plain
from .._io.limits import too_large
from .._io.model_json import to_bytes
from .._model.glass_box import FitWarning
from .._stats import rates as _rates
from .._table.grouping import AS_GIVEN, IGNORE, Grouping, viewed
from .._table.reading import Labels
from .._table.sources import check_finite
from ..adaboost import AdaBoostClassifier
from ..audit import Audit
from ..audit import audit as audit_predictions
from ..datasets._formats import AS_FOUND, TextFormat, read_file
from ..datasets._table import check_columns as check_named
from ..datasets._table import distinct_values, find_classes, match_label, to_bunch
from ..estimators import AdaFairClassifier
from ..metrics import group_counts
from ..notions import FairnessNotion, get_notion
from ..recommended import ParityBoostClassifier
from ._choices import check_wishes, choice_told
from ._files import as_files, check_files, check_model_file, is_standard, standard_output
from ._running import in_words_of_the_command_line, shortened, with_labels
from ._tables import read_pieces, table_writer

# What `audit --fail-above` looks at unless told.
NOTIONS = ("statistical_parity", "equal_opportunity", "predictive_equality", "disparate_mistreatment")

METHODS = ("parityboost", "adafair")
# The columns that `predict` adds.
ADDED = ("prediction", "probability")


class Roles(NamedTuple):
    """What the columns of the training data are for."""

    target: str
    positive: str
    sensitive: list[str]
    drop: list[str]
    exclude_sensitive: bool
    weights: str | None = None

    @property
    def left_out(self) -> list[str]:
        weights = [] if self.weights is None or self.weights in self.drop else [self.weights]
        return [*self.drop, *(self.sensitive if self.exclude_sensitive else []), *weights]

    def check_weights(self, table: Any) -> None:
        """Whether there is such a column, and it is nothing else."""
        if self.weights is None:
            return
        check_named(table, weights=[self.weights])
        if self.weights in (self.target, *self.sensitive):
            raise ValueError(f"--weights must name another column than --target and --sensitive, got {self.weights!r}")


class Page(NamedTuple):
    """What is asked of a report: where it goes, its heading, the file of its model card, the largest gap."""

    path: Path | None = None
    title: str | None = None
    about: Path | None = None
    fail_above: float | None = None

    def check(self, option: str) -> None:
        """Say what is wrong before any work is done."""
        from ..report._card import read_about

        if self.path is not None and self.path.suffix.lower() not in (".html", ".htm", ".md", ".json"):
            advice = "; a browser prints the page as PDF" if self.path.suffix.lower() == ".pdf" else ""
            raise ValueError(f"{option} must end in .html, .md or .json, got {str(self.path)!r}{advice}")
        read_about(self.about)
        if self.fail_above is not None and not 0 <= self.fail_above < np.inf:
            raise ValueError(f"--fail-above must be a difference such as 0.1, got {self.fail_above:g}")


def check_method(method: str, parameters: dict[str, Any]) -> None:
    """Say what cannot be trained before the data is read."""
    if method not in METHODS:
        raise ValueError(f"--method must be one of {', '.join(METHODS)}, got {method!r}")
    check_wishes(method, parameters)


def train(
    data: Path,
    roles: Roles,
    parameters: dict[str, Any],
    model_path: Path,
    page: Page,
    holdout: float | None,
    text_format: TextFormat,
) -> tuple[str, list[str]]:
    """Train, save the model, write the report; return what to tell the user, and which limits are not kept."""
    check_files({"the data": data, "--about": page.about}, {"--model": model_path, "--report": page.path})
    page.check("--report")
    if page.fail_above is not None and holdout == 0:
        raise ValueError("--fail-above needs rows that the model was not trained on: use another --holdout than 0")
    method, jobs = parameters.pop("method"), parameters["n_jobs"]
    check_method(method, parameters)
    if not 0 < abs(jobs) <= MAX_THREADS:
        raise ValueError(f"--jobs must be a number of threads up to {MAX_THREADS}, or -1 for one per core, got {jobs}")
    grouping = Grouping(parameters["bands"], parameters["missing_group"])
    target, positive, sensitive, *_ = roles
    with as_files(data=data) as files:
        file = read_file(files["data"], text_format)
    roles.check_weights(file)
    source = Path("standard input") if is_standard(data) else data
    names: Any = sensitive[0] if len(sensitive) == 1 else sensitive
    given: dict[str, Any] = {"target": target, "positive": positive, "sensitive": names, "drop": roles.left_out}
    table = to_bunch(file, source, **given, grouping=grouping)
    taken = [name for name in ADDED if name in table.data]
    if taken:
        raise ValueError(
            f"{source} has a column {taken[0]!r}, which predict adds: rename it, or leave it out with --drop"
        )
    X, y, s = table.data, table.target, table.sensitive
    check_finite(X)  # before anything is trained and saved: also the rows that will be held out
    raw = file[sensitive] if grouping != AS_GIVEN else s  # the model cuts and names by itself
    weights = None if roles.weights is None else read_weights(file[roles.weights])
    labels = FileLabels.of(file[target], positive, parameters.pop("favourable"))
    model = (ParityBoostClassifier if method == "parityboost" else AdaFairClassifier)(**parameters, **labels.parameters)
    notion = get_notion(model.notion)
    n_groups = len(pd.DataFrame(s).drop_duplicates())
    problem = too_large(X.shape[1], n_groups, model.n_estimators, notion, model.threshold)
    if problem is not None:
        raise ValueError(f"the model could not be saved: {problem}; use fewer --rounds, or --drop what is not needed")
    wanted = page.path is not None or page.fail_above is not None
    share = (0.3 if wanted else 0.0) if holdout is None else holdout
    X_new, y_new, s_new, raw_new, weights_new = X, y, s, raw, weights
    if share:
        cells = pd.DataFrame(s).astype(str).agg("\t".join, axis=1) + "\t" + y.astype(str)
        rare = cells.map(cells.value_counts()) < 2
        if rare.any():
            raise ValueError(
                f"row {int(rare.idxmax()) + 1} is the only one of its class and group, so it cannot be both in the "
                "training and in the held-out part; use --holdout 0"
            )
        rows, rows_new = train_test_split(
            np.arange(len(X)), test_size=share, random_state=parameters["random_state"], stratify=cells
        )
        parts = [
            [None if each is None else each.iloc[at] for at in (rows, rows_new)] for each in (X, y, s, raw, weights)
        ]
        (X, X_new), (y, y_new), (s, s_new), (raw, raw_new), (weights, weights_new) = parts
    known = labels.outcomes[y.to_numpy()] if labels.can_be_sorted else y
    if sys.stderr.isatty():
        model.verbose = 1
    with in_words_of_the_command_line(None if labels.can_be_sorted else labels.outcomes):
        model.fit(X, known, sensitive_features=raw, sample_weight=weights)
    model.verbose = 0  # of the model that is saved
    labels.name(model)
    if is_standard(model_path):
        standard_output().write(to_bytes(model))
    else:
        model.save(model_path)
    lines = [f"{len(X):,} rows, {X.shape[1]} columns: {size_of(model)}.", choice_told(model)]
    features = [name for name in sensitive if name in X]
    if features:
        which = features[0] if len(features) == 1 else f"each of {', '.join(features)}"
        lines.append(f"{which} is also a feature of the model; --exclude-sensitive leaves it out.")
    too_far: list[str] = []
    true = labels.outcomes[y_new.to_numpy()]
    if share or page.path:
        from ..report._compare import fit_plain

        baseline = AdaBoostClassifier(model.n_estimators, positive=labels.parameters["positive"])
        baseline.fit(X, known, sample_weight=weights)
        plain = fit_plain(model, (X, known), weights) if notion.gaps else None  # at the same objective
        for other in (baseline, plain):
            if other is not None:
                labels.name(other)
    if share:
        predicted = model.predict(X_new, **({"sensitive_features": raw_new} if needs_groups(model) else {}))
        options = {"sensitive_features": s_new, "positive_label": model.positive_, "favourable": model.favourable_}
        ignored: dict[str, Any] = {}
        if grouping.missing_group == IGNORE:
            names = pd.DataFrame(s_new)
            ignored = {"sensitive_features": names.mask(names == IGNORE), "missing_group": IGNORE}
        found = audit_predictions(true, predicted, sample_weight=weights_new, **(options | ignored))
        lines += [f"On {len(X_new):,} rows that were held out:", "", str(found), ""]
        too_far = exceeding(found.measures, page.fail_above, [measure_of(notion.name)])
        others = [other.predict(X_new) for other in (baseline, plain) if other is not None]
        of_groups = {"sensitive_features": s_new, "sample_weight": weights_new}
        counted = [  # of truth values, since labels that are text and a number cannot be sorted
            group_counts(y_new.to_numpy() == 1, labelled == model.positive_, **of_groups)
            for labelled in (predicted, *others)
        ]
        counts, seen = [found for found, _ in counted], viewed(model.about_.settings.notion, counted[0][1])
        lines += [*_beside(counts, seen, type(model).__name__.removesuffix("Classifier")), ""]
        if plain is not None:
            _warn_of_no_gain(others[-1], found, true, predicted, options | of_groups, notion)
    lines.append(f"Model: {'standard output' if is_standard(model_path) else model_path}")
    if method == "parityboost" and not is_standard(model_path):
        lines.append(f"What else it could be: parityboost alternatives {model_path}")
    if page.path is not None:
        from ..report import write_report

        if not share:
            lines.append("The report is on the rows that the model was trained on: it flatters the model.")
        write_report(
            page.path,
            model,
            X_new,
            pd.Series(true, index=y_new.index, name=target),
            sensitive_features=raw_new,
            sample_weight=weights_new,
            baseline=baseline if plain is None else plain,
            title=page.title or f"Fairness report: {source.name}",
            about=page.about,
            model_file=None if is_standard(model_path) else model_path,
            limit=page.fail_above,
        )
        lines.append(f"Report: {page.path}")
    return "\n".join(lines), too_far


def size_of(model: AdaFairClassifier) -> str:
    if isinstance(model, ParityBoostClassifier):
        return f"the mean of {len(model.thetas_)} trainings, {model.theta_} trees in all"
    return f"θ = {model.theta_} of {model.n_estimators_} rounds"


def measure_of(notion: str) -> str:
    """The measure of an audit that a notion is about, as in a report."""
    return notion if notion in NOTIONS else "disparate_mistreatment"


def _beside(counts: list[Any], notion: FairnessNotion, name: str) -> list[str]:
    """The plain models beside ours, in the few numbers that matter."""
    rows = {
        "accuracy": [1 - _rates.error_rate(count) for count in counts],
        "balanced accuracy": [1 - _rates.balanced_error_rate(count) for count in counts],
    }
    if notion.gaps:
        rows[f"{notion.name.replace('_', ' ')} (difference)"] = [notion.violation(count) for count in counts]
    width = max(map(len, rows))
    lines = ["Beside plain boosting of as many rounds, on the same rows; AdaBoost is after accuracy alone:"]
    names = [name, "AdaBoost", "same objective"][: len(counts)]
    lines.append(" " * width + "".join(f"{name:>{len(name) + 2}}" for name in names))
    for row, values in rows.items():
        cells = (f"{float(value):>{len(name) + 2}.3f}" for name, value in zip(names, values, strict=True))
        lines.append(row.ljust(width) + "".join(cells))
    return lines


def _warn_of_no_gain(
    others: Any, found: Audit, true: Any, predicted: Any, options: dict[str, Any], notion: FairnessNotion
) -> None:
    """Warn of a model that is no fairer than the plain one."""
    from ..report import _compare, _words

    options = {**options, "confidence": found.settings["confidence"]}
    compared = to_plain(_compare.comparison(_compare.PLAIN, others, found, true, predicted, options))
    told = _words.nothing_gained(compared, notion.name) if notion.name in NOTIONS else []
    if told:
        warnings.warn(" ".join(told), FitWarning, stacklevel=3)


class FileLabels(NamedTuple):
    """The labels of a file, with the type that they have there: what predict writes is what was there."""

    outcomes: Any  # the negative and the positive one
    favourable: Any
    can_be_sorted: bool  # text and a number cannot: one trains on 0 and 1 then

    @classmethod
    def of(cls, column: pd.Series[Any], positive: Any, favourable: Any) -> FileLabels:
        found = find_classes(column, positive)
        good = None if favourable is None else match_label("favourable", favourable, column.name, list(found))
        alike = type(found[0]) is type(found[1])
        plain = alike and isinstance(found[0], (bool, int, float))
        return cls(np.array(found, dtype=None if plain else object), good, alike)

    @property
    def parameters(self) -> dict[str, Any]:
        if not self.can_be_sorted:
            names = list(map(repr, self.outcomes.tolist()))
            return {
                "positive": 1,
                "favourable": None if self.favourable is None else names.index(repr(self.favourable)),
            }
        return {"positive": self.outcomes.tolist()[1], "favourable": self.favourable}

    def name(self, model: AdaFairClassifier) -> None:
        """Let a model that was fitted to 0 and 1 speak of the labels of the file."""
        if not self.can_be_sorted:
            labels = Labels(self.outcomes, self.outcomes.tolist()[1], self.favourable)
            model.positive, model.favourable = labels.positive, labels.favourable
            model.relabel(labels, [with_labels(message, self.outcomes) for message in model.warnings_])


def needs_groups(model: Any) -> bool:
    """Whether the model has a threshold per group and cannot read the group from X."""
    source = model.about_.source
    return source is not None and not source.columns


def check_told_groups(model: Any, sensitive: list[str]) -> None:
    if needs_groups(model) and not sensitive:
        raise ValueError("the model has a threshold per group: name the group's column with --sensitive")


def predictions(model: Any, X: pd.DataFrame, groups: pd.DataFrame, with_score: bool = False) -> dict[str, Any]:
    """The columns that `predict` adds; ``prediction`` is 1 for the positive label."""
    if not len(X):
        scores = {"score": np.empty(0)} if with_score else {}
        return {"prediction": np.empty(0, dtype=int), "probability": np.empty(0)} | scores
    told, labels = {"sensitive_features": groups} if needs_groups(model) else {}, model.about_.labels
    score = labels.signed(model.decision_function(X, **told))  # above 0 for the positive label
    probability = model.predict_proba(X, **told)[:, 0 if labels.positive_is_first else 1]
    return {"prediction": (score > 0).astype(int), "probability": probability} | (
        {"score": score} if with_score else {}
    )


class Why(NamedTuple):
    """What is asked of reasons: how many, which label is favourable, which features may not be named."""

    n: int | None = None
    favourable: str | None = None
    unnamed: Sequence[str] = ()


def predict(
    model_path: Path,
    data: Path,
    out: Path,
    sensitive: list[str],
    text_format: TextFormat = AS_FOUND,
    why: Why = Why(),  # noqa: B008 (it never changes)
    with_score: bool = False,
) -> str:
    """Predict a file of any size; return what to tell the user."""
    from .. import load
    from ..explain._reasons import reason_columns, reason_rule

    check_files({"the model": model_path, "the data": data}, {"--out": out})
    check_model_file("predict", model_path, f"parityboost predict model.json {model_path} --out {out}")
    if len(set(sensitive)) < len(sensitive):
        raise ValueError(f"--sensitive must name different columns, got {', '.join(map(repr, sensitive))}")
    n_rows = n_positive = 0
    with as_files(model=model_path, data=data) as files:
        model = load(files["model"])
        check_told_groups(model, sensitive)
        labels, rule, names, told_reasons = (
            model.about_.labels.outcomes,
            None,
            [*ADDED, *(["score"] if with_score else [])],
            "",
        )
        if why.n is not None:
            good = why.favourable
            if good is not None:
                good = match_label("favourable", good, "the model's labels", labels.tolist())
            rule, good, stated = reason_rule(model, None, why.n, favourable=good, unnamed=why.unnamed)
            names += [f"reason_{k + 1}" for k in range(rule.n)]
            told_reasons = f"\nReasons are of rows that do not get {good!r}, against the best of each feature."
            if not stated:
                told_reasons += f"\n{good!r} is the positive label: say with --favourable which one is favourable."
        elif why.favourable is not None or why.unnamed:
            raise ValueError("--favourable and --unnamed are about --reasons, which says how many")
        with table_writer(out, text_format, files["data"]) as write:
            for piece, X, groups in read_pieces(files["data"], model, sensitive, text_format):
                if not len(piece):
                    continue
                taken = [name for name in names if name in piece]
                if taken:
                    raise ValueError(f"{files['data']} already has a column {taken[0]!r}; rename it")
                added = predictions(model, X, groups, with_score)
                n_rows += len(piece)
                n_positive += int(added["prediction"].sum())
                why_not = {} if rule is None else reason_columns(model, X, rule)
                write(piece.assign(**(added | {"prediction": labels[added["prediction"]]} | why_not)))
            if not n_rows:
                raise ValueError(f"{files['data']} has no rows")
    where = "standard output" if is_standard(out) else out
    told = f"{n_rows:,} rows, {n_positive / n_rows:.1%} predicted {model.positive_!r}: {where}"
    if sensitive and not needs_groups(model):
        told += "\n--sensitive made no difference: this model predicts without being told the group."
    return told + told_reasons


def audit(
    data: Path,
    target: str,
    prediction: str,
    sensitive: list[str],
    control: list[str],
    named: dict[str, str | None],
    stated: dict[str, Any],
    grouping: Grouping,
    page: Page,
    measures: list[str] | None,
    explorer: Path | None,
    text_format: TextFormat,
) -> tuple[list[str], list[str]]:
    """Audit the predictions in a file; return what to tell the user, and which limits are not kept.

    ``named`` are the columns of scores and weights, if there are any.
    """
    check_files({"the data": data, "--about": page.about}, {"--report": page.path, "--explorer": explorer})
    page.check("--report")
    if named["scores"] is None and explorer is not None:
        raise ValueError("--explorer needs --scores: what the page moves along are cut-offs of a score")
    with as_files(data=data) as files:
        table = read_file(files["data"], text_format)
    roles = {"target": [target], "prediction": [prediction], "sensitive": sensitive, "control": control}
    check_named(table, **roles, **{role: [name] if name else [] for role, name in named.items()})
    if len(table) == 0:
        raise ValueError(f"{data} has no rows, so there is nothing to audit")
    for role, names in roles.items():
        for name in names:
            distinct_values(role, table[name])  # says so if they cannot be told apart
    numbers = {role: read_numbers(table[name], f"--{role}") if name else None for role, name in named.items()}
    if control:
        stated["control_features"] = table[control]
    is_ignored = grouping.missing_group == IGNORE
    stated["missing_group"] = IGNORE if is_ignored else None
    groups = (Grouping(grouping.bands) if is_ignored else grouping).apply(table[sensitive])
    stated |= {"sensitive_features": groups, "scores": numbers["scores"], "sample_weight": numbers["weights"]}
    found = audit_predictions(table[target], table[prediction], **stated)
    told, too_far = [str(found)], exceeding(found.measures, page.fail_above, measures)
    if page.path is not None:
        from ..report import build_audit
        from ..report._render import write

        title = page.title or f"Fairness audit: {'standard input' if is_standard(data) else data.name}"
        limits: dict[str, Any] = {"limit": page.fail_above, "measures": measures or NOTIONS}
        write(page.path, build_audit(found, title=title, about=page.about, **limits))
        told.append(f"Report: {page.path}")
    if explorer is not None:
        if found.explorer is None:
            raise ValueError("--explorer needs rows of both labels")
        found.explorer.save(explorer)
        told.append(f"Explorer: {explorer}")
    return told, too_far


def read_weights(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of weights: numbers of at least 0."""
    weights = read_numbers(column, "--weights")
    if (weights < 0).any():
        row = int((weights < 0).to_numpy().argmax())
        got = weights.iloc[row]
        raise ValueError(f"--weights: column {column.name!r} must hold no number below 0, got {got:g} in row {row + 1}")
    return weights


def read_numbers(column: pd.Series[Any], option: str) -> pd.Series[Any]:
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
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return str(value)


def exceeding(found: pd.DataFrame, limit: float | None, measures: list[str] | None) -> list[str]:
    """A line for each of an audit's measures whose interval lies above the limit, or that cannot be judged."""
    known = list(dict.fromkeys(found["measure"]))
    for name in measures or []:
        if name not in known:
            raise ValueError(f"unknown measure {name!r}; known are {', '.join(known)}")
    if limit is None:
        return []
    watched = found[found["measure"].isin(measures or NOTIONS)]
    lines = []
    for row in watched.to_dict("records"):
        what = f"{row['measure']} of {row['attribute']} is"
        if np.isnan(row["lower"]):
            lines.append(f"{what} not defined, so it cannot be told whether it is above {limit:g}")
        elif row["lower"] > limit:
            lines.append(f"{what} {row['value']:.3f} [{row['lower']:.3f}, {row['upper']:.3f}], above {limit:g}")
    return lines
