"""The report's charts as plotly figure specifications: plain dicts, with colours by the names of the page's style."""

from __future__ import annotations

from html import escape
from typing import Any

from .. import explain
from . import _plot_parts as draw
from . import _strip, _tables
from ._pairs import figure as pair
from ._person import figure as person
from ._plot_parts import BASELINE, DASHES, DOWN, GROUPS, INK, LABEL, MAX_BARS, MUTED, OURS, ROW, Figure
from ._plot_shapes import shape
from ._tables import Row, Table

MANY, LOW_ROW = 5, 18  # so many groups have lower rows, in pixels


def groups(report: Row, attribute: str, at: int) -> Figure:
    """Rates of the groups with their intervals, one block of rows per rate."""
    rows = _tables.of(report["audit"]["groups"], attribute)
    # Every row has its name beside it, so colours are a help as long as there are enough of them.
    colours = list(GROUPS if len(rows) <= len(GROUPS) else GROUPS[:1] * len(rows))
    positive = report["data"]["positive"]
    rates = {
        "selection_rate": f"Predicted “{draw.cut(positive, LABEL)}”",
        "fnr": "Missed",
        "fpr": "False alarms",
    }
    compared = {row["group"]: row for row in _tables.of((report["comparison"] or {"groups": []})["groups"], attribute)}
    traces, ticks, labels, notes, y = [], [], [], [], 0.0
    for name, title in rates.items():
        notes.append(draw.note(title, y))
        shown = [row for row in rows if row[name] is not None]
        places = [y + 1 + i for i in range(len(shown))]
        y += len(shown) + 1.3
        ticks += places
        labels += [draw.label(row["group"]) for row in shown]
        if compared:
            hollow = _hollow(compared, name, [row["group"] for row in shown], places, report)
            traces.append(hollow | {"showlegend": name == "selection_rate"})
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [draw.rounded(row[name]) for row in shown],
                "y": places,
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [draw.rounded(row[f"{name}_upper"] - row[name]) for row in shown],
                    "arrayminus": [draw.rounded(row[name] - row[f"{name}_lower"]) for row in shown],
                    "color": MUTED,
                    "thickness": 1.5,
                    "width": 4,
                },
                "marker": {"size": 10, "color": colours[: len(shown)]},
                "customdata": [escape(f"{row['group']}: {_tables.rate(row, name)}") for row in shown],
                "hovertemplate": "%{customdata}<extra></extra>",
                "showlegend": False,
            }
        )
    layout = draw.layout((ROW if len(rows) < MANY else LOW_ROW) * y + 56, legend=len(compared))
    layout["margin"] |= {"t": 4, "b": 28}
    layout["xaxis"] |= {"range": [0, 1.02], "tickformat": ".0%"}
    layout["yaxis"] |= {
        "tickvals": ticks,
        "ticktext": labels,
        "range": [y - 0.6, -0.7],
        "showgrid": False,
        "zeroline": False,
    }
    layout["annotations"] = notes
    grey = f" Grey circles: {report['comparison']['baseline']}, on the same rows." if compared else ""
    caption = (
        f"Each dot is a group of {attribute}, the line through it its interval.{grey} Missed: of those who truly are "
        f"“{positive}”, the share that is not predicted so. False alarms: of all others, the share that is. Where the "
        "lines of two groups do not overlap, chance hardly explains the difference."
    )
    return Figure(f"groups-{at}", f"The groups of {attribute}", caption, {"data": traces, "layout": layout}, None)


