"""The page in plain language, from the numbers of a report: who is found, four facts, what to conclude."""

from __future__ import annotations

from math import floor
from typing import Any, NamedTuple

import numpy as np

from .._stats.intervals import UNDEFINED as UNKNOWN
from .._stats.intervals import Interval, Rates, largest_of, sum_of_largest
from ..audit._text import NO_BREAK, SUBJECTS, UNDEFINED, Row, as_found, favours, in_a_sentence, of

# What a notion wants to be equal.
GOALS = {
    "statistical_parity": "equal shares of positive predictions",
    "equal_opportunity": "equal shares of people found",
    "predictive_equality": "equal shares of false alarms",
    "disparate_mistreatment": "equal shares of people found and of false alarms",
}
MEASURES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "statistical_parity": "the gap in positive predictions",
    "equal_opportunity": "the gap in people found",
    "predictive_equality": "the gap in false alarms",
    "disparate_mistreatment": "the gap in people found plus the gap in false alarms",
}
PERFORMANCE = ("accuracy", "balanced_accuracy")
# A difference that is established, about the group with the lower or the higher rate and the other one.
FINDINGS = {
    "statistical_parity": ("lowest", "{0} is predicted “{positive}” less often than {1}"),
    "equal_opportunity": ("lowest", "those who truly are “{positive}” are found less often in {0} than in {1}"),
    "predictive_equality": ("highest", "false alarms are more frequent in {0} than in {1}"),
    "accuracy_difference": ("lowest", "predictions are right less often for {0} than for {1}"),
    "precision_difference": ("lowest", "a prediction of “{positive}” is right less often for {0} than for {1}"),
}
# What the record of alternatives is.
ALTERNATIVES = (
    "What else this model could be without training again: the default, plain boosting, which knows nothing of the "
    "groups, and for each limit on the gap from 1 to 20 points the best by balanced accuracy and by accuracy. All is "
    "measured between the groups of training, on the rows that were held out there, which choices are made on, and not "
    "on those of this report."
)
TOO_WIDE = 0.2  # an interval of so many points in a hundred says next to nothing
HARDLY = 0.1  # a label that is predicted so much less often than it occurs is hardly predicted


def percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{100 * share:.1f}{NO_BREAK}%"


def points(share: float | None, sign: bool = False) -> str:
    """A difference in percentage points, with a real minus."""
    if share is None:
        return UNDEFINED
    text = f"{100 * share:.1f}"
    if text in ("0.0", "-0.0"):
        return "0.0"
    return f"+{text}" if sign and share > 0 else text.replace("-", "−")


def target_measure(report: Row) -> str:
    """The measure the model was trained for, if the audit has it."""
    notion = report["model"]["notion"] if report["model"] else None
    return notion if notion in GOALS else "disparate_mistreatment"


def measure_row(report: Row, attribute: str, measure: str) -> Row:
    return next(row for row in of(report["audit"]["measures"], attribute) if row["measure"] == measure)


def columns(report: Row) -> list[str]:
    """The sensitive columns, without their crossing, which is the last of several."""
    attributes: list[str] = report["data"]["attributes"]
    return attributes[:1] if len(attributes) == 1 else attributes[:-1]


def sensitive_features(report: Row) -> list[str]:
    """The sensitive columns that are features of the model, by their names."""
    importances = (report["model"] or {}).get("importances") or []
    used = {row["feature"] for row in importances if (row["alpha_share"] or 0) > 0}
    return [name for name in columns(report) if name in used]


def named(label: Any, target: str | None) -> str | None:
    """A label in a sentence: one that is called 1, True or yes says nothing without the name of its column."""
    if label is None:
        return None
    text = str(label)
    return text if target is None or in_a_sentence(target, text) == text else f"{target} = {text}"


def label(report: Row, positive: bool) -> str:
    """The positive or the negative label in a sentence; an audit may not know the latter."""
    data = report["data"]
    name: str = data["positive"] if positive else data["negative"] or f"not {data['positive']}"
    return name


def degenerate(report: Row) -> str | None:
    """The headline if (nearly) everyone gets the same prediction: nothing else on the page matters then."""
    overall = overall_rows(report)
    rate, base = overall["selection_rate"]["value"], overall["base_rate"]["value"]
    shares = {True: (rate, base), False: (1 - rate, 1 - base)}
    rare = [side for side, (predicted, occurs) in shares.items() if predicted < HARDLY * occurs or predicted == 0]
    if not rare:
        return None
    name = label(report, not rare[0])
    share = shares[not rare[0]][0]
    whom = "everyone" if share == 1 else f"{percent(share)} of the rows"
    who = "The model predicts" if report["model"] else "The predictions are"
    return f"{who} “{name}” for {whom}. Groups are treated alike because nobody is told apart: it is of no use."


