"""The summary in plain language, from the numbers of a report: what it shows, what to conclude and what not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..audit._text import FINDINGS, NO_BREAK, finding

Row = dict[str, Any]

# What a notion asks for, to be read after "trained for".
GOALS = {
    "statistical_parity": "equal rates of positive predictions",
    "equal_opportunity": "equal rates of missed positives (false negatives)",
    "predictive_equality": "equal rates of false alarms (false positives)",
    "disparate_mistreatment": "equal rates of missed positives (false negatives) and of false alarms (false positives)",
}
MEASURES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "statistical_parity": "the gap in positive predictions (statistical parity)",
    "equal_opportunity": "the gap in missed positives (equal opportunity)",
    "predictive_equality": "the gap in false alarms (predictive equality)",
    "disparate_mistreatment": "the sum of the gaps in missed positives and false alarms (disparate mistreatment)",
}
PERFORMANCE = ("accuracy", "balanced_accuracy")


def percent(share: float) -> str:
    return f"{100 * share:.1f}{NO_BREAK}%"


def points(share: float) -> str:
    """A difference in percentage points, with a real minus."""
    text = f"{100 * share:.1f}"
    return "0.0" if text == "-0.0" else text.replace("-", "−")


def summary(report: Row) -> dict[str, Any]:
    """Three lists of sentences, and whether the first says that everyone gets the same prediction."""
    lists = {"sentences": _sentences(report), "conclude": _conclude(report), "not_conclude": _not_conclude(report)}
    return {"degenerate": bool(_degenerate(report)), **lists}


def goal(notion: str) -> str:
    """What a notion wants to be equal; one of the user's own is known by its name only."""
    return GOALS.get(notion, f"the notion “{notion}”")


def target_measure(report: Row) -> str:
    """The measure the model was trained for, if the audit has it."""
    notion = report["model"]["notion"] if report["model"] else None
    return notion if notion in GOALS else "disparate_mistreatment"


def _sentences(report: Row) -> list[str]:
    data, audit = report["data"], report["audit"]
    overall = {row["measure"]: row for row in audit["overall"]}
    accuracy, level = overall["accuracy"], _level(report)
    sentences = [*_degenerate(report), *_about_model(report)]
    checked = f"{data['n']:,} predictions were checked."
    if report["model"]:
        checked = f"It was checked on {data['n']:,} rows that it should not have seen in training."
    sentences.append(
        f"{checked} "
        f"{percent(overall['base_rate']['value'])} of the rows are positive (“{data['positive_label']}”), "
        f"{percent(overall['selection_rate']['value'])} are predicted positive, and {percent(accuracy['value'])} of "
        f"the predictions are right ({level} {percent(accuracy['lower'])} to {percent(accuracy['upper'])})."
    )
    for attribute in data["attributes"]:
        row = measure_row(report, attribute, target_measure(report))
        if row["value"] is None:
            sentences.append(f"{attribute}: {MEASURES[row['measure']]} is not defined ({row['note']}).")
            continue
        sentences.append(
            f"Between the groups of {attribute}, {MEASURES[row['measure']]} is {points(row['value'])} points "
            f"({level} {points(row['lower'])} to {points(row['upper'])}); 0 would be no difference."
        )
    sentences += _changes(report)
    return sentences


def _degenerate(report: Row) -> list[str]:
    """The headline if everyone gets the same prediction: nothing else on the page matters then."""
    data = report["data"]
    rate = next(row["value"] for row in report["audit"]["overall"] if row["measure"] == "selection_rate")
    if rate not in (0.0, 1.0):
        return []
    other = data["negative_label"] if data.get("negative_label") is not None else f"not {data['positive_label']}"
    label = data["positive_label"] if rate else other
    who = "The model predicts" if report["model"] else "The predictions are"
    return [f"{who} “{label}” for everyone. Groups are treated alike because nobody is told apart: it is of no use."]


