"""An audit of any model's predictions: every rate of every group and every gap between groups, with intervals.

Needs labels and predictions, whatever made them: a CSV file with three columns is enough.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._caller import warn_caller
from .._io.json_values import to_plain
from .._table.grouping import IGNORE, MANY_UNKNOWN, Grouping, sensitive_frame
from .._table.lazy import Distinct, distinct_rows, is_collection
from .._table.reading import read_fit_weights
from .._table.values import short
from ..explore import Explorer, cut_of, explore
from . import _text
from ._labels import read_labels, read_scores
from ._local_law import LocalLaw144, local_law_144
from ._over_time import AuditOverTime, audit_over_time
from ._promise import PromiseAudit, audit_promise
from ._selection import SelectionAudit, audit_selection
from ._strata import conditional_table
from ._tables import (
    Data,
    calibration_tables,
    count,
    count_attributes,
    group_table,
    measure_table,
    overall_table,
    worst_gaps,
)

__all__ = [
    "Audit",
    "AuditOverTime",
    "LocalLaw144",
    "PromiseAudit",
    "SelectionAudit",
    "audit",
    "audit_over_time",
    "audit_promise",
    "local_law_144",
]


@dataclass(frozen=True, repr=False, eq=False)
class Audit:
    """What :func:`audit` found. Printing it shows tables; in a notebook it shows them as HTML.

    Attributes
    ----------
    overall : DataFrame
        One row per measure of performance on all rows: ``value``, ``lower``, ``upper``.
    groups : DataFrame
        One row per group of every sensitive column, and of their crossing: ``attribute``, ``group``, ``n`` (rows),
        ``n_effective``, ``positives`` (rows), and ``base_rate``, ``selection_rate``, ``tpr``, ``tnr``, ``fpr``,
        ``fnr``, ``accuracy`` and ``precision``, each with ``…_lower`` and ``…_upper``; ``selection_ratio``, the
        selection rate as a share of the highest one; ``rejection_ratio``, the same for those not selected, which
        the four-fifths rule is about if the negative label is the favourable one; ``note`` says what is too small to
        judge.
    measures : DataFrame
        One row per sensitive column (and crossing) and measure: ``value``, the largest difference between two groups,
        with ``lower`` and ``upper``; ``rate``, and the groups in which it is ``lowest`` and ``highest``, with their
        rates; ``note``. Of a measure of two rates, ``rate`` is the one that differs more.
    calibration : DataFrame or None
        If scores were given, one row per group: ``mean_score`` against ``base_rate``, expected calibration error
        ``ece``, ``brier`` score, ``auc`` with its interval.
    reliability : DataFrame or None
        The bins behind it: mean score and observed share of positives of each group between two deciles of all scores.
    settings : dict
        Number of rows, positive and favourable label, confidence, and the other arguments that the figures depend on.
    conditional : DataFrame or None
        If ``control_features`` were given, one row per sensitive column, measure and ``stratum``: ``value``, the
        largest difference between two groups there, with ``lower`` and ``upper``, and the groups in which the ``rate``
        is ``lowest`` and ``highest``. In the last row of each measure, of all strata together, the rates of a group are
        their mean over the strata, weighted by the share of all people in each.
    explorer : Explorer or None
        If scores were given, the page that moves along their cut-offs, for the sensitive column whose groups are
        furthest apart: see :class:`parityboost.explore.Explorer`.

    Examples
    --------
    >>> from parityboost.audit import audit
    >>> y_true, y_pred = [1, 0, 1, 0] * 50, [1, 0, 1, 1, 0, 0, 1, 0] * 25
    >>> result = audit(y_true, y_pred, sensitive_features=(["a"] * 4 + ["b"] * 4) * 25)
    >>> result.groups.set_index("group")[["n", "tpr", "tpr_lower", "tpr_upper"]].round(3)
             n  tpr  tpr_lower  tpr_upper
    group
    a      100  1.0      0.929      1.000
    b      100  0.5      0.366      0.634
    """

    overall: pd.DataFrame
    groups: pd.DataFrame
    measures: pd.DataFrame
    calibration: pd.DataFrame | None
    reliability: pd.DataFrame | None
    settings: dict[str, Any]
    explorer: Explorer | None = None
    conditional: pd.DataFrame | None = None

    def exceeds(self, limit: float, measure: str | None = None) -> pd.DataFrame:
        """The rows of ``measures`` whose whole interval lies above the limit: more than chance is needed to explain it.

        Parameters
        ----------
        limit : float
            A difference, 0.1 for ten percentage points.
        measure : str, optional
            Look at this measure only, such as ``"equal_opportunity"``.

        Examples
        --------
        >>> from parityboost.audit import audit
        >>> result = audit([0, 1] * 200, [0, 1, 0, 0] * 100, sensitive_features=list("aabb") * 100)
        >>> result.exceeds(0.5)["measure"].tolist()
        ['equal_opportunity', 'disparate_mistreatment', 'equalized_odds_difference']
        """
        table = self.measures
        if measure is not None:
            known = list(dict.fromkeys(table["measure"]))
            if measure not in known:
                raise ValueError(f"measure must be one of {', '.join(known)}, got {measure!r}")
            table = table[table["measure"] == measure]
        return table[table["lower"] > limit]

    def summary(self) -> list[str]:
        """The findings as sentences.

        Examples
        --------
        >>> from parityboost.audit import audit
        >>> team = {"team": ["red", "red", "blue", "blue"] * 100}
        >>> print(audit([0, 1] * 200, [0, 1, 0, 0] * 100, sensitive_features=team).summary()[1])
        team: blue is predicted positive 50.0 points less often than red
        (0.0 % against 50.0 %, ratio 0.00, of the other label 0.50; 95 % interval 42.6 to 57.1 points).
        """
        return _text.summary(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, dicts, numbers and text; None where a value is not defined."""
        tables = {
            "overall": self.overall.reset_index(),
            "groups": self.groups,
            "measures": self.measures,
            "calibration": self.calibration,
            "reliability": self.reliability,
            **({} if self.conditional is None else {"conditional": self.conditional}),
        }
        return {"settings": self.settings} | {
            name: None
            if table is None
            else [{key: to_plain(value) for key, value in row.items()} for row in table.to_dict("records")]
            for name, table in tables.items()
        }

    def to_json(self, indent: int | None = 2) -> str:
        """:meth:`to_dict`, with the sentences of :meth:`summary`, as JSON."""
        report = self.to_dict() | {"summary": self.summary()}
        return json.dumps(report, indent=indent, ensure_ascii=False, allow_nan=False)

    def to_markdown(self) -> str:
        """Summary and tables in Markdown."""
        return _text.markdown(self.to_dict())

    def _repr_html_(self) -> str:
        first = "" if self.explorer is None else self.explorer._repr_html_()
        return first + _text.html(self.to_dict())

    def __str__(self) -> str:
        return _text.text(self.to_dict())

    __repr__ = __str__


