"""The report's charts: what each shows in a sentence, its data as a table, and the record that is drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..audit._text import Row, of
from ..explain import ShapeFunction
from ..explain._scores import kinds_of
from ..explain._shapes import Extent
from ..plot import _chart
from ..plot._chart import GROUP_ROLES, Axis, Cells, Chart, Line, Points, Rule, Word, cut, signed
from . import _tables, _words
from ._charts import ROW, spec
from ._tables import Table

MAX_BARS, MAX_PARTS, MAX_STEPS, MAX_VALUES = 20, 12, 10, 10  # that are drawn: features, parts of a gap, of a score, …
FEW_ROWS = 20  # a cell of fewer is grey
MANY, LOW_ROW = 5, 18  # so many groups have lower rows, in pixels
LEGEND = 40  # letters


class Figure(NamedTuple):
    """A chart: its name on the page, what it shows in a sentence, its specification, its data as a table."""

    name: str
    title: str
    caption: str
    spec: dict[str, Any]
    table: Table | None


def groups(report: Row, attribute: str, at: int) -> Figure:
    rows = of(report["audit"]["groups"], attribute)
    roles = _chart.group_roles(len(rows))
    positive, other = report["data"]["positive"], (report["comparison"] or {"baseline": "", "groups": []})
    rates = {"selection_rate": f"Predicted “{cut(positive, LEGEND)}”", "tpr": "Found", "fpr": "False alarms"}
    compared = {row["group"]: row for row in of(other["groups"], attribute)}
    shown = {name: [row for row in rows if row[name] is not None] for name in rates}
    marks: list[Any] = []
    ticks: list[float] = []
    for (name, own), (top, places) in zip(shown.items(), _chart.blocks([*map(len, shown.values())]), strict=True):
        marks.append(Word(0, top, rates[name], heading=True))
        ticks += places
        if compared:
            shares = [compared.get(row["group"], {}).get(name) for row in own]
            hover = [
                f"{row['group']}, {other['baseline']}: {_words.percent(s)}" for row, s in zip(own, shares, strict=True)
            ]
            legend = "" if ticks != places else cut(f"the same with {other['baseline']}", LEGEND)
            marks.append(Points(shares, places, "baseline", "ring", 9, hover=hover, name=legend))
        x, low, high = ([row[key] for row in own] for key in (name, f"{name}_lower", f"{name}_upper"))
        hover = [f"{row['group']}: {_tables.rate(row, name)}" for row in own]
        marks.append(Points(x, places, roles[: len(own)], size=7.5, low=low, high=high, hover=hover))
    names = [row["group"] for own in shown.values() for row in own]
    height = (ROW if len(rows) < MANY else LOW_ROW) * (max(ticks, default=0.0) + 1.6) + 56
    x_axis = Axis(range=(0.0, 1.02), percent=True)
    chart = Chart(marks, x_axis, Axis(names=names, at=ticks), pixels=height, legend=bool(compared))
    drawn = spec(chart, titles=False)
    drawn["layout"]["margin"]["t"] = 4
    grey = f" Grey circles: {other['baseline']}, on the same rows." if compared else ""
    caption = (
        f"Each dot is a group of {attribute}, the line through it its interval.{grey} Found: of those who truly are "
        f"“{positive}”, the share that is predicted so. False alarms: of all others, the share that is, too. Where the "
        "lines of two groups do not overlap, chance hardly explains the difference."
    )
    return Figure(f"groups-{at}", f"The groups of {attribute}", caption, drawn, None)


def reliability(report: Row, attribute: str, at: int) -> Figure | None:
    """Score against outcome, one line per group, if there are not too many to be told apart."""
    rows = of(report["audit"]["reliability"], attribute)
    if len({row["group"] for row in rows}) > len(GROUP_ROLES):
        return None
    x, y = (Axis(title, range=(0.0, 1.02), percent=True) for title in ("mean score", "share that is truly positive"))
    chart = _chart.reliability(rows, GROUP_ROLES, intervals=False, x=x, y=y, pixels=360, legend=True)
    caption = (
        f"Scores against outcomes in each group of {attribute}. On the dotted line a score of 0.3 means that 30 % are "
        "positive. Where two groups’ lines differ, the same score means different things for them."
    )
    cells = [
        [row["group"], f"{row['n']:,}", _words.percent(row["mean_score"]), _tables.rate(row, "observed")]
        for row in rows
    ]
    header = [attribute, "Rows", "Mean score", "Truly positive (interval)"]
    table = Table(f"Scores and outcomes, groups of {attribute}", header, cells)
    return Figure(f"reliability-{at}", f"What a score means, by {attribute}", caption, spec(chart), table)


def importances(report: Row) -> Figure:
    found = report["model"]["importances"]
    moves = "mean_abs_deviation" in found[0]
    by = "mean_abs_deviation" if moves else "alpha_share"
    used = [row for row in found if row[by] > 0]
    shown = used[:MAX_BARS]
    what = "How far each moves the score, on average" if moves else "The share of each in the weights of all rules"
    title = "mean shift of the score" if moves else "share of weights"
    chart = _chart.bars([(row["feature"], [row[by]]) for row in shown], {"": "ours"}, "{:.2f}".format, x=title)
    most = f"the first {len(shown)} of " if len(shown) < len(used) else "all "
    kinds = kinds_of(row["feature"] for row in used)
    caption = (
        f"{what}. {shown[0]['feature']} matters most. Drawn are {most}{len(used)} {kinds} that the model uses; there "
        f"are {len(found)} in all."
        if shown
        else "The model uses no feature."
    )
    header = ["Feature", *(["Moves the score by"] if moves else []), "Share of weights"]
    cells = [
        [row["feature"], *([f"{row[by]:.3f}"] if moves else []), _words.percent(row["alpha_share"])] for row in found
    ]
    name = "Importance of the features"
    return Figure("importances", name, caption, spec(chart), Table(name, header, cells))


def shape(found: Row, at: int) -> Figure:
    """A step function: a line over numbers, bars for categories."""
    fields = ("feature", "kind", "scores", "missing", "other", "spread")
    parts: Row = {name: found.get(name) for name in fields}
    function = ShapeFunction(**parts, thresholds=found.get("thresholds", ()), categories=found.get("categories", ()))
    if function.kind == "categorical":
        shares = [*found["shares"], found["other_share"], found["missing_share"]]
        rows = _chart.same_score(function, shares, MAX_BARS)
        chart = _chart.categories([row._replace(spread=None) for row in rows])  # on a phone is no room for it
        best, worst = (f"for {row.name} ({signed(row.score)})" for row in (rows[0], rows[-3]))
        more = "."
        if len({*function.scores}) > MAX_BARS:
            more += f" The {MAX_BARS} highest and lowest scores are drawn; all are in the table."
    else:
        chart = _chart.steps(function, Extent(found["range"], found["edges"], found["shares"], 0, 0), found["shares"])
        best, worst = (_end_of(function, end) for end in (max, min))
        more = f"; a missing value adds {signed(function.missing)}."
        if function.spread is not None:
            more += " The band shows how far the trainings differ that the model is the mean of."
    caption = f"{function.feature}: the score is highest {best} and lowest {worst}{more}"
    return Figure(f"shape-{at}", function.feature, caption, spec(chart, titles=False), _tables.shape(found))


def _end_of(function: ShapeFunction, end: Any) -> str:
    """Where a step function is highest or lowest, in words."""
    cuts = [_tables.number(threshold) for threshold in function.thresholds]
    i = function.scores.index(end(function.scores))
    value = signed(function.scores[i])
    if not cuts:
        return f"everywhere ({value})"
    if i == 0:
        return f"up to {cuts[0]} ({value})"
    return f"above {cuts[-1]} ({value})" if i == len(cuts) else f"between {cuts[i - 1]} and {cuts[i]} ({value})"


def pair(found: Row, at: int) -> Figure:
    """A heat map: blue raises the score, orange lowers it; cells of few rows are grey, of none empty."""
    cells = Cells(np.array(found["scores"]), np.array(found["weight"]), FEW_ROWS)
    (first, second), labels = found["features"], (found["rows"], found["columns"])
    chart = _chart.pair((first, second), labels, cells, MAX_VALUES)
    chart = replace(chart, pixels=40 * len(chart.y.names or ()) + 90)
    support = chart.marks[0].weight
    high, low = (_where(found, cells, end) for end in (np.argmax, np.argmin))
    caption = f"{first} and {second} together, beyond what each adds alone: highest {high}, lowest {low}."
    if ((support > 0) & (support < FEW_ROWS)).any():
        caption += f" Grey cells have fewer than {FEW_ROWS} training rows."
    if (support == 0).any():
        caption += " Empty cells have no training rows."
    if any(n < int((cells.weight.sum(axis=1 - side) > 0).sum()) for side, n in enumerate(support.shape)):
        caption += " The values with the strongest effect are drawn; all are in the table."
    rows = [
        [row, column, signed(score), f"{weight:,.0f}"]
        for row, scores, weights in zip(found["rows"], found["scores"], found["weight"], strict=True)
        for column, score, weight in zip(found["columns"], scores, weights, strict=True)
        if weight > 0
    ]
    table = Table(f"What {first} and {second} add together", [first, second, "Score", "Training rows"], rows, text=2)
    return Figure(f"pair-{at}", f"{cut(first, LEGEND)} × {cut(second, LEGEND)}", caption, spec(chart), table)


def _where(found: Row, cells: Cells, end: Any) -> str:
    """The cell of enough rows that has the highest or lowest score, in words."""
    enough = cells.weight >= FEW_ROWS if (cells.weight >= FEW_ROWS).any() else cells.weight > 0
    worst = -np.inf if end is np.argmax else np.inf
    i, j = np.unravel_index(end(np.where(enough, cells.scores, worst)), cells.scores.shape)
    (first, second), value = found["features"], signed(float(cells.scores[i, j]))
    return f"for {first} {found['rows'][i]} and {second} {found['columns'][j]} ({value})"


def pairs_sentence(model: Row) -> str:
    """How much of the score pairs carry."""
    shown = len(model["pairs"])
    most = "" if shown == model["n_pairs"] else f" The {shown} that matter most are drawn."
    return (
        f"The trees also combine features two at a time: {model['n_pairs']} pairs, which carry "
        f"{_words.percent(model['pair_share'])} of what moves the score from row to row; single features carry the "
        f"rest.{most} What a feature does on its own is in its curve above, so the cells of a row or column of a "
        "picture average to 0 over the training data."
    )


def history(report: Row) -> Figure:
    """Balanced error and the gap after every round; the last trace and the last line are moved by the slider."""
    rounds, on = report["rounds"], report["rounds"]["chosen_on"]
    theta, rules = rounds["theta"], rounds["symbol"] == "θ"
    gap = f"Gap, {_words.GAP_IN.get(rounds['notion'], rounds['notion'])}"
    series = [("Balanced error", rounds["ber"], "ours", "solid"), (gap, rounds["violation"], "down", "solid")]
    if on is not None:
        series.append(("Balanced error in training", rounds["chosen_ber"], "ours", "dot"))
        series.append(("Gap in training", rounds["chosen_violation"], "down", "dot"))
    at = rounds["rounds"].index(theta)
    hover = "%{x} rules: %{y:.3f}" if rules else "fairness %{x}: %{y:.3f}"
    marks = [
        *(
            Line(rounds["rounds"], values, role, name, dash, 2 if dash == "solid" else 1.3, hover=hover)
            for name, values, role, dash in series
        ),
        Points([theta, theta], [rounds["ber"][at], rounds["violation"][at]], "ink", size=8),
        Rule(x=theta, dash="dash"),
        Rule(x=theta, role="ink"),
    ]
    x = Axis("number of rules used" if rules else "fairness: 0 is the plain model, 1 the fair one", bounds=(0, theta))
    drawn = spec(Chart(marks, x, Axis(from_zero=True), pixels=380, legend=True))
    drawn["layout"]["shapes"][-1]["visible"] = False  # until it is elsewhere: it would cover the dashed line
    chosen = "" if on is None else " Dotted: the same on the rows that training made its choice on."
    caption = (
        f"Blue: the share of errors, averaged over both labels. Orange: the gap between groups. Lower is better for "
        f"both. The dashed upright line is the model: {f'{theta} rules' if rules else f'fairness {theta:g}'}.{chosen}"
    )
    cells = [
        [str(j), *("–" if values[i] is None else f"{values[i]:.3f}" for _, values, *_ in series)]
        for i, j in enumerate(rounds["rounds"])
    ]
    header = ["Rules" if rules else "Fairness", *(name for name, *_ in series)]
    table = Table("Errors and gap" + (" with so many rules" if rules else " at every blend"), header, cells)
    return Figure("history", "Errors and gap" if rules else "From plain to fair", caption, drawn, table)


def comparison(report: Row, attribute: str, at: int) -> Figure:
    """The measures of both models with their intervals."""
    rows = [row for row in of(report["comparison"]["rows"], attribute) if row["difference"] is not None]
    baseline, model = report["comparison"]["baseline"], report["model"]["name"]
    marks = []
    looks = (("baseline", baseline, "baseline", "ring", -0.16), ("model", model, "ours", "dot", 0.16))
    for which, name, role, kind, shift in looks:
        x, low, high = ([100 * row[which][end] for row in rows] for end in ("value", "lower", "upper"))
        hover = [f"{_tables.interval(row[which], _words.points)} points" for row in rows]
        places = [j + shift for j in range(len(rows))]
        marks.append(Points(x, places, role, kind, 8, None, low, high, hover, cut(name, LEGEND)))
    names = [_tables.TITLES[row["measure"]].split(" (")[0].lower() for row in rows]
    x_axis = Axis("gap between the groups, in points", from_zero=True)
    chart = Chart(marks, x_axis, Axis(names=names), pixels=52 * len(rows) + 90, legend=True)
    caption = (
        f"How far apart the groups of {attribute} are, with {baseline} (grey) and with {model} (blue). The line "
        "through a circle is its interval. Nearer to 0 is better."
    )
    return Figure(f"comparison-{at}", f"Gaps by {attribute}", caption, spec(chart), None)


def gaps(found: Row, at: int) -> Figure:
    series = dict.fromkeys(found["models"], "baseline") | {found["models"][-1]: "ours"}
    parts = [(row["feature"], row["parts"]) for row in found["features"]]
    total = _tables.total_of(found)
    chart = _chart.gap(total, found["total"], parts, series, MAX_PARTS, x="difference in mean score")
    about = {"positives": "of the truly positive rows", "negatives": "of the truly negative rows"}.get(found["rows"])
    totals = " and ".join(f"{signed(value)} with {name}" for name, value in zip(series, found["total"], strict=True))
    caption = (
        f"Mean score of {found['high']} minus mean score of {found['low']}{f', {about}' if about else ''}: {totals} in "
        f"total. A bar to the right is a feature that scores {found['high']} higher. The bars add up to the total "
        "exactly."
    )
    return Figure(f"gap-{at}", _words.capital(about or "all rows"), caption, spec(chart), _tables.gaps(found))


def person(found: Row, positive: Any) -> Figure:
    """A waterfall from the mean score to the row's own."""
    of_features = [part for part in found["parts"] if part["value"] is not None]  # pairs have no value
    names = {part["feature"]: f"{part['feature']} = {part['value']}" for part in of_features}
    first, last = ("an average row", found["mean"]), ("this row", found["score"])
    parts = _chart.top_and_rest(((part["feature"], [part["part"]]) for part in found["parts"]), MAX_STEPS)
    chart = _chart.waterfall(first, [(names.get(name, name), part) for name, part in parts], last)
    caption = (
        f"Row {found['row']} has the score {signed(found['score'])} and is predicted “{found['predicted']}”; "
        f"its true label is “{found['true']}”. From the mean score of all rows, {signed(found['mean'])}, each "
        f"bar shows how far a value of this row moves the score: to the right speaks for “{positive}”, which is "
        "predicted above 0."
    )
    steps = [(names.get(part["feature"], part["feature"]), part["part"]) for part in found["parts"]]
    cells = [[name, signed(value)] for name, value in (first, *steps, last)]
    table = Table(f"How the score of row {found['row']} comes about", ["Value", "Moves the score by"], cells)
    return Figure("person", f"Row {found['row']}, step by step", caption, spec(chart), table)


def figures(report: Row) -> dict[str, list[Any]]:
    """All charts, by the part of the page they stand in."""
    attributes = report["data"]["attributes"]
    model, compared = report["model"] or {}, report["comparison"]
    return {
        "groups": [groups(report, attribute, i) for i, attribute in enumerate(attributes)],
        "reliability": [reliability(report, a, i) for i, a in enumerate(attributes) if report["audit"]["reliability"]],
        "importances": [importances(report)] if model.get("importances") else [],
        "shapes": [shape(found, i) for i, found in enumerate(model.get("shapes") or [])],
        "pairs": [pair(found, i) for i, found in enumerate(model.get("pairs") or [])],
        "history": [history(report)] if report["rounds"] else [],
        "comparison": [comparison(report, a, i) for i, a in enumerate(attributes) if compared],
        "gaps": [gaps(found, i) for i, found in enumerate(report["gaps"])],
        "person": [person(report["person"], report["data"]["positive"])] if report["person"] else [],
    }