def _hollow(compared: Row, rate: str, names: list[str], places: list[float], report: Row) -> Row:
    """The other model's rates."""
    title = report["comparison"]["baseline"]
    shares = [compared.get(name, {}).get(rate) for name in names]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [None if share is None else draw.rounded(share) for share in shares],
        "y": places,
        "marker": {"size": 12, "color": BASELINE, "symbol": "circle-open", "line": {"width": 2}},
        "customdata": [
            escape(f"{name}, {title}: {_tables.percent(share)}") for name, share in zip(names, shares, strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
        "name": draw.label(f"the same with {title}"),
    }


def reliability(report: Row, attribute: str, at: int) -> Figure | None:
    """Score against outcome, one line per group, if there are not too many to be told apart."""
    rows = _tables.of(report["audit"]["reliability"], attribute)
    names = list(dict.fromkeys(row["group"] for row in rows))
    if len(names) > len(GROUPS):
        return None
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [0, 1],
            "y": [0, 1],
            "line": {"color": MUTED, "width": 1, "dash": "dot"},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
    for i, name in enumerate(names):
        own = [row for row in rows if row["group"] == name]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": draw.label(name),
                "x": [draw.rounded(row["mean_score"]) for row in own],
                "y": [draw.rounded(row["observed"]) for row in own],
                "line": {"color": GROUPS[i], "width": 2, "dash": DASHES[i]},
                "customdata": [escape(f"{name}: {row['n']:,} rows") for row in own],
                "hovertemplate": "%{customdata}<br>score %{x:.1%}, positive %{y:.1%}<extra></extra>",
            }
        )
    layout = draw.layout(360, legend=len(names))
    for axis, title in (("xaxis", "mean score"), ("yaxis", "share that is truly positive")):
        layout[axis] |= {"range": [0, 1.02], "tickformat": ".0%"} | draw.axis_title(title)
    caption = (
        f"Scores against outcomes in each group of {attribute}. On the dotted line a score of 0.3 means that 30 % are "
        "positive. Where two groups’ lines differ, the same score means different things for them."
    )
    table = Table(
        f"Scores and outcomes, groups of {attribute}",
        [attribute, "Rows", "Mean score", "Truly positive (interval)"],
        [
            [row["group"], f"{row['n']:,}", _tables.percent(row["mean_score"]), _tables.rate(row, "observed")]
            for row in rows
        ],
    )
    return Figure(
        f"reliability-{at}", f"What a score means, by {attribute}", caption, {"data": traces, "layout": layout}, table
    )


def importances(report: Row) -> Figure:
    """The features that matter most."""
    by = "mean_abs_deviation" if "mean_abs_deviation" in report["model"]["importances"][0] else "alpha_share"
    used = [row for row in report["model"]["importances"] if row[by] > 0]
    shown = used[:MAX_BARS]
    values = [draw.rounded(row[by]) for row in shown]
    layout = draw.layout(ROW * len(shown) + 70)
    layout["yaxis"] |= draw.named_rows([row["feature"] for row in shown])
    what = "How far each moves the score, on average"
    if by == "alpha_share":
        what = "The share of each in the weights of all rules"
    layout["xaxis"] |= draw.axis_title("share of weights" if by == "alpha_share" else "mean shift of the score")
    trace = draw.bars(values, [f"{value:.2f}" for value in values], [row["feature"] for row in shown], OURS)
    most = f"the first {len(shown)} of " if len(shown) < len(used) else "all "
    kinds = explain.kinds_of(row["feature"] for row in used)
    caption = (
        f"{what}. {shown[0]['feature']} matters most. Drawn are {most}{len(used)} {kinds} that the model uses; there "
        f"are {len(report['model']['importances'])} in all."
        if shown
        else "The model uses no feature."
    )
    table = Table(
        "Importance of the features",
        ["Feature", "Moves the score by", "Share of weights"]
        if by != "alpha_share"
        else ["Feature", "Share of weights"],
        [
            [row["feature"], *([f"{row[by]:.3f}"] if by != "alpha_share" else []), _tables.percent(row["alpha_share"])]
            for row in report["model"]["importances"]
        ],
    )
    return Figure("importances", "Importance of the features", caption, {"data": [trace], "layout": layout}, table)


