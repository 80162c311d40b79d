"""The trade-off explorer: one small page that shows whom a model finds at every cut-off, group by group.

What belongs here: counting (``_counts``: scores to one record) and the page that shows the record (``_page`` and the
template, style and script beside it). The page needs no network, no server and none of the extras.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._arrays import Floats, on_fine_grid, to_host
from .._base import FairClassifier
from .._io.atomic import write_atomically
from .._notebook import bars
from .._table.grouping import group_names, read_groups, sensitive_columns, sensitive_frame, shown
from .._table.reading import Labels, read_target, read_weights
from .._table.values import check_length, short, to_pandas
from ..explain._reading import (
    all_columns,
    certificate_of,
    check_model,
    chosen_on,
    dial_of,
    new_rows,
    scores_of,
)
from ._counts import Alternative, People, Record, Scored, record
from ._page import page, table, text_table

__all__ = ["Explorer", "explore"]

MAX_GROUPS, MAX_MODELS = 100, 8
# What a notion makes equal, by the rates in it: said of yeses if the positive label is the favourable one, and if not.
GOALS: dict[tuple[str, ...], tuple[str, str]] = {
    ("sp",): ("yes", "yes"),
    ("fnr",): ("found", "wrong"),
    ("fpr",): ("wrong", "found"),
    ("fnr", "fpr"): ("both", "both"),
}


class Explorer:
    """Whom models find at every cut-off. In a notebook it shows its page, printed it shows a short table.

    Attributes
    ----------
    record : dict
        Everything that the page shows, as plain lists, numbers and text. ``stops`` are how many of 100 people get a
        yes. For each of them a model has its cut-off, how many of each group it finds and to how many it says yes
        wrongly, and the limits of the largest gaps, in tenths of a person of a hundred.

    Examples
    --------
    >>> from parityboost.explore import explore
    >>> y, scores, team = (
    ...     [0, 1] * 200,
    ...     [0.1, 0.9, 0.4, 0.3] * 100,
    ...     ["red", "red", "blue", "blue"] * 100,
    ... )
    >>> print(explore(y, {"ours": scores}, sensitive_features=team, cutoffs={"ours": 0.5}))
    With 25 yeses per 100 people, how many are found of 100 who truly are “1”:
                  blue           red         right
    ours             0           100          75.0
    save(path) writes the page to move along the trade-off.
    """

    def __init__(self, record: Record):
        self.record = record

    def table(self, yeses: float | None = None) -> pd.DataFrame:
        """What each model gives to each group, in people of 100.

        Parameters
        ----------
        yeses : float, optional
            How many of 100 people get a yes; the nearest number that the page has. By default what the page starts
            with: the choice of the last model that has one.

        Returns
        -------
        DataFrame
            One row per model and group: ``found`` (of those whom a yes is right for, how many get it), ``wrong`` (of
            the others, how many get a yes), ``yes`` (of all), the limits of the rates' largest gaps, ``right`` (answers
            that are right, of all groups), and the ``cutoff``.

        Examples
        --------
        >>> from parityboost.explore import explore
        >>> y, scores, team = (
        ...     [0, 1] * 200,
        ...     [0.1, 0.9, 0.4, 0.3] * 100,
        ...     ["red", "red", "blue", "blue"] * 100,
        ... )
        >>> table = explore(y, {"ours": scores}, sensitive_features=team).table(yeses=50)
        >>> table[["found", "wrong", "right"]].round(1)
                    found  wrong  right
        model group
        ours  blue    0.0  100.0   50.0
              red   100.0    0.0   50.0
        """
        return table(self.record, yeses)

    def save(self, path: Any) -> Path:
        """Write the page to a file: one HTML file that works offline and that can be sent to anyone.

        Parameters
        ----------
        path : str or path
            The file; one that exists is replaced.

        Returns
        -------
        Path
            The file.
        """
        write_atomically(target := Path(path), page(self.record))
        return target

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that neither its style nor its names touch the notebook."""
        look = "width:100%;height:46rem;border:0"
        return f'<iframe title="Trade-off explorer" style="{look}" srcdoc="{escape(page(self.record))}"></iframe>'

    def __str__(self) -> str:
        return text_table(self.record)

    __repr__ = __str__