def _about_model(report: Row) -> list[str]:
    model, data = report["model"], report["data"]
    if model is None:
        return []
    labels = f"“{data['positive_label']}” (positive) or “{data['negative_label']}” (negative)"
    of = f" for “{data['target']}”" if data["target"] else ""
    rules = (
        f"{model['theta']} simple rules, each about one feature"
        if model["theta"] > 1 and model["learner"] is None
        else "one simple rule about one feature"
        if model["learner"] is None
        else (f"the weighted votes of {model['theta']} models of the kind {model['learner']}")
    )
    if model["n_bags"]:
        rules = f"{model['theta']} small decision trees from {model['n_bags']} trainings, averaged"
    trained = "" if model["notion"] == "none" else f" It was trained for {goal(model['notion'])}."
    kept = (
        ""
        if model["theta"] == model["n_estimators"] or model["n_bags"]
        else f" {model['n_estimators']} were trained; only the first is used: the model is hardly trained."
        if model["theta"] == 1
        else f" {model['n_estimators']} were trained; the first {model['theta']} are used."
    )
    return [f"The model, {model['name']}, predicts {labels}{of} by adding up {rules}.{kept}{trained}"]


def _changes(report: Row) -> list[str]:
    """What is different from the baseline: performance in one sentence, and the gap per attribute."""
    comparison = report["comparison"]
    if comparison is None:
        return []
    rows = comparison["rows"]
    worth = [_change(row, report) for row in rows if row["measure"] in PERFORMANCE]
    sentences = [f"Compared with {comparison['baseline']} on the same rows, {' and '.join(worth)}."]
    for row in rows:
        if row["measure"] == target_measure(report) and row["difference"] is not None:
            sentences.append(
                f"Compared with {comparison['baseline']}, between the groups of {row['attribute']}, "
                f"{_change(row, report)}."
            )
    return sentences


def _change(row: Row, report: Row) -> str:
    was, now = row["baseline"]["value"], row["model"]["value"]
    rate = percent if row["measure"] in PERFORMANCE else (lambda share: f"{points(share)} points")
    change = f"{MEASURES[row['measure']]} went from {rate(was)} to {rate(now)}"
    within = f"{_level(report)} of the change {points(row['lower'])} to {points(row['upper'])} points"
    if row["lower"] <= 0 <= row["upper"]:
        return f"{change}, a change that chance alone can explain ({within})"
    return f"{change} ({within})"


def _conclude(report: Row) -> list[str]:
    audit, confidence = report["audit"], _level(report)
    overall = {row["measure"]: row for row in audit["overall"]}
    accuracy, base = overall["accuracy"], overall["base_rate"]["value"]
    common = max(base, 1 - base)
    always = f"always predicting the more common label ({percent(common)})"
    if accuracy["lower"] > common:
        items = [f"The predictions are right more often ({percent(accuracy['value'])}) than {always} would be."]
    elif accuracy["upper"] < common:
        items = [
            f"The predictions are right less often ({percent(accuracy['value'])}) than {always} would be. That can be "
            "the price of finding more of the rarer label: look at balanced accuracy, "
            f"{percent(overall['balanced_accuracy']['value'])}, where always predicting one label has 50 %."
        ]
    else:
        items = [
            f"The predictions are right about as often ({percent(accuracy['value'])}) as {always} would be; balanced "
            f"accuracy is {percent(overall['balanced_accuracy']['value'])}, where always predicting one label has 50 %."
        ]
    least = audit["settings"]["min_group_size"]
    for row in audit["measures"]:
        if row["measure"] in FINDINGS and row["measure"] in MEASURES:
            items.append(finding(row, audit["groups"], confidence, least))
    used = _sensitive_features(report)
    if used:
        items.append(
            f"The model looks at {' and '.join(used)} directly: two people who differ in nothing else may be scored "
            "differently."
        )
    comparison = report["comparison"]
    if comparison is not None:
        for row in comparison["rows"]:
            if row["measure"] not in (*PERFORMANCE, target_measure(report)) or row["lower"] is None:
                continue
            if row["lower"] <= 0 <= row["upper"]:
                continue
            better = (row["difference"] > 0) == (row["measure"] in PERFORMANCE)
            of = f" between the groups of {row['attribute']}" if row["attribute"] else ""
            items.append(
                f"On these data the model is {'better' if better else 'worse'} than {comparison['baseline']} in "
                f"{MEASURES[row['measure']]}{of}, by {points(abs(row['difference']))} points "
                f"({confidence} {points(_ends(row)[0])} to {points(_ends(row)[1])})."
            )
    return items