def history(report: Row) -> Figure:
    """Balanced error and the gap after every round; the last trace and the last line are moved by the slider."""
    rounds, on = report["rounds"], report["rounds"]["chosen_on"]
    gap = f"Gap, {_strip.GAP_IN.get(rounds['notion'], rounds['notion'])}"
    series = [("Balanced error", rounds["ber"], OURS, "solid"), (gap, rounds["violation"], DOWN, "solid")]
    if on is not None:
        series.append(("Balanced error in training", rounds["chosen_ber"], OURS, "dot"))
        series.append(("Gap in training", rounds["chosen_violation"], DOWN, "dot"))
    place = "%{x} rules" if rounds["symbol"] == "θ" else "fairness %{x}"
    traces: list[Row] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": escape(name),
            "x": rounds["rounds"],
            "y": [None if value is None else draw.rounded(value) for value in values],
            "line": {"color": colour, "width": 2 if dash == "solid" else 1.3, "dash": dash},
            "hovertemplate": f"{place}: %{{y:.3f}}<extra></extra>",
        }
        for name, values, colour, dash in series
    ]
    theta = rounds["theta"]
    at = rounds["rounds"].index(theta)
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "x": [theta, theta],
            "y": [rounds["ber"][at], rounds["violation"][at]],
            "marker": {"size": 11, "color": INK},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    )
    layout = draw.layout(380, legend=len(series))
    layout["xaxis"] |= {"zeroline": False} | draw.axis_title(
        "number of rules used" if rounds["symbol"] == "θ" else "fairness: 0 is the plain model, 1 the fair one"
    )
    layout["yaxis"] |= {"rangemode": "tozero"}
    line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": theta, "x1": theta}
    layout["shapes"] = [
        line | {"line": {"color": MUTED, "width": 1, "dash": "dash"}},
        line | {"line": {"color": INK, "width": 1}},
    ]
    rules = rounds["symbol"] == "θ"
    chosen = "" if on is None else " Dotted: the same on the rows that training made its choice on."
    caption = (
        f"Blue: the share of errors, averaged over both labels. Orange: the gap between groups. Lower is better for "
        f"both. The dashed upright line is the model: {f'{theta} rules' if rules else f'fairness {theta:g}'}.{chosen}"
    )
    table = Table(
        "Errors and gap" + (" with so many rules" if rules else " at every blend"),
        ["Rules" if rules else "Fairness", *(name for name, *_ in series)],
        [
            [str(j), *("–" if values[i] is None else f"{values[i]:.3f}" for _, values, *_ in series)]
            for i, j in enumerate(rounds["rounds"])
        ],
    )
    return Figure(
        "history",
        "Errors and gap" if rules else "From plain to fair",
        caption,
        {"data": traces, "layout": layout},
        table,
    )


def comparison(report: Row, attribute: str, at: int) -> Figure:
    """The measures of both models with their intervals."""
    rows = [
        row for row in report["comparison"]["rows"] if row["attribute"] == attribute and row["difference"] is not None
    ]
    traces = []
    for i, (which, name) in enumerate(
        (("baseline", report["comparison"]["baseline"]), ("model", report["model"]["name"]))
    ):
        parts = [row[which] for row in rows]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": draw.label(name),
                "x": [draw.rounded(100 * part["value"]) for part in parts],
                "y": [j + 0.16 * (2 * i - 1) for j in range(len(rows))],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [draw.rounded(100 * (part["upper"] - part["value"])) for part in parts],
                    "arrayminus": [draw.rounded(100 * (part["value"] - part["lower"])) for part in parts],
                    "color": MUTED,
                    "thickness": 1.5,
                    "width": 4,
                },
                "marker": {
                    "size": 11,
                    "color": (BASELINE, OURS)[i],
                    "symbol": ("circle-open", "circle")[i],
                    "line": {"width": 2, "color": (BASELINE, OURS)[i]},
                },
                "customdata": [escape(_tables.interval(part, _tables.points)) for part in parts],
                "hovertemplate": "%{customdata} points<extra></extra>",
            }
        )
    layout = draw.layout(52 * len(rows) + 90, legend=2)
    layout["yaxis"] |= draw.named_rows([_tables.TITLES[row["measure"]].split(" (")[0].lower() for row in rows])
    layout["xaxis"] |= {"rangemode": "tozero"} | draw.axis_title("gap between the groups, in points")
    caption = (
        f"How far apart the groups of {attribute} are, with {report['comparison']['baseline']} (grey) and with "
        f"{report['model']['name']} (blue). The line through a circle is its interval. Nearer to 0 is better."
    )
    return Figure(f"comparison-{at}", f"Gaps by {attribute}", caption, {"data": traces, "layout": layout}, None)