def no_gain(report: Row) -> list[str]:
    """The headline of a model that is no fairer than a plain one, and below it what was given up."""
    compared = report["comparison"]
    if compared is None or report["model"]["notion"] not in GOALS or degenerate(report):
        return []
    return nothing_gained(compared, target_measure(report))


def nothing_gained(compared: Row, measure: str) -> list[str]:
    """If no gap is smaller than with the plain model, beyond chance: that, and what was given up, beyond chance too.

    Where the plain model has a gap, beyond chance, one of less than half is not called the same, though the rows may be
    too few to tell.
    """

    def gained(row: Row) -> bool:
        halved = row["baseline"]["lower"] > 0 and 2 * row["model"]["value"] < row["baseline"]["value"]
        return bool(row["upper"] < 0 or halved)

    gaps = [row for row in compared["rows"] if row["measure"] == measure and row["difference"] is not None]
    if not gaps or any(map(gained, gaps)):
        return []
    widest = max(gaps, key=lambda row: float(row["model"]["value"]))
    was, now = (points(widest[which]["value"]) for which in ("baseline", "model"))
    given_up = " and ".join(
        f"{points(-row['difference'])} points of {MEASURES[row['measure']]} ({points(-row['upper'])} to "
        f"{points(-row['lower'])})"
        for row in compared["rows"]
        if row["measure"] in PERFORMANCE and row["upper"] < 0
    )
    return [
        f"No gain in fairness over {compared['baseline']} is established.",
        f"Between the groups of {widest['attribute']}, {MEASURES[measure]} is {now} points, and {was} with the other. "
        + (f"Given up for it: {given_up}." if given_up else "Nothing was given up for it either."),
    ]


def about(report: Row) -> list[str]:
    if report["model"] is None:
        return [_checked(report)]
    return [_about_model(report), *_seen(report), _checked(report)]


def _seen(report: Row) -> list[str]:
    """Whether the model uses a sensitive column, and which other column tells it best."""
    said = []
    for attribute in dict.fromkeys(row["attribute"] for row in report["proxies"]):
        rows = [row for row in report["proxies"] if row["attribute"] == attribute]
        own = next((row for row in rows if row["feature"] == attribute), None)
        others = [row for row in rows if row is not own]
        what = "is no column of the model" if own is None else "is a column that the model does not use"
        what = "is a column that the model uses" if own is not None and own["used"] else what
        best = ""
        if others and others[0]["tells"] > 0:
            used = "which it uses" if others[0]["used"] else "which it does not use"
            best = (
                f" Of the other columns {others[0]['feature']}, {used}, tells it best: guessing by it goes "
                f"{percent(others[0]['tells'])} of the way from chance to certainty."
            )
        said.append(f"{attribute} {what}.{best}")
    return said


def _about_model(report: Row) -> str:
    model, data = report["model"], report["data"]
    labels = f"“{data['positive']}” or “{data['negative']}”"
    told = data["target"] is None or data["target"] in data["positive"]
    about = "" if told else f" for “{data['target']}”"
    if model["n_bags"]:
        rules = f"{model['theta']} small decision trees from {model['n_bags']} trainings, averaged"
    elif model["learner"] is not None:
        rules = f"the weighted votes of {model['theta']} models of the kind {model['learner']}"
    elif model["theta"] > 1:
        rules = f"{model['theta']} simple rules, each about one feature"
    else:
        rules = "one simple rule about one feature"
    # A notion of the user's own is known by its name only.
    goal = GOALS.get(model["notion"], f"the notion “{model['notion']}”")
    trained = "" if model["notion"] == "none" else f" It was trained for {goal} in every group."
    kept = ""
    if model["theta"] < model["n_estimators"] and not model["n_bags"]:
        first = "the first is used" if model["theta"] == 1 else f"the first {model['theta']} are used"
        kept = f" Of {model['n_estimators']} trained, {first}."
    chosen = "" if model["aim"] is None else f" It was chosen for {model['aim']['said']}."
    return f"The model, {model['name']}, predicts {labels}{about} by adding up {rules}.{kept}{trained}{chosen}"


