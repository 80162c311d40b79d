"""The report as one plain dict: what is in it is on the page, and nothing else is."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from .._docs import documented
from .._io.json_values import to_plain
from .._table.grouping import IGNORE, read_groups, sensitive_columns, sensitive_frame
from .._table.reading import read_weights
from .._table.values import take_rows, to_pandas
from ..audit import Audit, audit
from ..estimators import AdaFairClassifier
from ..explain._reading import all_columns, certificate_of, check_model, dial_of, new_rows
from ..explore import explore_model
from . import _compare, _model, _warnings, _words
from ._card import describe_file, read_about


@documented()
def build(
    model: AdaFairClassifier,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any = None,
    baseline: Any = None,
    train: tuple[Any, Any] | None = None,
    sample_weight: Any = None,
    favourable: Any = None,
    title: str | None = None,
    about: Any = None,
    model_file: Any = None,
    person: int | None = None,
    limit: float | None = None,
    confidence: float = 0.95,
    min_group_size: int = 30,
    created: str | None = None,
) -> dict[str, Any]:
    """Everything a report on a fitted model says, as a dict of plain lists, numbers and text.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model; AdaBoostClassifier and SMOTEBoostClassifier are such too.
    X, y : DataFrame or array-like, array-like
        Data that the model was *not* trained on.
    sensitive_features : array-like, Series, dict or DataFrame, optional
        The group of each row. Several columns are shown each by itself and crossed. Not needed if the model's
        ``sensitive_feature`` names columns of X.
    baseline : fitted classifier, optional
        The one model to compare with, such as :class:`parityboost.AdaBoostClassifier`: beside it the report says
        whether anything was gained, and what was given up. By default the plain end of a model's dial, if it has one.
    train : tuple (X, y), optional
        The training data, to fit a plain model and compare with that: of the same learners and after the same
        objective, but for its fairness. Instead of ``baseline``.
    favourable : label, optional
        The label that is favourable to the person; by default what the model was fitted with. Ratios, which the
        four-fifths rule is about, are of this label; where it was not stated they are of both, and the report says so.
    about : dict or path, optional
        What only its owner knows about the model, as a dict or a TOML file: ``purpose``, ``owner``, ``positive`` (what
        the positive label means), ``intended_use``, ``out_of_scope``, ``sign_off``, ``next_audit`` and ``license``,
        each a text or a list of texts. Makes the report a model card.
    model_file : path, optional
        The file that the model was saved to: the report shows its checksum.
    person : int, optional
        Number of a row of X, from 1, whose score is explained step by step; ``--person`` on the command line.
    limit : float, optional
        The largest difference between groups that is allowed, 0.1 for ten percentage points, in the measure that the
        model was trained for: the report says whether it is kept.
    confidence : float, default=0.95
        Coverage of every interval by itself.
    min_group_size : int, default=30
        Rates that are shares of fewer rows are noted as too uncertain to judge.

    Returns
    -------
    dict
        Can be written as JSON; where a number is not defined it is None.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, report
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> X, y, group = adult.data[:2000], adult.target[:2000], adult.sensitive[:2000]
    >>> model = AdaFairClassifier(n_estimators=10, random_state=0)
    >>> model = model.fit(
    ...     adult.data[2000:], adult.target[2000:], sensitive_features=adult.sensitive[2000:]
    ... )
    >>> page = report.build(model, X, y, sensitive_features=group)
    >>> page["data"]["n"], len(page["rounds"]["rounds"])
    (2000, 10)
    """
    check_model(model)
    if baseline is not None and train is not None:
        raise ValueError("give baseline or train, not both: train is there to fit a baseline from")
    if baseline is not None and not callable(getattr(baseline, "predict", None)):
        raise TypeError(
            f"baseline must be a fitted classifier, one with a method predict, got {type(baseline).__name__}: "
            "predictions that are there already can be compared by an audit of each"
        )
    X, y = to_pandas(X), to_pandas(y)
    table = new_rows(model, X)
    frame = _sensitive(model, all_columns(model, X), sensitive_features)
    group, found = read_groups(frame, len(table))
    n, weights = len(table), read_weights(sample_weight, len(table))
    is_number = isinstance(person, (int, np.integer)) and not isinstance(person, bool)
    if person is not None and not (is_number and 1 <= person <= n):
        raise ValueError(f"person must be the number of a row, from 1 to {n}, got {person!r}")
    at = None if person is None else int(person) - 1
    if weights is not None and not weights.all():  # a row without weight is no row
        kept = np.flatnonzero(weights)
        if at is not None and at not in kept:
            raise ValueError(f"person must be a row with a weight above 0, got {person!r}")
        at = None if at is None else int(np.searchsorted(kept, at))
        X, y, table, frame = (take_rows(values, kept) for values in (X, y, table, frame))
        weights = weights[kept]
        if sensitive_features is not None:
            sensitive_features = frame
        group, found = read_groups(frame, len(table))
    ignores = model.about_.grouping.missing_group == IGNORE
    options: dict[str, Any] = {
        "sensitive_features": frame.mask(frame == IGNORE) if ignores else frame,
        "missing_group": IGNORE if ignores else None,
        "sample_weight": weights,
        "positive_label": model.positive_,
        "favourable": model.favourable_ if favourable is None else favourable,
        "confidence": confidence,
        "min_group_size": min_group_size,
    }
    # Only thresholds per group ask for the groups, where they are no columns of X.
    source = model.about_.source
    groups_too: dict[str, Any] = {}
    if source is not None and not source.columns:
        groups_too = {"sensitive_features": sensitive_features}
    predicted = model.predict(X, **groups_too)
    scores = model.predict_proba(X, **groups_too)
    audited = audit(y, predicted, scores=scores[:, int(not model.about_.labels.positive_is_first)], **options)
    positive = np.asarray(y) == model.positive_
    dial, other = dial_of(model), ""
    if train is not None:
        baseline, other = _compare.fit_plain(model, train), _compare.PLAIN
    elif baseline is not None:
        other = _compare.name_beside(baseline)
    elif dial is not None and model.fairness_ != 0.0:
        baseline, other = model.choose(fairness=0.0), _compare.PLAIN_END

    report = _from_audit(audited, title or f"Fairness report: {_model.name_of(model)}", created, limit)
    report["kind"] = "model"
    report["data"] |= {
        "target": None if getattr(y, "name", None) is None else str(y.name),
        "negative_label": to_plain(model.about_.labels.outcomes[0]),
        "n_features": model.n_features_in_,
    }
    report["card"] = {
        "about": read_about(about),
        "file": describe_file(model_file),
        "training_rows": getattr(model, "n_samples_fit_", None),
    }
    report["certificate"] = certificate_of(model) or None
    report["model"] = _model.describe(model, X, table, weights)
    if limit is not None:
        report["limit"]["measures"] = [_words.target_measure(report)]
    stages = None  # an average without a dial has neither rounds nor blends
    if hasattr(model, "staged_predict"):
        stages = model.staged_predict(X, **groups_too)
    elif dial is not None:
        stages = (model.choose(fairness=w).predict(X, **groups_too) for w in dial.weights)
    if stages is not None:
        report["rounds"] = _model.rounds(model, stages, positive, group, found, weights)
    if baseline is not None:
        others = baseline.predict(X, **(groups_too if other == _compare.PLAIN_END else {}))
        report["comparison"] = _compare.comparison(other, others, audited, y, predicted, options)
    report["alternatives"] = _model.alternatives(model, confidence)
    report["explorer"] = _explorer(model, X, y, _widest(frame, audited), {other: baseline}, groups_too, options)
    report["gaps"] = _compare.gaps(model, other, baseline, X, positive, frame, weights)
    report["proxies"] = _model.proxies(model, X, options["sensitive_features"], weights)
    report["person"] = _model.person(model, X, y, weights, at, audited.settings["favourable"])
    if person is not None:
        report["person"]["row"] = int(person)  # as counted in X
    return _summed_up(to_plain(report), _warnings.of_columns(model, X, positive, weights))


@documented()
def build_audit(
    audit: Audit,
    *,
    title: str | None = None,
    about: Any = None,
    limit: float | None = None,
    measures: Sequence[str] = tuple(_words.GOALS),
    created: str | None = None,
) -> dict[str, Any]:
    """The report on an audit of any model's predictions: the sections that need no model.

    Parameters
    ----------
    audit : Audit
        What :func:`parityboost.audit.audit` returns.
    about : dict or path, optional
        What only the owner of the model knows about it, as of :func:`build`.
    limit : float, optional
        The largest difference between groups that is allowed, 0.1 for ten percentage points.
    measures : list of str
        The measures that the limit is for; by default those of the four notions.

    Returns
    -------
    dict
        As of :func:`build`, with None for what needs a model.

    Examples
    --------
    >>> from parityboost import report
    >>> from parityboost.audit import audit
    >>> found = audit([0, 1] * 200, [0, 1, 0, 0] * 100, sensitive_features=list("aabb") * 100)
    >>> page = report.build_audit(found, title="Our model of 2024")
    >>> page["title"], page["model"]
    ('Our model of 2024', None)
    """
    report = _from_audit(audit, title or "Fairness audit", created, limit)
    unknown = [name for name in measures if name not in _words.GAP_IN]
    if unknown or not measures:
        raise ValueError(f"measures must be some of {', '.join(_words.GAP_IN)}, got {list(measures)!r}")
    if limit is not None:
        report["limit"]["measures"] = list(measures)
    report["card"]["about"] = read_about(about)
    return _summed_up(to_plain(report), [])


def _summed_up(report: dict[str, Any], found: list[dict[str, Any]]) -> dict[str, Any]:
    """The report with its words, which are made from its numbers."""
    data = report["data"]
    for side in ("positive", "negative", "favourable"):
        data[side] = _words.named(data[f"{side}_label"], data["target"])
    known = [*found, *_warnings.of_report(report)]
    report["warnings"] = [*known, *_warnings.from_training(report, known)]
    measure = _words.target_measure(report)
    told = {attribute: _words.sentences(report, attribute, measure) for attribute in _words.columns(report)}
    report["summary"] = {
        "degenerate": _words.degenerate(report),
        "no_gain": _words.no_gain(report),
        "people": told,
        "strip": _words.strip(report),
        "sentences": _words.about(report),
        "changes": _words.changes(report),
        "conclude": _words.conclude(report),
        "not_conclude": _words.not_conclude(report),
    }
    return report


def _from_audit(audited: Audit, title: str, created: str | None, limit: float | None) -> dict[str, Any]:
    if limit is not None and not (isinstance(limit, (int, float, np.number)) and 0 <= limit < np.inf):
        raise ValueError(f"limit must be a difference such as 0.1, got {limit!r}")
    tables = audited.to_dict()
    settings = tables["settings"]
    packages = ("parityboost", "numpy", "pandas", "scikit-learn")
    return {
        "kind": "audit",
        "title": title,
        "created": created or datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "versions": {"Python": platform.python_version()} | {name: version(name) for name in packages},
        "data": {
            "n": settings["n"],
            "weighted": settings["weighted"],
            "positive_label": settings["positive_label"],
            "negative_label": None,
            "favourable_label": settings["favourable"],
            "target": None,
            "attributes": list(dict.fromkeys(row["attribute"] for row in tables["groups"])),
        },
        "audit": tables,
        "limit": None if limit is None else {"value": float(limit), "measures": []},
        "card": {"about": None, "file": None, "training_rows": None},
        "certificate": None,
        "model": None,
        "rounds": None,
        "comparison": None,
        "gaps": [],
        "proxies": [],
        "person": None,
        "explorer": None if audited.explorer is None else audited.explorer.record,
        "alternatives": None,
    }


def _explorer(
    model: Any, X: Any, y: Any, frame: pd.DataFrame, other: dict[str, Any], groups_too: Any, options: Any
) -> dict[str, Any] | None:
    """The record of the explorer: the model beside the other one, if that has scores."""
    own = _model.name_of(model)
    others = {f"{name} (baseline)" if name == own else name: each for name, each in other.items()}
    others = {name: each for name, each in others.items() if name != _compare.PLAIN_END and _has_scores(each, model)}
    if len(pd.unique(pd.Series(np.asarray(y)))) < 2:
        return None
    kept = {key: options[key] for key in ("sample_weight", "favourable", "confidence", "min_group_size")}
    # The page shows the certificate by itself.
    return explore_model(model, X, y, others=others, groups=frame, certificate={}, **groups_too, **kept).record


def _widest(frame: pd.DataFrame, audited: Audit) -> pd.DataFrame:
    """The sensitive column whose groups are furthest apart in errors."""
    apart = audited.measures[audited.measures["measure"] == "disparate_mistreatment"]["value"]
    return frame.iloc[:, [int(np.argmax(np.nan_to_num(apart.to_numpy()[: frame.shape[1]])))]]


def _has_scores(other: Any, model: Any) -> bool:
    """Whether a model says more than yes and no, of the same labels."""
    scored = hasattr(other, "predict_proba") or hasattr(other, "decision_function")
    return scored and np.array_equal(np.asarray(other.classes_), np.asarray(model.classes_))


def _sensitive(model: AdaFairClassifier, table: Any, sensitive_features: Any) -> pd.DataFrame:
    """The sensitive columns, by the names that the page calls them."""
    about = model.about_
    if sensitive_features is not None:
        frame = about.grouping.apply(sensitive_frame(sensitive_features))
        return frame.rename(columns={"sensitive_features": "group"}) if frame.shape[1] == 1 else frame
    if about.sensitive_feature is not None:
        return about.grouping.apply(sensitive_columns(table, about.sensitive_feature))
    raise ValueError(
        "a report compares groups: pass sensitive_features, as to fit (the model names no column of X as its "
        "sensitive_feature)"
    )
