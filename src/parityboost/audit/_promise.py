"""New decisions against a certificate: is the promise kept, and could that be chance?"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .._choice.alternatives import intervals_of
from .._choice.promise import Certificate, People
from .._io.json_values import to_plain
from .._table.grouping import group_names, read_groups, sensitive_frame, viewed
from .._table.reading import read_clusters, read_fit_weights
from .._table.values import object_array
from ..notions import StatisticalParity
from ._labels import read_labels

VERDICTS = {
    "kept": "It is kept, beyond what chance can explain.",
    "open": "It is kept among these people; they are too few to exclude that it is broken among all.",
    "open, above": "It is not kept among these people, but chance alone can explain that.",
    "broken": "It is broken, beyond what chance can explain: the decisions, or the people, are others than those that "
    "the promise was made for.",
    "undefined": "Nothing can be said: fewer than two groups have such a rate here.",
}


@dataclass(frozen=True, repr=False)
class PromiseAudit:
    """What :func:`audit_promise` found. Printing it shows sentences.

    Attributes
    ----------
    found : list of dict
        For each limit: its ``name`` and ``limit``, the ``value`` among these people with its one-sided ``lower`` and
        ``upper`` limits, and the ``verdict``: ``"kept"``, ``"open"``, ``"open, above"``, ``"broken"`` or
        ``"undefined"``.
    certificate : Certificate
        What was promised.
    n : int
        How many decisions there are.
    absent : list of str
        Groups of the model of which there is nobody here.

    Examples
    --------
    >>> from parityboost import ParityBoostClassifier
    >>> from parityboost.audit import audit_promise
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> X, y, group = adult.data[:20000], adult.target[:20000], adult.sensitive[:20000]
    >>> model = ParityBoostClassifier(
    ...     "equal_opportunity", limit=0.15, confidence=0.95, n_estimators=20, random_state=0
    ... )
    >>> model = model.fit(X, y, sensitive_features=group)
    >>> found = audit_promise(model, y, group == "Male", sensitive_features=group)
    >>> found.found[0]["verdict"]
    'broken'
    """

    found: list[dict[str, Any]]
    certificate: Certificate
    n: int
    absent: list[str]

    @property
    def is_broken(self) -> bool:
        """Whether a limit is broken beyond what chance can explain."""
        return any(row["verdict"] == "broken" for row in self.found)

    def summary(self) -> list[str]:
        """The findings as sentences."""
        sure = f"{100 * self.certificate.confidence:g} %"
        sentences = [f"Certificate: {self.certificate.promised}, with {sure} confidence. {self.n:,} new decisions."]
        for row in self.found:
            what = "largest gap" if row["name"] == "limit" else "lowest ratio"
            value = "" if row["value"] is None else f"The {what} is {row['value']:.3f}: "
            value += "" if row["value"] is None else f"at least {row['lower']:.3f} and at most {row['upper']:.3f}, "
            value += "" if row["value"] is None else f"each with {sure} confidence. "
            sentences.append(value + VERDICTS[row["verdict"]])
        if self.absent:
            sentences.append(f"There is nobody of {', '.join(map(repr, self.absent))}, who were part of the promise.")
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain lists, numbers and text."""
        found: dict[str, Any] = to_plain(
            {"found": self.found, "certificate": asdict(self.certificate), "n": self.n, "absent": self.absent}
        )
        return found

    def __str__(self) -> str:
        return "\n".join(self.summary())

    __repr__ = __str__


