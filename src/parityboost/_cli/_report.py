"""``parityboost report`` and ``parityboost explain``: what is to be said of a saved model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from .._table.values import listed
from ..datasets._formats import TextFormat
from ..datasets._table import check_columns as check_named
from ..explain._scores import PAIR, kinds_of
from ._files import as_files, check_files, check_model_file, is_standard
from ._models import Page, exceeding, measure_of, size_of
from ._running import one_line, shortened
from ._tables import as_type_of, columns_of, read_pieces, typed_frame

LONGEST_ROW = 18  # digits of a row's number


def report(
    model_path: Path,
    data: Path,
    target: str,
    sensitive: list[str],
    page: Page,
    against: Path | None,
    person: int | None,
    favourable: str | None,
    text_format: TextFormat,
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
            person=person,
            limit=page.fail_above,
        )
    if is_standard(model_path):
        built["card"]["file"]["name"] = "standard input"
    write(page.path, built)
    measures = pd.DataFrame(built["audit"]["measures"]).astype(dict.fromkeys(("value", "lower", "upper"), float))
    too_far = exceeding(measures, page.fail_above, [measure_of(built["model"]["notion"])])
    return f"{len(X):,} rows. Report: {page.path}", too_far


def explore(
    model_path: Path,
    data: Path,
    target: str,
    sensitive: list[str],
    out: Path,
    against: list[Path],
    words: dict[str, Any],
    text_format: TextFormat,
) -> str:
    """Write the explorer of a saved model; return what to tell the user."""
    from .. import load

    inputs: dict[str, Path | None] = {"the model": model_path, "the data": data}
    inputs |= {f"--against {path}": path for path in against}
    check_files(inputs, {"--out": out})
    check_model_file("explore", model_path, f"parityboost explore model.json {model_path} --target … --sensitive …")
    with as_files(model=model_path, data=data) as files:
        model = load(files["model"])
        X, y, groups = _read(files["data"], model, target, sensitive, text_format)
        others = {path.stem: _other(load(path), model, path) for path in against}
        words |= {"title": words["title"] or ("standard input" if is_standard(data) else data.name)}
        found = model.explore(X, y, sensitive_features=groups, others=others, **words)
    found.save(out)
    return f"{len(X):,} rows. Explorer: {out}"


def _read(
    data: Path, model: Any, target: str, sensitive: list[str], text_format: TextFormat
) -> tuple[pd.DataFrame, pd.Series[Any], pd.DataFrame]:
    """All rows as the model reads them, their labels and their groups."""
    pieces: list[tuple[Any, Any, Any]] = []
    for piece, X, groups in read_pieces(data, model, sensitive, text_format):
        check_named(piece, target=[target])
        pieces.append((X, piece[target], groups))
    if not sum(len(X) for X, _, _ in pieces):
        raise ValueError(f"{data} has no rows")
    X, labels, groups = (pd.concat(list(parts), ignore_index=True) for parts in zip(*pieces, strict=True))
    classes = model.about_.labels.outcomes.tolist()
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


def _other(other: Any, model: Any, path: Path) -> Any:
    for what, ours, theirs in (
        ("labels", *(sorted(m.classes_.tolist(), key=str) for m in (model, other))),
        ("columns", *(list(columns_of(m)) for m in (model, other))),
    ):
        if ours != theirs:
            raise ValueError(f"--against must be a model of the same {what}, got {path} with {theirs!r:.200}")
    return other


def explain(
    model_path: Path,
    row: str | None,
    data: Path | None,
    feature: str | None,
    top: int,
    text_format: TextFormat,
) -> str:
    """The model in words and numbers: importances, one shape function, or one row's contributions."""
    from .. import load

    check_model_file("explain", model_path, f"parityboost explain model.json --data {model_path} --row 1")
    with as_files(model=model_path, data=data) as files:
        model = load(files["model"])
        X = None if row is None else _read_row(model, row, files["data"], text_format)
        return _explanation(model, X, feature, top)


def _explanation(model: Any, X: pd.DataFrame | None, feature: str | None, top: int) -> str:
    from ..explain import contributions, importances, shape_function

    if X is not None:
        parts = contributions(model, X).iloc[0]
        values = X.iloc[0]
        own = parts.iloc[:-1]
        order = own.abs().sort_values(ascending=False).index[:top]
        lines = [one_line(_with_value(name, values)).ljust(44) + f"{parts[name]:+9.4f}" for name in order]
        score = float(parts.sum())
        others = own.drop(order)
        if len(others):
            lines.append(f"{len(others)} other {kinds_of(others.index)}".ljust(44) + f"{others.sum():+9.4f}")
        lines += [parts.index[-1].ljust(44) + f"{parts.iloc[-1]:+9.4f}"]
        label = model.about_.labels.outcomes[int(score > 0)]
        lines += ["─" * 53, "score".ljust(44) + f"{score:+9.4f}", f"prediction: {one_line(label)}"]
        return "\n".join(lines)
    if feature is not None:
        table = shape_function(model, feature).frame()
        table["value"] = table["value"].map(one_line)
        return f"{one_line(feature)}: what each value adds to the score\n\n{table.to_string()}"
    table = importances(model).rename(index=one_line)
    lines = [
        f"{type(model).__name__} for {model.notion!r}: {size_of(model)}, positive class {model.positive_!r}.",
        "",
        table.head(top).round(4).to_string(),
        "",
        "See what a feature's values add with --feature NAME, and one row with --data FILE --row NUMBER.",
    ]
    return "\n".join(lines)


def _with_value(name: str, values: pd.Series[Any]) -> str:
    """A feature with its value, or both features of a pair with theirs."""
    both = [name] if name in values else name.split(PAIR)
    return PAIR.join(f"{part} = {values[part]}" if part in values else part for part in both)


def _read_row(model: Any, row: str, data: Path | None, text_format: TextFormat) -> pd.DataFrame:
    columns = columns_of(model)
    names = list(columns)
    if data is None:
        try:
            values = json.loads(row)
        except (ValueError, RecursionError):  # brackets within brackets without end
            values = None
        if not isinstance(values, dict):
            raise ValueError(
                f"--row must be a number together with --data, or a JSON object of values, got {shortened(row)}"
            )
        unknown = sorted(set(values) - set(names))
        if unknown:
            raise ValueError(f"the model has no column {shortened(unknown[0])}; its columns are {listed(names)}")
        for name, value in values.items():
            if (problem := _unusable(value)) is not None:
                raise ValueError(f"--row: column {name!r} must be a number, text, true, false or null, got {problem}")
        return typed_frame(pd.DataFrame([{name: values.get(name) for name in names}]), columns)
    if not (row.isdecimal() and len(row) <= LONGEST_ROW and int(row) > 0):
        raise ValueError(f"--row must be the number of a row, from 1, got {shortened(row)}")
    start = 0
    for _, X, _ in read_pieces(data, model, [], text_format):
        if int(row) <= start + len(X):
            return X.iloc[[int(row) - 1 - start]]
        start += len(X)
    raise ValueError(f"{data} has {start} rows, no row {row}")


def _unusable(value: Any) -> str | None:
    """What is wrong with a value from JSON, None if nothing is."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and value.bit_length() > 1023:
        return f"a whole number of {value.bit_length()} bits, more than a float holds"
    if isinstance(value, str) and not value.isascii() and value != value.encode("utf8", "replace").decode():
        return f"{shortened(value)}, which is no Unicode"
    return None
