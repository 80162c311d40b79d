"""The dict of a report as JSON or as a page, and both as a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from .._docs import documented
from .._extras import install
from .._io.atomic import write_atomically
from ..audit._text import Row, of
from ..explore._page import script as explorer_script
from ..explore._page import script_json, section
from ..explore._page import style as explorer_style
from . import _card, _figures, _tables, _words
from ._card import to_markdown
from ._summary import build


@documented()
def to_json(report: dict[str, Any], indent: int | None = 2) -> str:
    """The report as JSON.

    Parameters
    ----------
    indent : int or None, default=2
        Spaces per level; None for one line.

    Examples
    --------
    >>> import json
    >>> from parityboost import report
    >>> from parityboost.audit import audit
    >>> found = audit([0, 1] * 200, [0, 1, 0, 0] * 100, sensitive_features=list("aabb") * 100)
    >>> json.loads(report.to_json(report.build_audit(found)))["data"]["n"]
    400
    """
    return json.dumps(report, indent=indent, ensure_ascii=False, allow_nan=False)


@documented()
def to_html(report: dict[str, Any]) -> str:
    """The report as one HTML page that needs nothing else: no network, no other file.

    Examples
    --------
    >>> from parityboost import report
    >>> from parityboost.audit import audit
    >>> found = audit([0, 1] * 200, [0, 1, 0, 0] * 100, sensitive_features=list("aabb") * 100)
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
    figures = _figures.figures(report)
    charts = {figure.name: figure.spec for part in figures.values() for figure in part if figure}
    # Names and categories are the user's: everything is escaped but what this package and plotly wrote themselves.
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=False).from_string(
        _resource("_page.html.jinja")
    )
    return page.render(
        report=report,
        sections=_sections(report),
        facts=_card.facts(report),
        about=_card.fields(report),
        attributes=report["data"]["attributes"],
        headline=_headline(report),
        tables=_tables,
        words=_words,
        figures=figures,
        live=_live(report),
        pairs=_figures.pairs_sentence(report["model"]) if figures["pairs"] else "",
        notes=[f"{row['group']}: {row['note']}" for row in report["audit"]["groups"] if row["note"]],
        explorer=Markup("" if report["explorer"] is None else section(report["explorer"], "explorer")),
        data=Markup(script_json({"charts": charts, "rounds": report["rounds"]})),
        style=Markup(_resource("_style.css") + explorer_style()),
        script=Markup(_resource("_script.js") + explorer_script()),
        plotly=Markup(get_plotlyjs()),
    )


def write_report(path: Any, model: Any, X: Any, y: Any, **options: Any) -> Path:
    """Write a report on a fitted model to a file.

    JSON if its name ends in ``.json``, a model card in Markdown if in ``.md``, else HTML. The file is complete or not
    there at all: it is written under another name first.

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
    >>> X, y, team = [[1], [2], [3], [4]] * 20, [0, 1, 0, 1] * 20, list("aabb") * 20
    >>> model = AdaFairClassifier(n_estimators=3, random_state=0)
    >>> model = model.fit(X, y, sensitive_features=team)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "report.html"
    ...     report.write_report(page, model, X, y, sensitive_features=team).stat().st_size < 6e6
    True
    """
    return write(path, build(model, X, y, **options))


def write(path: Any, report: dict[str, Any]) -> Path:
    """Write a report that has been built, as :func:`write_report` does."""
    target = Path(path)
    kinds: dict[str, Callable[[dict[str, Any]], str]] = {".json": to_json, ".md": to_markdown}
    write_atomically(target, kinds.get(target.suffix.lower(), to_html)(report))
    return target


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf8")


def _headline(report: Row) -> str:
    """Of several attributes, the one whose groups are furthest apart in what the model was trained for."""
    measure = _words.target_measure(report)
    rows = [_words.measure_row(report, attribute, measure) for attribute in _words.columns(report)]
    widest = max(rows, key=lambda row: row["value"] or 0.0)["attribute"]
    return next(iter(report["summary"]["people"][widest]), "")


def _sections(report: Row) -> list[tuple[str, str]]:
    """What the page has, in its order: the finding first."""
    compared = report["comparison"]
    there = {
        "groups": "Groups",
        "differences": "Differences",
        "comparison": f"Against {compared['baseline']}" if compared else "",
        "gaps": "What makes the gap" if report["gaps"] else "",
        "scores": "Scores" if report["audit"]["calibration"] is not None else "",
        "data": "Data",
        "model": "Model" if report["model"] else "",
        "person": "One person" if report["person"] else "",
        "alternatives": "Record of alternatives" if report["alternatives"] else "",
        "history": "Other settings" if report["rounds"] else "",
        "card": "Model card" if report["model"] else "About",
        "notes": "How to read",
    }
    return [(place, name) for place, name in there.items() if name]


def _live(report: Row) -> Row | None:
    """What the slider changes, at the chosen θ: the page shows it also where no script runs."""
    rounds = report["rounds"]
    if rounds is None:
        return None
    crossed = report["data"]["attributes"][-1]  # the groups of all sensitive columns together
    overall = _words.overall_rows(report)
    measures = []
    for name in _words.PERFORMANCE:
        value = _words.percent(overall[name]["value"])
        measures.append({"id": name, "name": _tables.TITLES[name], "value": value})
    for name in _words.GOALS:
        value = _words.points(_words.measure_row(report, crossed, name)["value"])
        measures.append({"id": name, "name": f"{_tables.TITLES[name]}, points", "value": value})
    rates = ("selection_rate", "tpr", "fpr", "accuracy")
    groups = []
    for g, row in enumerate(of(report["audit"]["groups"], crossed)):
        cells = [{"id": f"{rate}-{g}", "value": _words.percent(row[rate])} for rate in rates]
        groups.append({"name": row["group"], "cells": cells})
    return {
        "position": rounds["rounds"].index(rounds["theta"]),
        "measures": measures,
        "groups": groups,
        "rates": [_tables.RATES[rate] for rate in rates],
    }
