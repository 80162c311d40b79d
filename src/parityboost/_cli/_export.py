"""``parityboost export``: a saved model for use elsewhere, as an ONNX graph, an SQL query or a card of points."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from .._io.atomic import write_atomically
from ..datasets._formats import TextFormat
from ..datasets._table import match_label
from ..explain._reasons import reason_rule
from ._files import as_files, check_files, check_model_file, is_standard, standard_output
from ._tables import read_pieces


class Graph(NamedTuple):
    """What is asked of an ONNX graph."""

    path: Path | None
    opset: int


class Query(NamedTuple):
    """What is asked of an SQL query."""

    path: Path | None
    table: list[str]
    dialect: str
    keep: list[str]
    sensitive: list[str]
    reasons: int | None
    unnamed: list[str]


class Card(NamedTuple):
    """What is asked of a card of points."""

    path: Path | None
    data: Path | None
    points: float
    odds: float
    double: float

    @property
    def is_page(self) -> bool:
        return self.path is not None and self.path.suffix.lower() in (".html", ".htm")


def export(
    model_path: Path,
    graph: Graph,
    query: Query,
    card: Card,
    contributions: bool,
    favourable: str | None,
    text_format: TextFormat,
) -> str:
    """Write what is asked for; return what to tell the user."""
    from .. import load

    outputs = {"--onnx": graph.path, "--sql": query.path, "--scorecard": card.path}
    if all(path is None for path in outputs.values()):
        raise ValueError("export needs --onnx FILE, --sql FILE or --scorecard FILE")
    check_files({"the model": model_path, "--data": card.data}, outputs)
    check_model_file("export", model_path, "parityboost export model.json --sql query.sql --table people")
    _check(graph, query, card, contributions, favourable)
    with as_files(model=model_path, data=card.data) as files:
        model = load(files["model"])
        label = favourable
        if favourable is not None:
            labels = model.about_.labels.outcomes.tolist()
            label = match_label("favourable", favourable, "the model's labels", labels)
        text = None if query.path is None else _query(model, query, contributions, label)
        points = None if card.path is None else _card(model, card, files["data"], label, text_format)
    told = []
    if graph.path is not None:
        model.to_onnx(graph.path, opset=graph.opset, contributions=contributions)
        told.append(f"ONNX graph: {graph.path}")
    if query.path is not None and text is not None:
        if is_standard(query.path):
            standard_output().write(f"{text}\n".encode())
        else:
            write_atomically(query.path, f"{text}\n")
        told.append(f"SQL for {query.dialect}: {'standard output' if is_standard(query.path) else query.path}")
    if card.path is not None and points is not None:
        (points.to_html if card.is_page else points.to_csv)(card.path)
        told += [*points.summary(), f"Card of points: {card.path}"]
    return "\n".join(told)


def _check(graph: Graph, query: Query, card: Card, contributions: bool, favourable: str | None) -> None:
    """Whether every option is about something that is written."""
    for option, path in (("--onnx", graph.path), ("--scorecard", card.path)):
        if is_standard(path):
            raise ValueError(f"{option} must be a file, got standard output (-): that is for --sql")
    if card.path is not None and not card.is_page and card.path.suffix.lower() != ".csv":
        raise ValueError(f"--scorecard must end in .html or .csv, got {str(card.path)!r}")
    of_query = {"table": query.table, "keep": query.keep, "sensitive": query.sensitive, "reasons": query.reasons}
    of_query |= {"unnamed": query.unnamed}
    for name, value in of_query.items() if query.path is None else ():
        if value:
            raise ValueError(f"--{name} is about --sql, which says where to write the query")
    if query.path is not None and not query.table:
        raise ValueError("--sql needs --table, the name of the table that the query reads")
    if query.unnamed and query.reasons is None:
        raise ValueError("--unnamed is about --reasons, which says how many")
    if card.data is not None and card.path is None:
        raise ValueError("--data is about --scorecard, which says where to write the card")
    if contributions and graph.path is None and query.path is None:
        raise ValueError("--contributions is about --onnx and --sql")
    if favourable is not None and card.path is None and query.reasons is None:
        raise ValueError("--favourable is about --scorecard and --reasons")


def _query(model: Any, query: Query, contributions: bool, favourable: Any) -> str:
    rule = None
    if query.reasons is not None:
        rule, *_ = reason_rule(model, None, query.reasons, favourable=favourable, unnamed=query.unnamed)
    table = query.table[0] if len(query.table) == 1 else query.table
    given: dict[str, Any] = {"keep": query.keep, "contributions": contributions, "reasons": rule}
    found: str = model.to_sql(table, query.dialect, sensitive_features=query.sensitive, **given)
    return found


def _card(model: Any, card: Card, data: Path | None, favourable: Any, text_format: TextFormat) -> Any:
    X = None
    if data is not None:
        X = pd.concat([rows for _, rows, _ in read_pieces(data, model, [], text_format)], ignore_index=True)
        if not len(X):
            raise ValueError(f"{data} has no rows")
    return model.scorecard(X, points=card.points, odds=card.odds, double=card.double, favourable=favourable)