def explore(
    y: Any,
    scores: Mapping[str, Any],
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    positive_label: Any = None,
    favourable: Any = None,
    cutoffs: Mapping[str, float] | None = None,
    who: str | None = None,
    title: str | None = None,
    alternatives: Sequence[Mapping[str, Any]] = (),
    certificate: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    min_group_size: int = 30,
) -> Explorer:
    """The explorer of the scores of any models.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True labels of two classes.
    scores : mapping from name to array-like of shape (n_samples,)
        What each model says about the same rows: probabilities, margins or points, higher for the positive label. The
        first model is the one that the others are compared with.
    sensitive_features : array-like, Series, dict or DataFrame
        The group of each row; several columns are crossed.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights. Intervals are those of Kish's effective number of rows.
    positive_label : label, optional
        The label that high scores are for. By default the larger of the two.
    favourable : label, optional
        The label that is favourable to the person: who gets it gets a "yes". By default the positive label, and the
        page says that it was not stated.
    cutoffs : mapping from name to number, optional
        The cut-off that a model has by itself: scores above it are positive. The page has a mark there.
    who : str, optional
        Whom a yes is right for, to be read after "of 100 people": "who earn over 50K".
    title : str, optional
        Heading of the page.
    alternatives : list of dict, optional
        Points that could be chosen instead, which the page offers: ``label``, ``cutoff``, and the name of the ``model``
        (by default the last one).
    certificate : dict, optional
        What was promised and tested, shown as names and values.
    confidence : float, default=0.95
        Coverage of every interval by itself.
    min_group_size : int, default=30
        Rates that are shares of fewer people are grey and count in no gap.

    Returns
    -------
    Explorer

    Notes
    -----
    Of all cut-offs, that is used which gives a yes to nearly the wanted number of people. Where many people share a
    score it may be some people more or fewer, and the page says so.

    A gap is the largest difference between two groups. Its interval is Newcombe's, as in an audit; for more than two
    groups its lower limit is Tukey and Kramer's.

    Examples
    --------
    >>> from parityboost.explore import explore
    >>> y, scores, team = (
    ...     [0, 1] * 200,
    ...     [0.1, 0.9, 0.4, 0.3] * 100,
    ...     ["red", "red", "blue", "blue"] * 100,
    ... )
    >>> explorer = explore(y, {"ours": scores}, sensitive_features=team, who="who pay back")
    >>> explorer.save("explorer.html")  # doctest: +SKIP
    """
    if not isinstance(scores, Mapping) or not scores:
        raise TypeError(f"scores must map the name of each model to its scores, got {short(scores)}")
    y = to_pandas(y)
    codes, classes = read_target(y, len(y))
    labels = Labels.of(classes, positive_label, favourable)
    cutoffs = dict(cutoffs or {})
    unknown = [name for name in cutoffs if name not in scores]
    if unknown:
        raise ValueError(f"cutoffs has the model {unknown[0]!r}, which scores has not")
    above = _above(labels)
    models = [
        _of_scores(name, values, len(y), cutoffs.get(name), f"scores[{name!r}]", above)
        for name, values in scores.items()
    ]
    frame = sensitive_frame(sensitive_features)
    said = _said(title, who, y, labels, certificate)
    codes = 1 - codes if labels.positive_is_first else codes
    return _explorer(codes, labels, frame, sample_weight, models, alternatives, confidence, min_group_size, said)


def cut_of(scores: Floats, predicted: Any) -> float | None:
    """The cut-off that gives these predictions, which are truth values; None if there is none."""
    low, high = scores[~predicted].max(initial=-np.inf), scores[predicted].min(initial=np.inf)
    if not low < high:
        return None
    return 0.5 if low <= 0.5 < high else float(low if np.isfinite(low) else high - max(1.0, abs(high)))


def explore_model(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any = None,
    others: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    favourable: Any = None,
    who: str | None = None,
    title: str | None = None,
    alternatives: Sequence[Mapping[str, Any]] = (),
    certificate: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    min_group_size: int = 30,
    groups: pd.DataFrame | None = None,
) -> Explorer:
    """The explorer of a fitted model: what its method ``explore`` returns.

    ``groups`` are those to show, as the model names them, if they are not simply the sensitive features.
    """
    check_model(model)
    table, labels = new_rows(model, X), model.about_.labels
    y = to_pandas(y)
    codes = _codes(y, len(table), labels)
    if favourable is not None:
        labels = Labels.of(labels.classes, labels.positive, favourable)
    above, name = _above(labels), type(model).__name__.removesuffix("Classifier")
    models = []
    for other, given in (others or {}).items():
        if other == name:
            raise ValueError(f"others has the name {name!r}, which is that of the model itself: use another one")
        models.append(_other(str(other), given, X, len(table), labels, sensitive_features, above))
    if not others and dial_of(model) is not None and model.fairness_ != 0:
        plain = model.choose(fairness=0.0)
        models.append(_of_ours("the plain version", plain, X, "model", sensitive_features, above)._replace(goal=""))
    models.append(_of_ours(name, model, X, "model", sensitive_features, above))
    if groups is None:
        if sensitive_features is None:
            named = model.about_.sensitive_feature
            if named is None:
                raise ValueError(
                    "the explorer shows groups: pass sensitive_features, as to fit (the model names no column of X as "
                    "its sensitive_feature)"
                )
            sensitive_features = sensitive_columns(all_columns(model, X), named)
        groups = model.about_.grouping.apply(sensitive_frame(sensitive_features))
    said = _said(title, who, y, labels, certificate_of(model) if certificate is None else certificate)
    return _explorer(codes, labels, groups, sample_weight, models, alternatives, confidence, min_group_size, said)