def gaps(found: Row, at: int) -> Figure:
    """What each feature adds to the difference between two groups, per model."""
    rows = sorted(found["features"], key=lambda row: -max(map(abs, row["parts"])))
    rows = [row for row in rows if any(row["parts"])]
    n_models = len(found["models"])
    shown = [(_tables.total_of(found), found["total"]), *((row["feature"], row["parts"]) for row in rows[:12])]
    if len(rows) > 12:
        rest = [sum(row["parts"][m] for row in rows[12:]) for m in range(n_models)]
        kinds = explain.kinds_of(row["feature"] for row in rows[12:])
        shown.append((f"{len(rows) - 12} other {kinds}", rest))
    traces = []
    for m, name in enumerate(found["models"]):
        values = [draw.rounded(parts[m]) for _, parts in shown]
        colour = OURS if m == n_models - 1 else BASELINE
        trace = draw.bars(values, [_tables.score(value) for value in values], [label for label, _ in shown], colour)
        traces.append(trace | {"name": draw.label(name), "showlegend": n_models > 1})
    layout = draw.layout((ROW + 16 * (n_models - 1)) * len(shown) + 100, legend=n_models if n_models > 1 else 0)
    layout["barmode"] = "group"
    layout["yaxis"] |= draw.named_rows([label for label, _ in shown])
    layout["xaxis"] |= draw.room_for_text([part for _, parts in shown for part in parts])
    layout["xaxis"] |= draw.axis_title("difference in mean score")
    about = {"all": "", "positives": ", of the truly positive rows", "negatives": ", of the truly negative rows"}
    totals = " and ".join(
        f"{_tables.score(total)} with {name}" for name, total in zip(found["models"], found["total"], strict=True)
    )
    caption = (
        f"Mean score of {found['high']} minus mean score of {found['low']}{about[found['rows']]}: {totals} in total. "
        f"A bar to the right is a feature that scores {found['high']} higher. The bars add up to the total exactly."
    )
    titles = {"all": "All rows", "positives": "Of the truly positive rows", "negatives": "Of the truly negative rows"}
    return Figure(f"gap-{at}", titles[found["rows"]], caption, {"data": traces, "layout": layout}, _tables.gaps(found))


def figures(report: Row) -> dict[str, list[Any]]:
    """All charts, by the part of the page they stand in."""
    attributes = report["data"]["attributes"]
    model, compared = report["model"], report["comparison"]
    audit = report["audit"]
    return {
        "groups": [groups(report, attribute, i) for i, attribute in enumerate(attributes)],
        "reliability": [reliability(report, a, i) for i, a in enumerate(attributes)] if audit["reliability"] else [],
        "importances": [importances(report)] if model and model["importances"] else [],
        "shapes": [shape(found, i) for i, found in enumerate(model["shapes"])] if model and model["shapes"] else [],
        "pairs": [pair(found, i) for i, found in enumerate(model["pairs"])] if model and model["pairs"] else [],
        "history": [history(report)] if report["rounds"] else [],
        "comparison": [comparison(report, a, i) for i, a in enumerate(attributes)] if compared else [],
        "gaps": [gaps(found, i) for i, found in enumerate(report["gaps"])],
        "person": [person(report["person"], report["data"]["positive"])] if report["person"] else [],
    }
