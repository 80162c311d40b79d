"""The report's numbers as tables of text: a caption, column heads, and rows whose first cell is their name."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from ..audit._text import UNDEFINED, Row, as_found, favours, limits, of
from ..explain._scores import TOTAL, free_name
from ..explain._shapes import OTHER
from ..plot._chart import signed
from . import _words
from ._words import percent, points

DASH = "\u2060–\u2060"  # between two numbers; no line ends at it
TITLES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "auc": "AUC",
    "tpr": "Found, of the positives",
    "fpr": "False alarms, of the negatives",
    "precision": "Precision",
    "base_rate": "Truly positive",
    "selection_rate": "Predicted positive",
    "statistical_parity": "Predicted positive (statistical parity)",
    "equal_opportunity": "Found (equal opportunity)",
    "predictive_equality": "False alarms (predictive equality)",
    "disparate_mistreatment": "Found plus false alarms (disparate mistreatment)",
    "equalized_odds_difference": "The larger of the two (equalized odds)",
    "accuracy_difference": "Accuracy",
    "precision_difference": "Precision",
}
RATES = {
    "selection_rate": "Predicted positive",
    "tpr": "Found",
    "fpr": "False alarms",
    "accuracy": "Accuracy",
    "precision": "Precision",
}
ABOUT = {"all": "all rows", "positives": "true positives", "negatives": "true negatives"}


class Table(NamedTuple):
    """A table to show; ``text`` says how many columns, from the left, are no numbers."""

    caption: str
    header: list[str]
    rows: list[list[str]]
    text: int = 1

    @property
    def is_long(self) -> bool:
        """Too long to print."""
        return len(self.rows) > 40

    @property
    def is_short(self) -> bool:
        """Printed on one page."""
        return len(self.rows) <= 12


def number(value: float) -> str:
    """A number of the user's data, in as many digits as tell something."""
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:,.6g}"


def rate(row: Row, name: str) -> str:
    return interval(limits(row, name))


def interval(row: Row, shown: Any = percent, sign: bool = False) -> str:
    """A value with its interval, of which there may be none."""
    value: str = points(row["value"], sign) if shown is points else shown(row["value"])
    if row["value"] is None or row["lower"] is None:
        return value
    to = " to " if sign else DASH  # between numbers with a sign, a dash would be read as another
    return f"{value} ({points(row['lower'])}{to}{points(row['upper'])})"


def data(report: Row, attribute: str) -> Table:
    groups = of(report["audit"]["groups"], attribute)
    total = sum(row["n"] for row in groups)
    rows = [
        [row["group"], f"{row['n']:,}", percent(row["n"] / total), f"{row['positives']:,}", rate(row, "base_rate")]
        for row in groups
    ]
    header = [attribute, "Rows", "Share of rows", "Positives", "Truly positive (interval)"]
    return Table(f"Groups of {attribute}", header, rows)


def groups(report: Row, attribute: str) -> Table:
    known = favours(report["audit"]["settings"])
    ratios = {"selection_ratio": "Ratio, positive", "rejection_ratio": "Ratio, negative"}
    if known is not None:
        ratios = {"selection_ratio" if known else "rejection_ratio": "Ratio, favourable"}
    rows = []
    for row in of(report["audit"]["groups"], attribute):
        shares = [UNDEFINED if row[key] is None else f"{row[key]:.2f}" for key in ratios]
        rows.append([row["group"], f"{row['n']:,}", *shares, *(rate(row, name) for name in RATES)])
    header = [attribute, "Rows", *ratios.values(), *RATES.values()]
    return Table(f"Performance in each group of {attribute}, with intervals", header, rows)


def measures(report: Row, attribute: str) -> Table:
    rows = []
    for row in map(as_found, of(report["audit"]["measures"], attribute)):
        apart = UNDEFINED
        if row["value"] is not None:
            low, high = (f"{row[end]} {percent(row[end + '_rate'])}" for end in ("lowest", "highest"))
            most = "mostly " if row["measure"] == "disparate_mistreatment" else ""
            name = RATES[row["rate"]]
            apart = f"{most + name.lower() if most else name}: {low}, {high}"
        rows.append([TITLES[row["measure"]], apart, interval(row, points)])
    header = ["Measure", "Groups furthest apart", "Difference in points (interval)"]
    return Table(f"Largest differences between the groups of {attribute}", header, rows, text=2)


def overall(report: Row) -> Table:
    found = _words.overall_rows(report)
    names = ("accuracy", "balanced_accuracy", "tpr", "fpr", "precision", "base_rate", "selection_rate")
    rows = [[TITLES[name], interval(found[name])] for name in names if name in found]
    if "auc" in found:
        rows.append(["AUC (1 ranks perfectly, 0.5 is chance)", _auc(found["auc"])])
    return Table("All rows together", ["Measure", "Value (interval)"], rows)


def calibration(report: Row, attribute: str) -> Table:
    rows = []
    for row in of(report["audit"]["calibration"], attribute):
        shares = [percent(row["mean_score"]), percent(row["base_rate"])]
        rows.append([row["group"], *shares, f"{row['ece']:.3f}", _auc(limits(row, "auc"))])
    header = [attribute, "Mean score", "Truly positive", "Calibration error", "AUC (interval)"]
    return Table(f"Scores of the groups of {attribute}", header, rows)