def _checked(report: Row) -> str:
    data, overall, comparison = report["data"], overall_rows(report), report["comparison"]
    accuracy, confidence = overall["accuracy"], report["audit"]["settings"]["confidence"]
    checked = f"{data['n']:,} predictions were checked."
    if report["model"]:
        checked = f"It was checked on {data['n']:,} rows that it should not have seen in training."
    other = ""
    if comparison is not None:
        row = next(row for row in comparison["rows"] if row["measure"] == "accuracy")
        other = f"; with {comparison['baseline']} {percent(row['baseline']['value'])}"
    return (
        f"{checked} {percent(overall['base_rate']['value'])} of them are “{data['positive']}”, "
        f"{percent(overall['selection_rate']['value'])} are predicted to be, and {percent(accuracy['value'])} of "
        f"the predictions are right ({100 * confidence:g}{NO_BREAK}% interval {percent(accuracy['lower'])} to "
        f"{percent(accuracy['upper'])}{other})."
    )


def changes(report: Row) -> list[str]:
    """What is different from the other model: performance in one sentence, and the gap per attribute."""
    comparison = report["comparison"]
    if comparison is None:
        return []
    rows = comparison["rows"]
    worth = [_change(row, report) for row in rows if row["measure"] in PERFORMANCE]
    sentences = [f"Compared with {comparison['baseline']} on the same rows, {' and '.join(worth)}."]
    own = columns(report)
    for row in rows:
        if row["measure"] == target_measure(report) and row["difference"] is not None and row["attribute"] in own:
            sentences.append(f"Between the groups of {row['attribute']}, {_change(row, report)}.")
    return sentences


def _change(row: Row, report: Row) -> str:
    was, now = row["baseline"]["value"], row["model"]["value"]
    rate = percent if row["measure"] in PERFORMANCE else (lambda share: f"{points(share)} points")
    change = f"{MEASURES[row['measure']]} went from {rate(was)} to {rate(now)}"
    within = f"change {points(row['lower'])} to {points(row['upper'])} points"
    if row["lower"] <= 0 <= row["upper"]:
        return f"{change} ({within}, so it may be chance)"
    return f"{change} ({within})"


def conclude(report: Row) -> list[str]:
    """What the figures establish, and in one line what they do not."""
    return [_worth(report), *_differences(report), *_open(report), *_direct(report), *_better(report)]


def _worth(report: Row) -> str:
    overall = overall_rows(report)
    accuracy, base = overall["accuracy"], overall["base_rate"]["value"]
    common, balanced = max(base, 1 - base), percent(overall["balanced_accuracy"]["value"])
    always = f"always predicting the more common label ({percent(common)})"
    if accuracy["lower"] > common:
        return f"The predictions are right more often ({percent(accuracy['value'])}) than {always} would be."
    balanced = f"balanced accuracy is {balanced}, where always predicting one label has 50 %."
    if accuracy["upper"] < common:
        return (
            f"The predictions are right less often ({percent(accuracy['value'])}) than {always} would be. That can be "
            f"the price of finding more of the rarer label: {balanced}"
        )
    return f"The predictions are right about as often ({percent(accuracy['value'])}) as {always} would be; {balanced}"


def _compared(report: Row) -> list[Row]:
    """The differences that are told: those of a rate, not of two."""
    return [row for row in report["audit"]["measures"] if row["measure"] in FINDINGS]


def _differences(report: Row) -> list[str]:
    """The differences that are established: one item each, or one per attribute if there are several."""
    attributes = report["data"]["attributes"]
    found: dict[str, list[str]] = {attribute: [] for attribute in attributes}
    for row in _compared(report):
        if row["value"] is not None and row["lower"] > 0:
            found[row["attribute"]].append(_finding(row, report))
    if len(attributes) == 1:
        return [f"{capital(text)}." for text in found[attributes[0]]]
    return [f"{attribute}: {'; '.join(texts)}." for attribute, texts in found.items() if texts]


def _finding(row: Row, report: Row) -> str:
    row = as_found(row)
    first, pattern = FINDINGS[row["measure"]]
    second = "highest" if first == "lowest" else "lowest"
    names = [in_a_sentence(row["attribute"], row[end]) for end in (first, second)]
    text = pattern.format(*names, positive=report["data"]["positive"])
    shares = f"{percent(row[f'{first}_rate'])} against {percent(row[f'{second}_rate'])}"
    lower = points(row["lower"])
    lower = "just above 0" if lower == "0.0" else lower
    return f"{text}: {shares}, {points(row['value'])} points ({lower} to {points(row['upper'])})"


