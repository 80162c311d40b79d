"""An audit without outcomes: who is selected how often, where nobody knows yet who should have been."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._io.json_values import to_plain
from .._stats.intervals import Rates
from .._stats.ratios import largest_gap, lowest_ratio, ratios_to_highest, simultaneous_shares
from .._table.reading import read_fit_weights
from ._labels import read_columns, read_decisions
from ._sections import Section, as_html, as_markdown, as_text, interval, share
from ._tables import Data, Groups, count_attributes

FOUR_FIFTHS = 0.8


@dataclass(frozen=True, repr=False, eq=False)
class SelectionAudit:
    """What :func:`audit` found without outcomes. Printing it shows tables; in a notebook it shows them as HTML.

    Selected is who gets the favourable label, or, if which one is favourable was not stated, the positive one.

    Attributes
    ----------
    groups : DataFrame
        One row per group of every sensitive column, and of their crossing: ``attribute``, ``group``, ``n``,
        ``n_effective``, ``selected``, ``selection_rate`` and ``ratio``, the rate divided by the highest one, each with
        ``…_lower`` and ``…_upper``, which hold for all groups of the attribute at once; ``note``.
    measures : DataFrame
        Two rows per attribute: ``statistical_parity``, the largest difference between two groups, and
        ``selection_ratio``, the smallest ratio, each with ``lower`` and ``upper``; the groups in which the rate is
        ``lowest`` and ``highest``.
    settings : dict
        Number of rows, how many are selected, the labels, confidence.

    Examples
    --------
    >>> from parityboost.audit import audit
    >>> found = audit(None, [1, 0, 1, 1] * 50, sensitive_features=["a", "a", "b", "b"] * 50)
    >>> found.groups[["group", "selection_rate", "ratio", "ratio_lower", "ratio_upper"]].round(
    ...     2
    ... )
      group  selection_rate  ratio  ratio_lower  ratio_upper
    0     a             0.5    0.5          0.4          0.6
    1     b             1.0    1.0          1.0          1.0
    """

    groups: pd.DataFrame
    measures: pd.DataFrame
    settings: dict[str, Any]

    def summary(self) -> list[str]:
        """The findings as sentences."""
        settings = self.settings
        level = f"{100 * settings['confidence']:g} %"
        said = [
            f"Of {settings['n']:,} rows {share(settings['selection_rate'])} get {settings['selected']!r}. There are no "
            "outcomes, so nothing is said about who should have got it."
        ]
        if settings["favourable"] is None:
            said.append(
                "Which label is favourable to the person was not stated: the positive label counts as selected."
            )
        for attribute, rows in self.measures.groupby("attribute", sort=False):
            gap, ratio = rows.to_dict("records")
            if pd.isna(gap["value"]):
                said.append(f"{attribute}: the groups cannot be compared.")
                continue
            text = (
                f"{attribute}: {ratio['lowest']} is selected {100 * gap['value']:.1f} points less often than "
                f"{ratio['highest']} ({level} interval of the largest difference {100 * gap['lower']:.1f} to "
                f"{100 * gap['upper']:.1f} points)"
            )
            if pd.isna(ratio["value"]):
                said.append(text + "; nobody is selected, so there is no ratio.")
                continue
            where = (
                "below four fifths, more than chance explains"
                if ratio["upper"] < FOUR_FIFTHS
                else "not below four fifths, whatever chance did"
                if ratio["lower"] >= FOUR_FIFTHS
                else "on which side of four fifths chance does not let us say"
            )
            said.append(f"{text}; ratio {ratio['value']:.2f} ({ratio['lower']:.2f} to {ratio['upper']:.2f}): {where}.")
        said.append(
            f"The limits of all groups of an attribute hold at the same time in {level} of samples. They allow for "
            "chance in which rows were drawn, not for people missing from the data."
        )
        return said

    def exceeds(self, limit: float, measure: str | None = None) -> pd.DataFrame:
        """The measures that are beyond a limit, whatever chance did: differences above it, or ratios below it.

        Parameters
        ----------
        limit : float
            A largest difference such as 0.1 or, for ``measure="selection_ratio"``, a smallest ratio such as 0.8.
        measure : str, optional
            ``"statistical_parity"`` (the default) or ``"selection_ratio"``.
        """
        name = "statistical_parity" if measure is None else measure
        known = list(dict.fromkeys(self.measures["measure"]))
        if name not in known:
            raise ValueError(f"measure must be one of {', '.join(known)}, got {measure!r}")
        table = self.measures[self.measures["measure"] == name]
        return table[table["upper"] < limit] if name == "selection_ratio" else table[table["lower"] > limit]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, dicts, numbers and text; None where a value is not defined."""
        tables = {"groups": self.groups, "measures": self.measures}
        return {"settings": self.settings} | {
            name: [{key: to_plain(value) for key, value in row.items()} for row in table.to_dict("records")]
            for name, table in tables.items()
        }

    def to_json(self, indent: int | None = 2) -> str:
        """:meth:`to_dict`, with the sentences of :meth:`summary`, as JSON."""
        report = self.to_dict() | {"summary": self.summary()}
        return json.dumps(report, indent=indent, ensure_ascii=False, allow_nan=False)

    def to_markdown(self) -> str:
        """Summary and tables in Markdown."""
        return as_markdown(*self._shown())

    def _repr_html_(self) -> str:
        return as_html(*self._shown())

    def __str__(self) -> str:
        return as_text(*self._shown())

    __repr__ = __str__

    def _shown(self) -> tuple[str, list[Section], list[str]]:
        sections = []
        for attribute, rows in self.groups.groupby("attribute", sort=False):
            shown = {
                name: [
                    interval(row[name], row[f"{name}_lower"], row[f"{name}_upper"]) for row in rows.to_dict("records")
                ]
                for name in ("selection_rate", "ratio")
            }
            columns = {"group": rows["group"], "n": rows["n"].map("{:,}".format), **shown, "note": rows["note"]}
            table = pd.DataFrame(columns).rename(columns={"selection_rate": "selected", "ratio": "ratio to highest"})
            sections.append(Section(f"Groups of {attribute}", table.astype(str)))
        weighted = "; weighted" if self.settings["weighted"] else ""
        title = f"Audit of {self.settings['n']:,} decisions without outcomes{weighted}"
        return title, sections, self.summary()


