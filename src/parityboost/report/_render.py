"""The dict of a report as JSON or as a page, and both as a file."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from .._extras import install
from .._io.atomic import write_atomically
from .._stats import rates
from . import _pairs, _plots, _tables, _words
from ._measures import FAIRNESS, PERFORMANCE
from ._summary import build
from ._tables import Row

LIVE_RATES = {
    "tpr": ("TPR", rates.true_positive_rate),
    "tnr": ("TNR", rates.true_negative_rate),
    "selection_rate": ("Predicted positive", rates.selection_rate),
    "accuracy": ("Accuracy", rates.accuracy),
}


def to_json(report: dict[str, Any], indent: int | None = 2) -> str:
    """The report as JSON.

    Parameters
    ----------
    report : dict
        What :func:`build` or :func:`build_audit` returns.
    indent : int or None, default=2
        Spaces per level; None for one line.

    Examples
    --------
    >>> import json
    >>> from parityboost import report
    >>> from parityboost.audit import audit
    >>> found = audit([0, 1] * 200, [0, 1, 0, 0] * 100, sensitive_features=["a", "a", "b", "b"] * 100)
    >>> json.loads(report.to_json(report.build_audit(found)))["data"]["n"]
    400
    """
    return json.dumps(report, indent=indent, ensure_ascii=False, allow_nan=False)


def to_html(report: dict[str, Any]) -> str:
    """The report as one HTML page that needs nothing else: no network, no other file.

    Parameters
    ----------
    report : dict
        What :func:`build` or :func:`build_audit` returns.

    Examples
    --------
    >>> from parityboost import report
    >>> from parityboost.audit import audit
    >>> found = audit([0, 1] * 200, [0, 1, 0, 0] * 100, sensitive_features=["a", "a", "b", "b"] * 100)
    >>> page = report.to_html(report.build_audit(found, title="Mine"))
    >>> "<h1>Mine</h1>" in page
    True
    """
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(f"an HTML report needs plotly and jinja2: {install('report')}") from error
    figures = _plots.figures(report)
    charts = {figure.name: figure.spec for part in figures.values() for figure in part if figure}
    # Names and categories are the user's: everything is escaped but what this package and plotly wrote themselves.
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=False).from_string(
        _resource("_page.html.jinja")
    )
    return page.render(
        report=report,
        sections=_sections(report),
        cards=_cards(report),
        tables=_all_tables(report),
        figures=figures,
        live=_live(report),
        pairs=_pairs.sentence(report["model"]) if figures["pairs"] else "",
        notes=[f"{row['group']}: {row['note']}" for row in report["audit"]["groups"] if row["note"]],
        data=Markup(_script_json({"charts": charts, "rounds": report["rounds"]})),
        style=Markup(_resource("_style.css")),
        script=Markup(_resource("_script.js")),
        plotly=Markup(get_plotlyjs()),
    )


def write_report(path: Any, model: Any, X: Any, y: Any, **options: Any) -> Path:
    """Write a report on a fitted model to a file: JSON if its name ends in ``.json``, else HTML.

    The file is complete or not there at all: it is written under another name first.

    Parameters
    ----------
    path : str or path
        Where to write.
    model : AdaFairClassifier
        A fitted model.
    X, y : DataFrame or array-like, array-like
        Data that the model was *not* trained on.
    **options
        The other parameters of :func:`build`.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from parityboost import AdaFairClassifier, report
    >>> X, y, team = [[1], [2], [3], [4]] * 20, [0, 1, 0, 1] * 20, ["red", "red", "blue", "blue"] * 20
    >>> model = AdaFairClassifier(n_estimators=3, random_state=0).fit(X, y, sensitive_features=team)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = report.write_report(Path(folder) / "report.html", model, X, y, sensitive_features=team)
    ...     path.stat().st_size < 6_000_000
    True
    """
    return write(path, build(model, X, y, **options))


def write(path: Any, report: dict[str, Any]) -> Path:
    """Write a report that has been built, as :func:`write_report` does."""
    target = Path(path)
    text = to_json(report) if target.suffix.lower() == ".json" else to_html(report)
    write_atomically(target, text)
    return target


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf8")


def _script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _sections(report: Row) -> list[tuple[str, str]]:
    sections = [("summary", "Summary"), ("data", "The data")]
    if report["model"]:
        sections.append(("model", "The model"))
    sections.append(("groups", "Performance and fairness"))
    if report["rounds"]:
        sections.append(("history", "Training, round by round"))
    if report["comparison"]:
        sections.append(("comparison", f"Compared with {report['comparison']['baseline']}"))
    if report["gaps"]:
        sections.append(("gaps", "What makes the gap"))
    return [*sections, ("notes", "How to read this report")]


def _cards(report: Row) -> list[dict[str, str]]:
    """The few numbers to see first."""
    overall = {row["measure"]: row for row in report["audit"]["overall"]}
    changes = {(row["attribute"], row["measure"]): row for row in (report["comparison"] or {"rows": []})["rows"]}
    cards = [_card(_tables.TITLES[name], overall[name], changes.get((None, name)), report) for name in PERFORMANCE]
    measure = _words.target_measure(report)
    for attribute in report["data"]["attributes"]:
        row = _words.measure_row(report, attribute, measure)
        name = f"{_tables.TITLES[measure]}, {attribute}"
        cards.append(_card(name, row, changes.get((attribute, measure)), report, points=True))
    return cards


def _card(name: str, row: Row, change: Row | None, report: Row, points: bool = False) -> dict[str, str]:
    if row["value"] is None:
        return {"name": name, "value": _tables.UNDEFINED, "remark": "not defined"}
    value = f"{_tables.points(row['value'])} points" if points else _tables.percent(row["value"])
    remark = f"({_tables.points(row['lower'])}{_tables.DASH}{_tables.points(row['upper'])})"
    if change is not None and change["baseline"]["value"] is not None:
        was = (_tables.points if points else _tables.percent)(change["baseline"]["value"])
        remark += f"; {report['comparison']['baseline']}: {was}"
    return {"name": name, "value": value, "remark": remark}


def _all_tables(report: Row) -> dict[str, Any]:
    attributes = report["data"]["attributes"]
    tables: dict[str, Any] = {
        name: [make(report, attribute) for attribute in attributes]
        for name, make in (("data", _tables.data), ("groups", _tables.groups), ("measures", _tables.measures))
    }
    tables["overall"] = _tables.overall(report)
    scored = attributes if report["audit"]["calibration"] is not None else []
    tables["calibration"] = [_tables.calibration(report, attribute) for attribute in scored]
    if report["model"]:
        tables["parameters"] = _tables.parameters(report)
    if report["comparison"]:
        tables["comparison"] = [_tables.comparison(report, attribute) for attribute in (None, *attributes)]
    return tables


def _live(report: Row) -> Row | None:
    """What the slider changes, at the chosen θ: the page shows it also where no script runs."""
    rounds = report["rounds"]
    if rounds is None:
        return None
    at = rounds["rounds"].index(rounds["theta"])
    counts = _counts(rounds, at)
    measures = [
        {"id": name, "name": _tables.TITLES[name], "value": _tables.percent(_defined(measure(counts)))}
        for name, measure in PERFORMANCE.items()
    ] + [
        {"id": name, "name": f"{_tables.TITLES[name]}, points", "value": _tables.points(_defined(measure(counts)))}
        for name, measure in FAIRNESS.items()
    ]
    groups = [
        {
            "name": name,
            "cells": [
                {"id": f"{key}-{g}", "value": _tables.percent(_defined(rate(counts)[g]))}
                for key, (_, rate) in LIVE_RATES.items()
            ],
        }
        for g, name in enumerate(rounds["groups"])
    ]
    return {"position": at, "measures": measures, "groups": groups, "rates": [name for name, _ in LIVE_RATES.values()]}


def _counts(rounds: Row, at: int) -> Any:
    """``counts[group, y_true, y_pred]`` after a round."""
    selected = np.array([rounds["false_positives"][at], rounds["true_positives"][at]], dtype=np.float64).T
    totals = np.array([rounds["negatives"], rounds["positives"]], dtype=np.float64).T
    return np.stack([totals - selected, selected], axis=-1)


def _defined(value: Any) -> float | None:
    number = float(value)
    return None if number != number else number