def _open(report: Row) -> list[str]:
    """Where no difference is established, in one line."""
    rows = [row for row in _compared(report) if row["value"] is not None and row["lower"] == 0]
    undefined = [row for row in _compared(report) if row["value"] is None]
    lines = []
    if rows:
        several = len(report["data"]["attributes"]) > 1
        by: dict[str, list[str]] = {}
        for row in rows:
            by.setdefault(SUBJECTS[row["measure"]], []).append(row["attribute"])
        what = ", ".join(f"{name} ({', '.join(of)})" if several else name for name, of in by.items())
        most = max(rows, key=lambda row: row["upper"])
        of = f", {most['attribute']}" if several else ""
        lines.append(
            f"No difference is established in {what}. Up to {points(most['upper'])} points are not ruled out "
            f"({SUBJECTS[most['measure']]}{of})."
        )
    if undefined:
        what = ", ".join(f"{SUBJECTS[row['measure']]} ({row['attribute']}: {row['note']})" for row in undefined)
        lines.append(f"These cannot be compared: {what}.")
    return lines


def _direct(report: Row) -> list[str]:
    used = " and ".join(sensitive_features(report))
    text = f"The model looks at {used} directly: two people who differ in nothing else may get different scores."
    return [text] if used else []


def _better(report: Row) -> list[str]:
    comparison, items = report["comparison"], []
    for row in comparison["rows"] if comparison is not None else []:
        told = row["measure"] in (*PERFORMANCE, target_measure(report)) and row["lower"] is not None
        if not told or row["lower"] <= 0 <= row["upper"]:
            continue
        better = (row["difference"] > 0) == (row["measure"] in PERFORMANCE)
        of = f" between the groups of {row['attribute']}" if row["attribute"] else ""
        low, high = sorted((abs(row["lower"]), abs(row["upper"])))
        items.append(
            f"On these rows the model is {'better' if better else 'worse'} than {comparison['baseline']} in "
            f"{MEASURES[row['measure']]}{of}, by {points(abs(row['difference']))} points ({points(low)} to "
            f"{points(high)})."
        )
    return items


def not_conclude(report: Row) -> list[str]:
    """What the figures are easily taken for, and do not say."""
    audit, data = report["audit"], report["data"]
    items = []
    if any(row["value"] is not None and row["lower"] == 0 for row in _compared(report)):
        items.append("That groups are treated alike because no difference was found: there may be one all the same.")
    items.append("That a difference is unjust, or caused by the group. The figures say how large it is, not why.")
    items.append("That the model is fair because a gap is small. The measures compare whole groups, not people.")
    for attribute in data["attributes"]:
        groups = [row for row in of(audit["groups"], attribute) if row["base_rate"] is not None]
        low, high = (end(groups, key=lambda row: row["base_rate"]) for end in (min, max))
        if low["base_rate_upper"] < high["base_rate_lower"]:
            items.append(
                f"That all gaps could be zero at once. “{data['positive']}” is not equally frequent in the "
                f"groups of {attribute} ({low['group']} {percent(low['base_rate'])}, {high['group']} "
                f"{percent(high['base_rate'])}): a useful model that errs equally often in both cannot also choose "
                "equally often."
            )
            break
    small = [row["group"] for row in audit["groups"] if row["note"]]
    if small:
        items.append(f"Much about groups with few rows: {', '.join(small[:8])}{', …' if len(small) > 8 else ''}.")
    items.append("Anything about groups that are not shown here, or about people who are not in the data.")
    items.append("That the labels are right. If past decisions were biased, a model that repeats them looks accurate.")
    if report["model"] is not None:
        if report["model"]["importances"] is not None and not sensitive_features(report):
            items.append(
                f"That the model knows nothing of {' and '.join(columns(report))} because it has no such column: "
                "other columns may stand in for it."
            )
        items.append("What happens if a person changes something. The curves show scores, not causes.")
    if report["rounds"]:
        items.append("That another setting is as good elsewhere because it looks good here: check it on other rows.")
    return items


def overall_rows(report: Row) -> Row:
    return {row["measure"]: row for row in report["audit"]["overall"]}