def show(model: Any) -> str:
    """A fitted model in a notebook: the explorer of the rows that it was chosen on, and the features that it uses."""
    parts = []
    found = chosen_on(model)
    labels, groups = model.about_.labels, model.about_.groups
    if found is not None and np.ndim(model.threshold_) == 0 and len(groups) > 1:
        selection, margins = found
        above, n_groups, weight = _above(labels), selection.n_groups, selection.weight
        positive, group = selection.cell >= n_groups, (selection.cell % n_groups).astype(np.intp)
        people = People(positive == above, group, group_names(groups), weight if len(weight) else None)
        name = type(model).__name__.removesuffix("Classifier")
        scored = _scored(name, model, margins, float(model.threshold_), "model", above)
        title = f"{name}, on the rows that it was chosen on: measure it on others with model.explore(X, y)"
        said = _said(title, None, None, labels, None)
        if 0 < positive.sum() < len(positive) and len(groups) <= MAX_GROUPS:
            parts.append(Explorer(record(people, [scored], [], above, 0.95, 30, **said))._repr_html_())
    try:
        importances = model.feature_importances_
    except AttributeError:  # of base learners that have none
        return "".join([*parts, f"<pre>{escape(repr(model))}</pre>"])
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(importances))])
    rows = sorted(zip(names, importances.tolist(), strict=True), key=lambda row: -row[1])
    parts.append(bars("Shares of the features", [row for row in rows if row[1] > 0]))
    return "".join([*parts, f"<pre>{escape(repr(model))}</pre>"])


def _explorer(
    codes: Any,
    labels: Labels,
    frame: pd.DataFrame,
    sample_weight: Any,
    models: list[Scored],
    alternatives: Sequence[Mapping[str, Any]],
    confidence: float,
    least: int,
    said: Record,
) -> Explorer:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, such as 0.95, got {confidence!r}")
    if isinstance(least, bool) or not isinstance(least, (int, np.integer)) or least < 0:
        raise ValueError(f"min_group_size must be a whole number of at least 0, got {least!r}")
    names = [model.name for model in models]
    if len(set(names)) < len(names):
        raise ValueError(f"the models must have different names, got {', '.join(map(repr, names))}")
    if len(models) > MAX_MODELS:
        raise ValueError(f"one page shows up to {MAX_MODELS} models, got {len(models)}")
    n_rows = len(codes)
    check_length("sensitive_features", len(frame), n_rows)
    weights = read_weights(sample_weight, n_rows)
    if weights is not None and not weights.all():  # a row without weight is no row
        kept = np.flatnonzero(weights)
        codes, weights, frame = codes[kept], weights[kept], frame.iloc[kept]
        models = [model._replace(scores=model.scores[kept]) for model in models]
    group, found = read_groups(frame, len(codes))
    if len(found) > MAX_GROUPS:
        raise ValueError(f"one page shows up to {MAX_GROUPS} groups, got {len(found)}: cut numbers into bands, say")
    above = _above(labels)
    people = People((codes == 1) == above, group, group_names(found), weights)
    points = _alternatives(alternatives, names)
    return Explorer(record(people, models, points, above, float(confidence), int(least), **said))


def _codes(y: Any, n_rows: int, labels: Labels) -> Any:
    """1 for the positive label and 0 for the negative one; labels that are text and a number have no order."""
    values = pd.Series(list(y) if isinstance(y, tuple) else y).reset_index(drop=True)
    check_length("y", len(values), n_rows)
    negative, positive = ((values == label).fillna(False).to_numpy(bool) for label in labels.outcomes.tolist())
    unknown = np.flatnonzero(~(negative | positive))
    if len(unknown):
        row = int(unknown[0])
        known = " and ".join(map(short, labels.outcomes.tolist()))
        raise ValueError(
            f"y must hold the labels of the model, {known}, got {short(values.tolist()[row])} in row {row}"
        )
    return positive.astype(np.int8)


def _above(labels: Labels) -> bool:
    """Whether high scores get a yes: a yes is the favourable label, by default the positive one."""
    return labels.favourable is None or bool(np.all(labels.favourable == labels.positive))