class _Options(TypedDict, total=False):
    scores: Any
    sample_weight: Any
    positive_label: Any
    favourable: Any
    confidence: float
    n_bootstrap: int
    random_state: Any
    intersections: bool
    min_group_size: int
    missing_group: str | None
    control_features: Any


@overload
def audit(y_true: None, y_pred: Any, *, sensitive_features: Any, **options: Unpack[_Options]) -> SelectionAudit: ...
@overload
def audit(y_true: Any, y_pred: Any, *, sensitive_features: Any, **options: Unpack[_Options]) -> Audit: ...


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    scores: Any = None,
    sample_weight: Any = None,
    positive_label: Any = None,
    favourable: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 10_000,
    random_state: Any = 0,
    intersections: bool = True,
    min_group_size: int = 30,
    missing_group: str | None = None,
    control_features: Any = None,
) -> Audit | SelectionAudit:
    """Audit the predictions of any model.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels of two classes: numbers, booleans or text. Without outcomes ``y_true`` is None, and
        the audit is of who is selected how often.
    sensitive_features : array-like, Series, dict or DataFrame
        One column or several; each is audited by itself.
    scores : array-like of shape (n_samples,), optional
        Predicted probabilities of the positive class, for calibration and AUC. These need all rows in one place; all
        else can be Dask collections, which are counted where they are.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights. They weigh every rate. The intervals are those of an unweighted sample of the effective size:
        Kish's (Σw)² / Σw², corrected where weights depend on the outcome. Weight 2 is no second person.
    positive_label : label, optional
        The positive class, as it is or as text. By default the larger of the two labels.
    favourable : label, optional
        The label that is favourable to the person, as it is or as text: ratios of shares, which the four-fifths rule is
        about, are of this one. If it is not stated, those of both labels are told.
    confidence : float, default=0.95
        Coverage of every interval by itself.
    n_bootstrap : int, default=10000
        Draws of all groups' rates behind the intervals of measures that compare more than two rates. Fewer make the
        lower limits depend on the seed: with 2,000, coverage may be one point off. Not used without outcomes.
    random_state : int, Generator or None, default=0
        Seed of these draws.
    intersections : bool, default=True
        With several columns, also audit the groups that crossing them all makes.
    min_group_size : int, default=30
        Rates that are shares of fewer instances are noted as too uncertain to judge: at 30, an interval may reach 17
        points to either side. They still count in the measures, whose intervals allow for it.
    missing_group : str, optional
        Name of the group of rows whose sensitive value is missing; by default that is an error. With ``"ignore"`` they
        are in no group of the attribute and count in ``overall`` alone. ``measures`` then has ``worst``: what the
        difference could be at worst if all of them belonged to one group.
    control_features : array-like, Series, dict or DataFrame, optional
        What people should be alike in to be compared, such as a job or a department; several columns are crossed.
        ``conditional`` has the differences within each stratum, and of all strata together.

    Returns
    -------
    Audit or SelectionAudit
        The latter without outcomes.

    Notes
    -----
    Rates have Wilson intervals. A measure is a largest difference, never negative, so the percentile bootstrap would
    put its interval above a true difference of zero; the intervals here are those of all pairs' signed differences
    (Newcombe's method, of exact limits), corrected for there being several pairs. In simulations at 0.95, from two
    groups of 8 rows to fifty of 30, they cover the true value, zero included, in 0.95 to 1.00 of all cases: most in
    small groups and where more than two rates differ. They assume that rows are independent draws, so one row per
    person.

    ``disparate_mistreatment`` is the sum of the gaps in false negative and false positive rate;
    ``equalized_odds_difference`` is fairlearn's, the larger of them. ``ece`` is never negative, so small groups look
    worse calibrated than they are.

    Examples
    --------
    >>> from parityboost.audit import audit
    >>> result = audit([0, 1] * 200, [0, 1, 0, 0] * 100, sensitive_features=list("aabb") * 100)
    >>> result.measures.set_index("measure")[["value", "lower", "upper"]].round(3).head(2)
                        value  lower  upper
    measure
    statistical_parity    0.5  0.426  0.571
    equal_opportunity     1.0  0.949  1.000
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, such as 0.95, got {confidence!r}")
    for name, number, least in (("n_bootstrap", n_bootstrap, 100), ("min_group_size", min_group_size, 0)):
        if not isinstance(number, (int, np.integer)) or number < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {number!r}")
    if control_features is not None and (y_true is None or is_collection(y_true) or is_collection(y_pred)):
        raise ValueError("control_features is for audits with outcomes, of rows that are in one place")
    grouping = Grouping(None, missing_group)
    if y_true is None:
        if scores is not None or is_collection(y_pred):
            raise ValueError("without y_true there is nothing to compare scores with, and all rows are in one place")
        if missing_group == IGNORE:
            raise ValueError(
                "missing_group='ignore' is for audits with outcomes: leave out the rows whose group is unknown, or "
                "name a group for them"
            )
        labels, given = (positive_label, favourable), {"confidence": confidence, "min_group_size": min_group_size}
        if missing_group is not None:
            sensitive_features = grouping.apply(sensitive_frame(sensitive_features))
        return audit_selection(y_pred, sensitive_features, sample_weight, labels, intersections, given)
    counted: Distinct | None = None
    if is_collection(y_true) or is_collection(y_pred):
        if scores is not None:
            raise ValueError(
                "scores need all rows in one place, for AUC and calibration: leave them out of an audit of Dask "
                "collections, or .compute() them all"
            )
        counted = distinct_rows(y_true, y_pred, sensitive_features, sample_weight)
        y_true, y_pred, sensitive_features, sample_weight = counted.y_true, counted.y_pred, counted.sensitive, None
    y, p, positive, good = read_labels(y_true, y_pred, positive_label, favourable)
    frame = grouping.apply(sensitive_frame(sensitive_features))
    control = None if control_features is None else sensitive_frame(control_features)
    per_row = {"scores": scores, "sample_weight": sample_weight, "control_features": control}
    for name, values in ({"sensitive_features": frame} | per_row).items():
        if values is not None and np.ndim(values) > 0 and len(values) != len(y):
            raise ValueError(f"y_true has {len(y)} values, {name} {len(values)}")
    weights = read_fit_weights(sample_weight, len(y))  # only their ratios matter
    s = None if scores is None else read_scores(scores)
    if weights is not None and not weights.all():  # a row without weight is no row
        kept = weights > 0
        y, p, frame, weights, s = y[kept], p[kept], frame[kept], weights[kept], None if s is None else s[kept]
        control = None if control is None else control[kept]

    for name in () if control is None else control.columns[control.isna().any()]:
        raise ValueError(
            f"control_features: {str(name)!r} is missing in {int(control[name].isna().sum())} of {len(y)} rows: name a "  # type: ignore[index]
            "stratum for them, or leave these rows out"
        )
    data = Data(y, p, weights, s) if counted is None else _counted(counted, y, p)
    names = ("groups", "measures", "calibration", "reliability", "conditional")
    tables: dict[str, list[pd.DataFrame]] = {name: [] for name in names}
    everyone, unknown = data, dict[str, int]()
    for attribute, columns, known, groups in count_attributes(everyone, frame, intersections, missing_group):
        data, outside = everyone.at(known), everyone.at(~known)
        # The same draws for every attribute, so that a column's figures do not depend on which others are audited.
        normals = np.random.default_rng(random_state).standard_normal((2, n_bootstrap, len(groups.names)))
        found = {
            "groups": group_table(groups, confidence, min_group_size),
            "measures": measure_table(groups, confidence, normals, min_group_size),
        }
        if missing_group == IGNORE:
            n, of_unknown = _unknown(outside)
            found["measures"].insert(4, "worst", worst_gaps(groups, of_unknown))
            unknown[attribute] = n
            if n > MANY_UNKNOWN * everyone.n_rows:
                warn_caller(
                    f"the {attribute} of {100 * n / everyone.n_rows:.0f} % of the rows is unknown: differences between "
                    "the others say little about everyone"
                )
        if s is not None:
            found["calibration"], found["reliability"] = calibration_tables(data, groups, confidence)
        if control is not None:
            how = confidence, min_group_size
            found["conditional"] = conditional_table(data, columns, control[known], *how)
        for name, table in found.items():
            table.insert(0, "attribute", attribute)
            tables[name].append(table)
    joined = {name: pd.concat(parts, ignore_index=True) if parts else None for name, parts in tables.items()}
    data = everyone
    settings = {
        "n": data.n_rows,
        "positive_label": positive.item() if isinstance(positive, np.generic) else positive,
        "favourable": good.item() if isinstance(good, np.generic) else good,
        "confidence": float(confidence),
        "weighted": data.weights is not None,
        "n_bootstrap": int(n_bootstrap),
        "random_state": int(random_state) if isinstance(random_state, (int, np.integer)) else None,
        "min_group_size": int(min_group_size),
        **({"unknown": unknown} if missing_group == IGNORE else {}),
        **({} if control is None else {"control": [str(name) for name in control.columns]}),
    }
    apart = joined["measures"]
    assert apart is not None
    sizes = apart.loc[apart["measure"] == "disparate_mistreatment", "value"].to_numpy()[: frame.shape[1]]
    column = frame.iloc[:, [int(np.argmax(np.nan_to_num(sizes)))]]
    there = np.ones(len(y), dtype=np.bool_) if missing_group != IGNORE else (column != IGNORE).to_numpy()[:, 0]
    options = {"confidence": confidence, "min_group_size": int(min_group_size)}
    moved = _explorer(data.at(there), column[there], (positive, good), getattr(y_true, "name", None), options)
    overall = overall_table(data, confidence)
    return Audit(overall=overall, settings=settings, explorer=moved, **joined)  # type: ignore[arg-type]


def _explorer(data: Data, groups: pd.DataFrame, labels: tuple[Any, Any], target: Any, options: Any) -> Explorer | None:
    """The page that moves along the scores. It has a mark if some cut-off of them gives just these predictions."""
    if data.scores is None or data.y.all() or not data.y.any():
        return None
    positive, good = labels
    stated = None if good is None else bool(good == positive)
    label = short(positive if good is None else good)
    who = f"who truly are {label}" if target is None else f"whose {target} is {label}"
    cut = cut_of(data.scores, data.p)
    found = explore(
        data.y,
        {"the model": data.scores},
        sensitive_features=groups,
        sample_weight=data.weights,
        positive_label=True,
        favourable=stated,
        cutoffs={} if cut is None else {"the model": cut},
        who=who,
        **options,
    )
    found.record["yes"] = label  # which is True in `data.y`, or False
    return found


def _unknown(outside: Data) -> tuple[int, NDArray[np.float64]]:
    """The number of rows whose group is unknown, and their weight per true and predicted class."""
    if len(outside.y) == 0:
        return 0, np.zeros((2, 2))
    found = count(outside, np.zeros(len(outside.y), dtype=np.intp))
    return int(found.rows.sum()), found.weight[0]


def _counted(found: Distinct, y: NDArray[np.bool_], p: NDArray[np.bool_]) -> Data:
    """The distinct rows of collections, each with what it stands for."""
    if not found.weighted:
        return Data(y, p, None, None, found.rows)
    scale = 2.0 ** -np.frexp(found.weight.max())[1]  # only their ratios matter
    return Data(y, p, found.weight * scale, None, found.rows, found.squares * scale**2)
