"""``parityboost report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ..datasets._formats import AS_FOUND, TextFormat
from ..datasets._table import check_columns as check_named
from ..estimators import AdaFairClassifier
from ..notions import FairnessNotion
from ._files import check_files, check_model_file
from ._models import Page, exceeding, measure_of
from ._streams import as_files, is_standard
from ._tables import as_type_of, read_pieces
from ._text import shortened


def report(
    model_path: Path,
    data: Path,
    target: str,
    sensitive: list[str],
    page: Page,
    against: Path | None = None,
    person: int | None = None,
    favourable: str | None = None,
    text_format: TextFormat = AS_FOUND,
) -> tuple[str, list[str]]:
    """Write a report on a saved model; return what to tell the user, and which limits are not kept."""
    from .. import load
    from ..report import build
    from ..report._render import write

    inputs = {"the model": model_path, "the data": data, "--about": page.about, "--against": against}
    check_files(inputs, {"--out": page.path})
    check_model_file("report", model_path, f"parityboost report model.json {model_path} --target … --sensitive …")
    page.check("--out")
    with as_files(model=model_path, data=data) as files:
        model = load(files["model"])
        X, y, groups = _read(files["data"], model, target, sensitive, text_format)
        if person is not None and person > len(X):
            raise ValueError(f"--person must be the number of a row: {data} has {len(X):,} rows, got {person}")
        built = build(
            model,
            X,
            y,
            sensitive_features=groups,
            baseline=None if against is None else _other(load(against), model, against),
            favourable=favourable,
            title=page.title or f"Fairness report: {'standard input' if is_standard(data) else data.name}",
            about=page.about,
            model_file=files["model"],
            person=None if person is None else person - 1,
            limit=page.fail_above,
        )
    if is_standard(model_path):
        built["card"]["file"]["name"] = "standard input"
    write(page.path, built)
    return f"{len(X):,} rows. Report: {page.path}", _exceeding(built, model._fitted.notion, page.fail_above)


def _read(
    data: Path, model: AdaFairClassifier, target: str, sensitive: list[str], text_format: TextFormat
) -> tuple[pd.DataFrame, pd.Series[Any], pd.DataFrame]:
    """All rows as the model reads them, their labels and their groups."""
    pieces = []
    for piece, X, groups in read_pieces(data, model, sensitive, text_format):
        check_named(piece, target=[target])
        pieces.append((X, piece[target], groups))
    if not pieces or not sum(len(X) for X, _, _ in pieces):
        raise ValueError(f"{data} has no rows")
    X = pd.concat([part for part, _, _ in pieces], ignore_index=True)
    labels: pd.Series[Any] = pd.concat([part for _, part, _ in pieces], ignore_index=True)
    groups = pd.concat([part for _, _, part in pieces], ignore_index=True)
    classes = model._outcomes.tolist()
    y = as_type_of(classes, labels, text_format.decimal or ".")
    wrong = ~y.isin(classes)
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        value: Any = labels.iloc[row]
        got = "no value" if pd.isna(value) or str(value) == "" else shortened(str(value))
        raise ValueError(
            f"--target: column {target!r} must hold the labels of the model, {classes[0]!r} and {classes[1]!r}, got "
            f"{got} in row {row + 1}"
        )
    return X, y.rename(target), groups


def _other(other: AdaFairClassifier, model: AdaFairClassifier, path: Path) -> AdaFairClassifier:
    """The model to compare with, if it can be."""
    for what, ours, theirs in (
        ("labels", *(sorted(m.classes_.tolist(), key=str) for m in (model, other))),
        ("columns", *([column.name for column in m._ensemble.binner.columns] for m in (model, other))),
    ):
        if ours != theirs:
            raise ValueError(f"--against must be a model of the same {what}, got {path} with {theirs!r:.200}")
    return other


def _exceeding(built: dict[str, Any], notion: FairnessNotion, limit: float | None) -> list[str]:
    """As of an audit, from the numbers of the report."""
    measures = pd.DataFrame(built["audit"]["measures"])
    for name in ("value", "lower", "upper"):
        measures[name] = measures[name].astype(float)
    return exceeding(measures, limit, [measure_of(notion)])