def _said(title: str | None, who: str | None, y: Any, labels: Labels, certificate: Any) -> Record:
    label = shown(labels.positive if labels.favourable is None else labels.favourable)
    target = getattr(y, "name", None)
    given = f"who truly are “{label}”" if target is None else f"whose {shown(target)} is {label}"
    return {
        "title": "Who gets a yes?" if title is None else str(title),
        "who": given if who is None else str(who),
        "yes": label,
        "stated": labels.favourable is not None,
        "certificate": {str(name): shown(value) for name, value in (certificate or {}).items()},
    }


def _alternatives(given: Sequence[Mapping[str, Any]], names: list[str]) -> list[Alternative]:
    points = []
    for point in given:
        name = point.get("model", names[-1])
        if name not in names:
            raise ValueError(f"alternatives names the model {name!r}; the models are {', '.join(map(repr, names))}")
        if not {"label", "cutoff"} <= set(point):
            raise ValueError(f"each of the alternatives needs a label and a cutoff, got {dict(point)!r}")
        points.append(Alternative(str(point["label"]), names.index(name), float(point["cutoff"])))
    return points


def _of_scores(name: Any, values: Any, n_rows: int, own: float | None, python: str, above: bool) -> Scored:
    try:
        scores = np.asarray(to_host(to_pandas(values)), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the scores of {name!r} must be numbers, got {short(values)}") from None
    if scores.ndim != 1:
        raise ValueError(f"the scores of {name!r} must be one number per row, got an array of shape {scores.shape}")
    if len(scores) != n_rows:
        raise ValueError(f"y has {n_rows} values, the scores of {name!r} {len(scores)}")
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(f"the scores of {name!r} must be finite numbers, got {scores[row]} in row {row}")
    if own is not None and not np.isfinite(float(own)):
        raise ValueError(f"the cut-off of {name!r} must be a finite number, got {own!r}")
    line = f"{python} {'>' if above else '<='} {{cut}}"
    return Scored(str(name), scores + 0.0, None if own is None else float(own), "", line)


def _of_ours(name: str, model: Any, X: Any, python: str, sensitive_features: Any, above: bool) -> Scored:
    """A model of this package, cut where its threshold would be moved to."""
    several = np.ndim(model.threshold_) > 0
    scores = scores_of(model, X, sensitive_features)
    own = 0.0 if several else float(model.threshold_)
    return _scored(name, model, scores + own, own, python, above)


def _scored(name: str, model: Any, scores: Any, own: float, python: str, above: bool) -> Scored:
    several = np.ndim(model.threshold_) > 0
    cut = f"dict(zip({python}.groups_, {python}.threshold_ + {{cut}}))" if several else "{cut}"
    line = f"{python}.set_threshold({cut})"
    if hasattr(model, "choose"):
        blend = f"fairness={model.fairness_}, " if dial_of(model) is not None else ""
        line = f"{python}.choose({blend}threshold={cut})"
    gaps = tuple(gap.name for gap in model.about_.settings.notion.gaps)
    goal = GOALS.get(gaps, ("", ""))[not above]
    return Scored(name, scores, own, goal, line, on_fine_grid)


def _other(name: str, given: Any, X: Any, n_rows: int, labels: Labels, sensitive: Any, above: bool) -> Scored:
    """A model to compare with: one of this package, another fitted classifier, or scores."""
    variable = f"others[{name!r}]"
    if isinstance(given, FairClassifier):
        check_model(given)
        if given.classes_.tolist() != labels.classes.tolist() or not np.all(given.positive_ == labels.positive):
            raise ValueError(f"others: {name!r} predicts other labels than the model")
        return _of_ours(name, given, X, variable, sensitive, above)
    if not hasattr(given, "predict"):
        return _of_scores(name, given, n_rows, None, variable, above)
    column = labels.classes.tolist().index(labels.positive)
    classes = np.asarray(given.classes_).tolist()
    if classes != labels.classes.tolist():
        raise ValueError(f"others: {name!r} knows the labels {classes}, the model {labels.classes.tolist()}")
    if hasattr(given, "predict_proba"):
        values, own, line = given.predict_proba(X)[:, column], 0.5, f"{variable}.predict_proba(X)[:, {column}]"
    else:
        sign, own = (1.0, 0.0) if column else (-1.0, 0.0)
        values, line = sign * given.decision_function(X), f"{'' if column else '-'}{variable}.decision_function(X)"
    scored = _of_scores(name, values, n_rows, own, line, above)
    agrees = np.array_equal(np.asarray(given.predict(X)) == labels.positive, scored.scores > own)
    return scored if agrees else scored._replace(own=None)  # it decides in a way of its own