def _columns(report: Row) -> list[str]:
    """The sensitive columns, without their crossing, which is the last of several."""
    attributes: list[str] = report["data"]["attributes"]
    return attributes[:1] if len(attributes) == 1 else attributes[:-1]


def _sensitive_features(report: Row) -> list[str]:
    """The sensitive columns that are features of the model, by their names."""
    importances = (report["model"] or {"importances": None})["importances"] or []
    used = {row["feature"] for row in importances if (row["alpha_share"] or 0) > 0}
    return [name for name in _columns(report) if name in used]


def _ends(row: Row) -> Sequence[float]:
    """The limits of the size of a difference that has one sign."""
    return sorted((abs(row["lower"]), abs(row["upper"])))


def _not_conclude(report: Row) -> list[str]:
    audit, data = report["audit"], report["data"]
    items = []
    open_rows = [
        row
        for row in audit["measures"]
        if row["measure"] in FINDINGS and row["value"] is not None and row["lower"] == 0
    ]
    if open_rows:
        most = max(open_rows, key=lambda row: row["upper"])
        items.append(
            "That there is no difference where none is established. The data do not rule one out: for example up to "
            f"{points(most['upper'])} points in {MEASURES.get(most['measure'], most['rate'])} between the groups of "
            f"{most['attribute']}."
        )
    items.append(
        "That a difference is caused by the group, or that it is unjust: the figures say how large it is, not where it "
        "comes from. Nor that the model is fair because a gap is small: the measures compare whole groups, not people."
    )
    for attribute in data["attributes"]:
        groups = [row for row in audit["groups"] if row["attribute"] == attribute and row["base_rate"] is not None]
        low, high = (end(groups, key=lambda row: row["base_rate"]) for end in (min, max))
        if low["base_rate_upper"] < high["base_rate_lower"]:
            items.append(
                f"That all measures could be zero at once. The groups of {attribute} have different shares of true "
                f"positives ({low['group']} {percent(low['base_rate'])}, {high['group']} {percent(high['base_rate'])}):"
                " a useful model with equal error rates cannot also have equal rates of positive predictions."
            )
            break
    small = [row["group"] for row in audit["groups"] if row["note"]]
    if small:
        items.append(f"Much about groups with few rows: {', '.join(small[:8])}{', …' if len(small) > 8 else ''}.")
    if len(data["attributes"]) == 1:
        items.append(
            "Anything about groups that are not shown here, such as parts of the groups of "
            f"{data['attributes'][0]}, or people who are not in the data."
        )
    else:
        items.append("Anything about groups that are not shown here, or people who are not in the data.")
    items.append(
        "That the labels are right. Where past decisions were biased, a model that repeats them looks accurate here."
    )
    if report["model"] is not None:
        if report["model"]["importances"] is not None and not _sensitive_features(report):
            items.append(
                f"That the model knows nothing of {' and '.join(_columns(report))} because no feature of that name is "
                "used: other features may stand in for it."
            )
        items.append(
            "What would happen if a person’s features changed. The curves say how the model scores a value, not what "
            "the value brings about."
        )
    if report["rounds"] and report["rounds"]["symbol"] == "θ":
        items.append(
            "That another number of rules θ would do as well as the slider shows, if it was chosen with the slider: "
            "a choice needs data of its own."
        )
    return items


def measure_row(report: Row, attribute: str, measure: str) -> Row:
    """A row of the audit's measures."""
    return next(
        row for row in report["audit"]["measures"] if row["attribute"] == attribute and row["measure"] == measure
    )


def _level(report: Row) -> str:
    return f"{100 * report['audit']['settings']['confidence']:g}{NO_BREAK}% interval"