class Rate(NamedTuple):
    """A rate as the page tells it; ``of`` are the rows it is a share of."""

    name: str  # of the column in an audit's groups
    of: str  # "all", "positives" or "negatives"
    who: str
    what: str


FOUND = Rate("tpr", "positives", "who truly are “{positive}”", "found")
ALARMS = Rate("fpr", "negatives", "who truly are not “{positive}”", "wrongly predicted “{positive}”")
SELECTED = Rate("selection_rate", "all", "", "predicted “{positive}”")
# What is told of a model, by what it was trained for: its own measure first.
TOLD = {
    "statistical_parity": (SELECTED, FOUND, ALARMS),
    "equal_opportunity": (FOUND, ALARMS, SELECTED),
    "predictive_equality": (ALARMS, FOUND, SELECTED),
    "disparate_mistreatment": (FOUND, ALARMS, SELECTED),
}


def size(row: Row, of: str) -> int:
    positives = int(row["positives"])
    return {"all": int(row["n"]), "positives": positives, "negatives": int(row["n"]) - positives}[of]


def large_enough(rows: list[Row], of: str, least: int) -> list[Row]:
    """The groups with enough rows to speak of."""
    return [row for row in rows if size(row, of) >= max(least, 1)]


def hundred(share: float) -> str:
    count = round(100 * share)
    if count == 0 and share > 0:
        return "fewer than 1"
    return "more than 99" if count == 100 and share < 1 else str(count)


def ends(report: Row, attribute: str, rate: Rate) -> tuple[list[Row], int]:
    """The groups to name, and of how many: both of two, in one order throughout; of more, the one with the highest and
    the one with the lowest rate.
    """
    least = report["audit"]["settings"]["min_group_size"]
    rows = large_enough(of(report["audit"]["groups"], attribute), rate.of, least)
    known = [row for row in rows if row[rate.name] is not None]
    if len(known) <= 2:
        return known, len(known)
    ordered = sorted(known, key=lambda row: -row[rate.name])
    return [ordered[0], ordered[-1]], len(known)


def sentence(report: Row, attribute: str, rate: Rate) -> str | None:
    """Counts out of a hundred in the groups of an attribute, and with the model that it is compared with."""
    found, n_groups = ends(report, attribute, rate)
    if len(found) < 2:
        return None
    who, what = (text.format(positive=report["data"]["positive"]) for text in (rate.who, rate.what))
    counts = [f"{hundred(row[rate.name])} in the group {in_a_sentence(attribute, row['group'])}" for row in found]
    text = f"Of every 100{f' {who}' if who else ''}, {' and '.join(counts)} are {what}"
    if n_groups > 2:
        text += f" (most and fewest of {n_groups} groups)"
    compared = report["comparison"]
    if compared:
        rates = {row["group"]: row[rate.name] for row in of(compared["groups"], attribute)}
        others = [hundred(rates[row["group"]]) for row in found if rates.get(row["group"]) is not None]
        if len(others) == len(found):
            text += f"; with {compared['baseline']}, {' and '.join(others)}"
    return f"{text}."


def sentences(report: Row, attribute: str, measure: str) -> list[str]:
    told = (sentence(report, attribute, rate) for rate in TOLD[measure])
    return [text for text in told if text is not None]


def cell(report: Row, attribute: str, rate: Rate) -> str:
    """The same for a table: ``Female 46, Male 45``."""
    found, _ = ends(report, attribute, rate)
    return ", ".join(f"{in_a_sentence(attribute, row['group'])} {hundred(row[rate.name])}" for row in found) or "–"


FOUR_FIFTHS = 0.8  # the lowest ratio of favourable predictions that the four-fifths rule accepts
# What a gap is a gap in.
GAP_IN = {
    "statistical_parity": "in predicted positive",
    "equal_opportunity": "in people found",
    "predictive_equality": "in false alarms",
    "disparate_mistreatment": "in people found plus false alarms",
    "equalized_odds_difference": "in people found or false alarms",
    "accuracy_difference": "in accuracy",
    "precision_difference": "in precision",
}


def strip(report: Row) -> list[Row]:
    """Four tiles, of a model five: a name, a value, a remark, and whether it is good, bad or neither."""
    gap = _gap(report) if report["limit"] is None else _gap_and_limit(report)
    return [_ratio(report), gap, _sensitive(report), _smallest(report), *_maximised(report)]


