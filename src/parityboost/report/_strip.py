"""The four facts on top of the page: ratio of the favourable label, gap, sensitive columns, smallest group."""

from __future__ import annotations

from math import floor
from typing import Any

from ..audit._text import favours, in_a_sentence
from . import _words
from ._people import large_enough

Row = dict[str, Any]

FOUR_FIFTHS = 0.8  # the lowest ratio of favourable predictions that the four-fifths rule accepts
# What a gap is a gap in.
GAP_IN = {
    "statistical_parity": "in predicted positive",
    "equal_opportunity": "in missed",
    "predictive_equality": "in false alarms",
    "disparate_mistreatment": "in missed plus false alarms",
    "equalized_odds_difference": "in missed or false alarms",
    "accuracy_difference": "in accuracy",
    "precision_difference": "in precision",
}


def strip(report: Row) -> list[Row]:
    """Four tiles: a name, a value, a remark, and whether it is good, bad or neither."""
    return [_ratio(report), _gap(report), _sensitive(report), _smallest(report)]


def _tile(name: str, value: str, remark: str, state: str = "plain", **more: Any) -> Row:
    return {"name": name, "value": value, "remark": remark, "state": state, **more}


def lowest_ratio(report: Row, positive: bool) -> Row | None:
    """Who gets a label least and most often, of the attribute whose groups are furthest apart in it: the positive
    label, or the negative one. ``before`` is the lowest ratio in this attribute with the other model.
    """
    least = report["audit"]["settings"]["min_group_size"]
    found = []
    for attribute in _words.columns(report):
        rows = [row for row in report["audit"]["groups"] if row["attribute"] == attribute]
        shares = {row["group"]: _share(row, positive) for row in large_enough(rows, "all", least)}
        low, high = (end(shares, key=shares.__getitem__) for end in (min, max))
        if shares[high] > 0:
            ratio = shares[low] / shares[high]
            others = (report["comparison"] or {"groups": []})["groups"]
            old = [_share(row, positive) for row in others if row["attribute"] == attribute and row["group"] in shares]
            before = min(old) / max(old) if old and max(old) > 0 else None
            found.append({"attribute": attribute, "ratio": ratio, "low": low, "high": high, "before": before})
    return min(found, key=lambda row: row["ratio"]) if found else None


def _share(row: Row, positive: bool) -> float:
    """The share of a group that is predicted positive, or negative."""
    rate: float = row["selection_rate"]
    return rate if positive else 1.0 - rate


def _ratio(report: Row) -> Row:
    """Of the favourable label; of both if it was not stated, since the four-fifths rule is about the favourable one."""
    known = favours(report["audit"]["settings"])
    sides = (True, False) if known is None else (known,)
    found = [(_words.label(report, side), lowest_ratio(report, side)) for side in sides]
    told = [_told(report, name, row) for name, row in found]
    if known is None:
        marks = [row["ratio"] >= FOUR_FIFTHS for _, row in found if row is not None]
        # Where both are on one side of the mark, it does not matter which label is the favourable one.
        state = "plain" if len({*marks}) > 1 or len(marks) < 2 else "good" if marks[0] else "bad"
        values = " or ".join("–" if row is None else _two_digits(row["ratio"]) for _, row in found)
        remark = "Which one is favourable was not stated."
        return _tile("Lowest ratio, of either label", values, " ".join([*told, remark]), state)
    name, row = "Lowest ratio of the favourable label", found[0][1]
    if row is None:
        return _tile(name, "–", told[0], "bad")
    if row["ratio"] >= FOUR_FIFTHS:
        state, rule = "good", "At least 0.80, as the four-fifths rule asks."
    else:
        state, rule = "bad", "Below 0.80, the mark of the four-fifths rule."
    value = _two_digits(row["ratio"])
    return _tile(name, value, f"{told[0]} {rule}", state, share=row["ratio"], mark=FOUR_FIFTHS)


def _told(report: Row, label: str, row: Row | None) -> str:
    """Whose shares a ratio compares, and what it was with the other model."""
    if row is None:
        return f"Nobody is predicted “{label}”."
    low, high = (in_a_sentence(row["attribute"], row[end]) for end in ("low", "high"))
    before = ""
    if row["before"] is not None and report["data"]["favourable"] is not None:
        before = f"; with {report['comparison']['baseline']} {_two_digits(row['before'])}"
    return f"“{label}”: {low} against {high}{before}."


def _two_digits(ratio: float) -> str:
    text = f"{ratio:.2f}"
    if ratio < FOUR_FIFTHS and text == "0.80":  # 0.799 must not look like the mark
        return f"{floor(1000 * ratio) / 1000:.3f}"
    return text


def _gap(report: Row) -> Row:
    """The gap that the model was trained to close; of those under a limit, the one that keeps it least."""
    limit = report["limit"]
    measures = [_words.target_measure(report)] if limit is None else limit["measures"]
    rows = [
        _words.measure_row(report, attribute, measure)
        for attribute in report["data"]["attributes"]
        for measure in measures
    ]
    undefined = [row for row in rows if row["value"] is None]
    if undefined and (limit is not None or len(undefined) == len(rows)):
        row = undefined[0]
        fails = "" if limit is None else ", so it does not pass"
        remark = f"{_capital(GAP_IN[row['measure']])}: {row['note']}{fails}."
        return _tile(f"Gap by {row['attribute']}", "–", remark, "plain" if limit is None else "bad")
    # Against a limit, what counts is what is established; else what is seen.
    known = [row for row in rows if row["value"] is not None]
    row = max(known, key=lambda row: (row["lower"] if limit is not None else 0, row["value"]))
    within = f"{_words.points(row['lower'])} to {_words.points(row['upper'])}"
    what = _capital(f"{GAP_IN[row['measure']]} ({within})")
    state, verdict = "plain", "no limit was set"
    if limit is not None:
        allowed = f"the limit of {_words.points(limit['value'])} points"
        if row["lower"] > limit["value"]:
            state, verdict = "bad", f"does not pass: above {allowed}"
        elif all(row["upper"] <= limit["value"] for row in known):
            state, verdict = "good", f"passes: below {allowed}"
        else:
            verdict = f"passes: not shown to be above {allowed}"
    name = f"Gap by {row['attribute']}"
    return _tile(name, f"{_words.points(row['value'])} points", f"{what}; {verdict}.", state)


def _sensitive(report: Row) -> Row:
    name, model = "Sensitive column used", report["model"]
    if model is None or model["importances"] is None:
        return _tile(name, "Not known", "Only predictions were given." if model is None else "The model does not tell.")
    used = _words.sensitive_features(report)
    columns = " and ".join(_words.columns(report))
    if used:
        return _tile(name, "Yes", f"The score looks at {' and '.join(used)} directly.", "bad")
    return _tile(name, "No", f"{columns} is no feature; others may stand in for it.", "good")


def _smallest(report: Row) -> Row:
    data, least = report["data"], report["audit"]["settings"]["min_group_size"]
    own = _words.columns(report)
    row = min((row for row in report["audit"]["groups"] if row["attribute"] in own), key=lambda row: row["n"])
    rows = f"{row['n']:,} rows, {row['positives']:,} of them “{data['positive']}”"
    name = in_a_sentence(row["attribute"], row["group"])
    if row["note"]:
        return _tile("Smallest group", name, f"{rows}: too few to judge, below {least}.", "bad")
    return _tile("Smallest group", name, f"{rows}.")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