def audit_promise(
    model: Any, y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None, cluster: Any = None
) -> PromiseAudit:
    """Audit new decisions against the certificate of a model.

    A limit is kept, or broken, beyond chance if it is outside of the interval of the gap among all people like these.
    It has the confidence of the certificate on either side, and allows for there being several pairs of groups.

    Parameters
    ----------
    model : ParityBoostClassifier or GlassBox
        A model that was fitted with ``confidence``, or loaded.
    y_true, y_pred : array-like of shape (n_samples,)
        What became of the people, and what was decided, in the labels of the model, or these as text. For statistical
        parity ``y_true`` may be None.
    sensitive_features : array-like, Series, dict or DataFrame
        Their groups, as for ``fit``.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights.
    cluster : array-like of shape (n_samples,), optional
        Who each row is one of, if rows belong together.

    Returns
    -------
    PromiseAudit
        The verdict on each limit.

    Examples
    --------
    >>> from parityboost import ParityBoostClassifier
    >>> from parityboost.audit import audit_promise
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> X, y, group = adult.data, adult.target, adult.sensitive
    >>> model = ParityBoostClassifier(
    ...     "equal_opportunity", limit=0.1, confidence=0.95, n_estimators=20, random_state=0
    ... )
    >>> model = model.fit(X[:30000], y[:30000], sensitive_features=group[:30000])
    >>> new = slice(30000, None)
    >>> found = audit_promise(
    ...     model, y[new], model.predict(X[new]), sensitive_features=group[new]
    ... )
    >>> found.is_broken
    False
    """
    box = getattr(model, "glass_box_", model)
    certificate = getattr(box, "certificate", None)
    if certificate is None:
        raise ValueError(
            "the model has no certificate: fit it with confidence=0.95 and a limit; whoever moves its threshold or "
            "its wishes by hand loses it"
        )
    about = box.about
    notion = about.settings.notion
    if y_true is None:
        if not isinstance(notion, StatisticalParity):
            raise ValueError(f"y_true is None, and {notion.name!r} compares errors: only what came true tells them")
        y_true = y_pred
    y, p, _, _ = read_labels(y_true, y_pred, about.labels.positive, None)
    frame = about.grouping.apply(sensitive_frame(sensitive_features))
    codes, found = read_groups(frame, len(y))
    known = group_names(about.groups)
    names = group_names(found)
    unknown = [name for name in names if name not in known]
    if unknown and notion.views:  # new combinations of what is compared by itself
        new = [group for group, name in zip(found, names, strict=True) if name in unknown]
        notion = viewed(notion, object_array([*about.groups.tolist(), *new]))
        known = [*known, *unknown]
    elif unknown:
        raise ValueError(f"group {unknown[0]!r} is none of the model's, which are {', '.join(map(repr, known))}")
    group = np.array([known.index(name) for name in names])[codes]
    weights, cluster = read_fit_weights(sample_weight, len(y)), read_clusters(cluster, len(y))
    cell = y.astype(np.intp) * len(known) + group
    people = People(cell, np.empty(0) if weights is None else weights, cluster, len(known))
    counts = np.stack([people.table(people.weights * ~p), people.table(people.weights * p)], axis=-1)
    total = counts.sum(axis=-1)
    effective = people.effective
    as_rows = counts * np.divide(effective, total, out=np.zeros_like(total), where=total > 0)[..., None]
    wishes, favourable = box.question(box.wishes).wishes, int(not about.labels.favours_negative)
    if not notion.views:
        as_rows = np.where(wishes.compared(counts).sum(axis=(-2, -1), keepdims=True) > 0, as_rows, 0.0)
    gap, ratio = intervals_of(as_rows, notion, favourable, 2 * certificate.confidence - 1)
    values = replace(wishes, limit=1.0, min_ratio=1.0).limits(counts, notion, favourable)
    rows = []
    if certificate.limit is not None:
        rows.append(_judged("limit", certificate.limit, float(values["limit"][0]), gap, 1))
    if certificate.min_ratio is not None:
        rows.append(_judged("min_ratio", certificate.min_ratio, float(values["min_ratio"][0]), ratio, -1))
    absent = [name for g, name in enumerate(known) if total[g].sum() == 0]
    return PromiseAudit(rows, certificate, len(y), absent)


def _judged(name: str, limit: float, value: float, interval: tuple[float, float], sign: int) -> dict[str, Any]:
    """The verdict: ``sign`` is 1 if more is worse."""
    found = {"name": name, "limit": limit, "value": None, "lower": None, "upper": None, "verdict": "undefined"}
    if np.isnan([value, *interval]).any():
        return found
    low, high = sorted(sign * end for end in interval)
    best, worst, bound = low, high, sign * limit
    if worst <= bound:
        verdict = "kept"
    elif best > bound:
        verdict = "broken"
    else:
        verdict = "open" if sign * value <= bound else "open, above"
    return found | {"value": value, "lower": interval[0], "upper": interval[1], "verdict": verdict}
