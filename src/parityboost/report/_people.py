"""Who is found, missed and wrongly flagged, in counts out of a hundred: what a reader should see first."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..audit._text import in_a_sentence

Row = dict[str, Any]


class Rate(NamedTuple):
    """A rate as the page tells it; ``of`` are the rows it is a share of."""

    name: str  # of the column in an audit's groups
    of: str  # "all", "positives" or "negatives"
    who: str
    what: str


MISSED = Rate("fnr", "positives", "who truly are “{positive}”", "missed")
ALARMS = Rate("fpr", "negatives", "who truly are not “{positive}”", "wrongly predicted “{positive}”")
SELECTED = Rate("selection_rate", "all", "", "predicted “{positive}”")
# What is told of a model, by what it was trained for: its own measure first.
TOLD = {
    "statistical_parity": (SELECTED, MISSED, ALARMS),
    "equal_opportunity": (MISSED, ALARMS, SELECTED),
    "predictive_equality": (ALARMS, MISSED, SELECTED),
    "disparate_mistreatment": (MISSED, ALARMS, SELECTED),
}


def size(row: Row, of: str) -> int:
    """How many rows of a group a rate is a share of."""
    positives = int(row["positives"])
    return {"all": int(row["n"]), "positives": positives, "negatives": int(row["n"]) - positives}[of]


def large_enough(rows: list[Row], of: str, least: int) -> list[Row]:
    """The groups with enough rows to speak of; all of them if fewer than two have enough."""
    enough = [row for row in rows if size(row, of) >= least]
    return enough if len(enough) > 1 else [row for row in rows if size(row, of) > 0]


def hundred(share: float) -> str:
    """How many of a hundred."""
    count = round(100 * share)
    if count == 0 and share > 0:
        return "fewer than 1"
    return "more than 99" if count == 100 and share < 1 else str(count)


def ends(rows: list[Row], rate: Rate, least: int) -> list[tuple[Row, float]]:
    """The groups to name, each with its share: both of two, in one order throughout; of more, the one with the highest
    and the one with the lowest.
    """
    shares = [(row, row[rate.name]) for row in large_enough(rows, rate.of, least) if row[rate.name] is not None]
    if len(shares) <= 2:
        return shares
    ordered = sorted(shares, key=lambda found: -found[1])
    return [ordered[0], ordered[-1]]


def sentence(report: Row, attribute: str, rate: Rate) -> str | None:
    """Counts out of a hundred in the groups of an attribute, and with the model that it is compared with."""
    data, least = report["data"], report["audit"]["settings"]["min_group_size"]
    rows = [row for row in report["audit"]["groups"] if row["attribute"] == attribute]
    found = ends(rows, rate, least)
    if len(found) < 2:
        return None
    who, what = (text.format(positive=data["positive"]) for text in (rate.who, rate.what))
    n_groups = sum(row[rate.name] is not None for row in large_enough(rows, rate.of, least))
    names = [in_a_sentence(attribute, row["group"]) for row, _ in found]
    text = f"Of every 100{f' {who}' if who else ''}, " + " and ".join(
        f"{hundred(share)} in the group {name}" for name, (_, share) in zip(names, found, strict=True)
    )
    text += f" are {what}"
    if n_groups > 2:
        text += f" (most and fewest of {n_groups} groups)"
    others = _baseline(report, attribute, rate, [row["group"] for row, _ in found])
    if others:
        text += f"; with {report['comparison']['baseline']}, {' and '.join(others)}"
    return f"{text}."


def _baseline(report: Row, attribute: str, rate: Rate, groups: list[str]) -> list[str]:
    """The same counts with the model that it is compared with, if there is one."""
    known = {
        row["group"]: row
        for row in (report["comparison"] or {"groups": []})["groups"]
        if row["attribute"] == attribute and row[rate.name] is not None
    }
    if not all(group in known for group in groups):
        return []
    return [hundred(known[group][rate.name]) for group in groups]


def sentences(report: Row, attribute: str, measure: str) -> list[str]:
    """What is told of the groups of an attribute, the measure that the model was trained for first."""
    told = (sentence(report, attribute, rate) for rate in TOLD[measure])
    return [text for text in told if text is not None]


def cell(report: Row, attribute: str, rate: Rate) -> str:
    """The same for a table: ``Female 46, Male 45``."""
    rows = [row for row in report["audit"]["groups"] if row["attribute"] == attribute]
    found = ends(rows, rate, report["audit"]["settings"]["min_group_size"])
    return ", ".join(f"{in_a_sentence(attribute, row['group'])} {hundred(share)}" for row, share in found) or "–"