def _maximised(report: Row) -> list[Row]:
    """What a model was chosen for, beside the accuracy that people look for."""
    aim = (report["model"] or {}).get("aim")
    if aim is None:
        return []
    here = {MEASURES[name]: percent(overall_rows(report)[name]["value"]) for name in PERFORMANCE}
    if aim["name"] in here:
        own, (other, value) = here.pop(aim["name"]), *here.items()
        return [_tile("Maximised", capital(aim["name"]), f"{own} here; {other} is {value}.")]
    told = " and ".join(f"{name} is {value}" for name, value in here.items())
    name = "Minimised" if aim["said"].startswith("the lowest") else "Maximised"
    return [_tile(name, capital(aim["name"]), f"{capital(told)} here.")]


def taken(report: Row) -> str:
    """Which of the alternatives the model is, and why."""
    aim = report["model"]["aim"]
    if aim is not None:
        return f"Taken is the first row, for it has {aim['said']}."
    if report["alternatives"]["is_here"]:
        return "Taken is the first row: it was not chosen for any of these measures, but set."
    return "The model is none of these: its threshold was set, and not measured in training."


def _tile(name: str, value: str, remark: str, state: str = "plain", **more: Any) -> Row:
    return {"name": name, "value": value, "remark": remark, "state": state, **more}


def lowest_ratio(report: Row, positive: bool) -> Row | None:
    """Who gets a label least and most often, of the attribute whose groups are furthest apart in it: the positive
    label, or the negative one. ``before`` is the lowest ratio in this attribute with the other model.
    """
    least = report["audit"]["settings"]["min_group_size"]
    found = []
    for attribute in columns(report):
        rows = large_enough(of(report["audit"]["groups"], attribute), "all", least)
        shares = {row["group"]: _share(row, positive) for row in rows}
        if len(shares) < 2:
            continue
        low, high = (end(shares, key=shares.__getitem__) for end in (min, max))
        if shares[high] > 0:
            ratio = shares[low] / shares[high]
            others = of((report["comparison"] or {"groups": []})["groups"], attribute)
            old = [_share(row, positive) for row in others if row["group"] in shares]
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
    found = [(label(report, side), lowest_ratio(report, side)) for side in sides]
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
    state, rule = "bad", "Below 0.80, the mark of the four-fifths rule."
    if row["ratio"] >= FOUR_FIFTHS:
        state, rule = "good", "At least 0.80, as the four-fifths rule asks."
    value, share = _two_digits(row["ratio"]), row["ratio"]
    return _tile(name, value, f"{told[0]} {rule}", state, share=share, mark=FOUR_FIFTHS)


def _told(report: Row, label: str, row: Row | None) -> str:
    """Whose shares a ratio compares, and what it was with the other model."""
    if row is None:
        return f"Nobody is predicted “{label}”, or the groups have too few rows."
    low, high = (in_a_sentence(row["attribute"], row[end]) for end in ("low", "high"))
    before = ""
    if row["before"] is not None and report["data"]["favourable"] is not None:
        before = f"; with {report['comparison']['baseline']} {_two_digits(row['before'])}"
    return f"“{label}”: {low} against {high}{before}."


def _two_digits(ratio: float) -> str:
    looks_like_the_mark = ratio < FOUR_FIFTHS and f"{ratio:.2f}" == "0.80"
    return f"{floor(1000 * ratio) / 1000:.3f}" if looks_like_the_mark else f"{ratio:.2f}"


def _gap(report: Row) -> Row:
    """The gap that the model was trained to close, where it is widest: between groups of enough rows to speak of."""
    measure = target_measure(report)
    found = [(attribute, *between_large(report, attribute, measure)) for attribute in report["data"]["attributes"]]
    known = [each for each in found if each[1].value == each[1].value]
    if not known:
        attribute = found[0][0]
        remark = f"{capital(GAP_IN[measure])}: {measure_row(report, attribute, measure)['note']}."
        return _tile(f"Gap by {attribute}", UNDEFINED, remark)
    attribute, gap, small = max(known, key=lambda each: each[1].value)
    limit = (report["model"] or {}).get("aim") and report["model"]["aim"]["limit"]
    told = "no limit was set" if limit is None else f"the choice allowed {points(limit)} in each rate, on other rows"
    remark = f"{capital(GAP_IN[measure])} ({within(gap)}); {told}."
    remark += f" Without {small}: too few rows." if small else ""
    return _tile(f"Gap by {attribute}", f"{points(gap.value)} points", remark)