def _auc(row: Row) -> str:
    if row["value"] is None:
        return UNDEFINED
    within = "" if row["lower"] is None else f" ({row['lower']:.3f}{DASH}{row['upper']:.3f})"
    return f"{row['value']:.3f}{within}"


def parameters(report: Row) -> Table:
    parameters = report["model"]["parameters"]
    rows = [[row["name"], row["value"], "default" if row["default"] else "set"] for row in parameters]
    return Table("Parameters", ["Parameter", "Value", ""], rows, text=3)


def shape(found: Row) -> Table:
    caption = f"What {found['feature']} adds to the score"
    if found["kind"] == "categorical":
        names = [*found["categories"], OTHER, "missing"]
        scores = [*found["scores"], found["other"], found["missing"]]
        shares = [*found["shares"], found["other_share"], found["missing_share"]]
        rows = [[name, signed(x), percent(share)] for name, x, share in zip(names, scores, shares, strict=True)]
        return Table(caption, ["Value", "Score", "Share of rows"], rows)
    ends = [number(t) for t in found["thresholds"]]
    between = [f"above {low}, up to {high}" for low, high in pairwise(ends)]
    names = [f"up to {ends[0]}", *between, f"above {ends[-1]}"] if ends else ["any number"]
    rows = [[name, signed(value)] for name, value in zip(names, found["scores"], strict=True)]
    return Table(caption, ["Value", "Score"], [*rows, ["missing", signed(found["missing"])]])


def comparison(report: Row, attribute: str | None) -> Table:
    compared = report["comparison"]
    shown = percent if attribute is None else points
    rows = []
    for row in of(compared["rows"], attribute):
        change = {"value": row["difference"], "lower": row["lower"], "upper": row["upper"]}
        pair = [interval(row[which], shown) for which in ("baseline", "model")]
        rows.append([TITLES[row["measure"]], *pair, interval(change, points, sign=True)])
    header = ["Measure", compared["baseline"], report["model"]["name"], "Change in points (interval)"]
    if attribute is None:
        return Table("Performance on all rows: higher is better", header, rows)
    return Table(f"Differences between the groups of {attribute}, in points: lower is better", header, rows)


def total_of(found: Row) -> str:
    """What the sum of all features' parts of a gap is called."""
    return free_name(TOTAL, (row["feature"] for row in found["features"]))


def gaps(found: Row) -> Table:
    rows = [[row["feature"], *map(signed, row["parts"])] for row in found["features"]]
    rows.append([total_of(found), *map(signed, found["total"])])
    caption = f"Mean score of {found['high']} minus that of {found['low']}, {ABOUT[found['rows']]}"
    return Table(caption, ["Feature", *found["models"]], rows)


def alternatives(report: Row) -> Table:
    """What else the model could have been."""
    found = report["alternatives"]
    rows = []
    for row in found["rows"]:
        gap, ratio = ({end: row[f"{of}_{end}"] for end in ("lower", "upper")} for of in ("gap", "ratio"))
        shares = [percent(row[name]) for name in ("share_of_yes", "accuracy", "balanced_accuracy")]
        is_compared = row["largest_gap"] or row["gap_lower"] is not None
        gap["value"], ratio["value"] = row["largest_gap"] if is_compared else None, row["lowest_ratio"]
        rows.append([_alternative(row), *shares, interval(gap, points), _ratio(ratio)])
    header = ["Alternative", "Share of yes", "Accuracy", "Balanced accuracy", "Largest gap in points (interval)"]
    caption = f"Alternatives, with {100 * found['confidence']:g} % intervals; what was taken comes first"
    return Table(caption, [*header, "Lowest ratio (interval)"], rows)


def _alternative(row: Row) -> str:
    """What an alternative is, or is best for."""
    is_taken, what = row["what"].startswith("taken"), row["what"].removeprefix("taken").removeprefix(", ")
    if not what and row["maximize"] is not None:
        aim = row["maximize"] if isinstance(row["maximize"], str) else "lowest costs"
        what = aim.replace("_", " ")
        what += "" if row["limit"] is None else f", gap up to {100 * row['limit']:g}"
    elif not what:
        what = "as wished" if row["limit"] is None else f"gap up to {100 * row['limit']:g}"
    return f"Taken: {what}" if is_taken else _words.capital(what)


def _ratio(row: Row) -> str:
    if row["value"] is None:
        return UNDEFINED
    within = "" if row["lower"] is None else f" ({row['lower']:.2f}{DASH}{row['upper']:.2f})"
    return f"{row['value']:.2f}{within}"


def attributes(report: Row) -> Table:
    """What was found, one row per sensitive attribute."""
    measure = _words.target_measure(report)
    rows = []
    for attribute in report["data"]["attributes"]:
        gap, small = _words.between_large(report, attribute, measure)
        row = {key: None if value != value else value for key, value in gap._asdict().items()}
        told = [_words.cell(report, attribute, rate) for rate in _words.TOLD[measure]]
        known = UNDEFINED if row["value"] is None else "yes" if gap.lower > 0 else "no"
        known += f", without {small}" if small else ""
        rows.append([attribute, *told, interval(row, points), known])
    heads = [rate.what.format(positive=report["data"]["positive"]) for rate in _words.TOLD[measure]]
    header = ["Attribute", *(f"{_words.capital(head)}, of 100" for head in heads), "Gap in points (interval)"]
    caption = f"What was found, one row per attribute: {_words.MEASURES[measure]}"
    return Table(caption, [*header, "Established"], rows, text=4)