def audit_selection(
    y_pred: Any, frame: Any, sample_weight: Any, labels: tuple[Any, Any], intersections: bool, settings: dict[str, Any]
) -> SelectionAudit:
    """The audit of decisions of which nobody knows whether they were right; ``settings`` say how."""
    _, selected, stated = read_decisions(None, y_pred, *labels)
    frame = read_columns(frame, len(selected))
    weights = read_fit_weights(sample_weight, len(selected))
    if weights is not None and not weights.all():
        selected, frame, weights = selected[weights > 0], frame[weights > 0], weights[weights > 0]
    tables, measures = [], []
    data = Data(selected, selected, weights, None)
    for attribute, _, _, groups in count_attributes(data, frame, intersections):
        rates, confidence = groups.rates("selection_rate"), settings["confidence"]
        table = _group_table(groups, rates, confidence, settings["min_group_size"])
        table.insert(0, "attribute", attribute)
        tables.append(table)
        measures += [{"attribute": attribute, **row} for row in _measures(table, rates, confidence)]
    everyone = float(np.average(selected, weights=weights))
    settings = settings | {"n": len(selected), "weighted": weights is not None, "selection_rate": everyone} | stated
    return SelectionAudit(pd.concat(tables, ignore_index=True), pd.DataFrame(measures), settings)


def _group_table(groups: Groups, rates: Rates, confidence: float, min_group_size: int) -> pd.DataFrame:
    n, selected = groups.rows.sum(axis=(1, 2)), groups.rows[:, 1, 1]
    shares = simultaneous_shares(rates, confidence)
    ratios = ratios_to_highest(rates, confidence)
    table = pd.DataFrame({"group": groups.names, "n": n.astype(np.int64), "n_effective": groups.size("rows")})
    table["selected"] = selected.astype(np.int64)
    for name, limits in (("selection_rate", shares), ("ratio", ratios)):
        table[name], table[f"{name}_lower"], table[f"{name}_upper"] = limits
    small = table["n_effective"] < min_group_size
    table["note"] = np.where(small, f"fewer than {min_group_size} rows: too few to judge", "")
    return table


def _measures(table: pd.DataFrame, rates: Rates, confidence: float) -> list[dict[str, Any]]:
    gap, ratio = largest_gap(rates, confidence), lowest_ratio(rates, confidence)
    ends: dict[str, Any] = {}
    if not np.isnan(gap.value):
        rate = table["selection_rate"].to_numpy()
        last = len(rate) - 1  # of groups that are all equal, the first and the last: two different ones
        for end, k in (("lowest", int(np.nanargmin(rate))), ("highest", last - int(np.nanargmax(rate[::-1])))):
            ends |= {end: table["group"].iloc[k], f"{end}_rate": rate[k]}
    found = {"statistical_parity": gap, "selection_ratio": ratio}
    return [{"measure": name, **limits._asdict(), **ends} for name, limits in found.items()]