def within(gap: Interval) -> str:
    """An interval of a gap, with a word if it is so wide that it says next to nothing."""
    told = f"{points(gap.lower)} to {points(gap.upper)}"
    if gap.upper - gap.lower <= TOO_WIDE:
        return told
    return f"{told}: these rows do not tell" + (" how large it is" if gap.lower > 0 else "")


def between_large(report: Row, attribute: str, measure: str) -> tuple[Interval, str]:
    """The largest difference between groups of enough rows, as an audit of them alone has it, and the other groups."""
    settings, groups = report["audit"]["settings"], of(report["audit"]["groups"], attribute)
    rates = {"statistical_parity": [SELECTED], "equal_opportunity": [FOUND], "predictive_equality": [ALARMS]}
    parts, small = [], dict[str, None]()
    for rate in rates.get(measure, [FOUND, ALARMS]):
        large = large_enough(groups, rate.of, settings["min_group_size"])
        small |= dict.fromkeys(row["group"] for row in groups if row not in large)
        n = [size(row, rate.of) * row["n_effective"] / row["n"] for row in large]
        parts.append(Rates(np.array([row[rate.name] for row in large], dtype=float), np.array(n)))
    if not small:  # the audit has it
        row = measure_row(report, attribute, measure)
        return (UNKNOWN if row["value"] is None else Interval(*(row[end] for end in Interval._fields))), ""
    names = ", ".join(small) if len(small) <= 3 else f"{len(small)} groups"
    if any(len(part.n) < 2 for part in parts):
        return UNKNOWN, names
    normals = np.random.default_rng(settings["random_state"]).standard_normal((2, settings["n_bootstrap"], len(groups)))
    own = [draw[:, : len(part.n)] for draw, part in zip(normals, parts, strict=False)]
    found = largest_of if len(parts) == 1 else sum_of_largest
    return found(parts, settings["confidence"], own), names


def _gap_and_limit(report: Row) -> Row:
    """Of the gaps under a limit, the one that keeps it least. Small groups count, as far as their intervals tell."""
    limit = report["limit"]
    rows = [
        measure_row(report, attribute, name) for attribute in report["data"]["attributes"] for name in limit["measures"]
    ]
    known = [row for row in rows if row["value"] is not None]
    if len(known) < len(rows):
        row = next(row for row in rows if row["value"] is None)
        remark = f"{capital(GAP_IN[row['measure']])}: {row['note']}, so it does not pass."
        return _tile(f"Gap by {row['attribute']}", UNDEFINED, remark, "bad")
    row = max(known, key=lambda row: (row["lower"], row["value"]))
    told = within(Interval(row["value"], row["lower"], row["upper"]))
    state, allowed = "plain", f"the limit of {points(limit['value'])} points"
    verdict = f"passes: not shown to be above {allowed}"
    if row["lower"] > limit["value"]:
        state, verdict = "bad", f"does not pass: above {allowed}"
    elif all(row["upper"] <= limit["value"] for row in known):
        state, verdict = "good", f"passes: below {allowed}"
    remark = f"{capital(GAP_IN[row['measure']])} ({told}); {verdict}."
    return _tile(f"Gap by {row['attribute']}", f"{points(row['value'])} points", remark, state)


def _sensitive(report: Row) -> Row:
    name, model = "Sensitive column used", report["model"]
    if model is None or model["importances"] is None:
        return _tile(name, "Not known", "Only predictions were given." if model is None else "The model does not tell.")
    used = sensitive_features(report)
    if used:
        return _tile(name, "Yes", f"The score looks at {' and '.join(used)} directly.", "bad")
    return _tile(name, "No", f"{' and '.join(columns(report))} is no feature; others may stand in for it.", "good")


def _smallest(report: Row) -> Row:
    data, least = report["data"], report["audit"]["settings"]["min_group_size"]
    own = columns(report)
    row = min((row for row in report["audit"]["groups"] if row["attribute"] in own), key=lambda row: row["n"])
    rows = f"{row['n']:,} rows, {row['positives']:,} of them “{data['positive']}”"
    name = in_a_sentence(row["attribute"], row["group"])
    if row["note"]:
        return _tile("Smallest group", name, f"{rows}: too few to judge, below {least}.", "bad")
    return _tile("Smallest group", name, f"{rows}.")


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
