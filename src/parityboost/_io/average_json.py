"""An average of several trainings in a model file: its tables and how far the trainings differ, not the trainings."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Floats
from .._engine.codes import N_CODES
from .._model.averaged import AveragedEnsemble
from .._model.calibration import MAX_BINS, Calibrator
from .._model.dial import FAIR, WEIGHTS, Dial, Point, ordered_weights
from .._model.grid import all_on_grid
from .._model.pairs import Effects, Pair
from .._table.binning import Binner
from .layout import MAX_THRESHOLD
from .model_file import MAX_STUMPS
from .strict_json import Node

MAX_SCORE, MAX_WEIGHT = 1e6, 1e300
MAX_BAGS, MAX_PAIRS = 1000, 100_000


def describe_average(model: Any) -> dict[str, Any]:
    """The field of a file that holds the average."""
    ensemble, dial = model._ensemble, model._dial
    sizes = [column.n_codes for column in ensemble.binner.columns]
    ends = [ensemble.tables] if dial is None else [dial.plain, dial.fair]
    return {
        "average": {
            "bags": [
                {"theta": int(theta), "rounds": int(rounds)}
                for theta, rounds in zip(model.thetas_, model._bag_sizes, strict=True)
            ],
            "fairness": model.fairness_,
            "ends": [_describe_effects(end, sizes) for end in ends],
            "spread": _describe_tables(ensemble.spread, sizes),  # of the blend that the model is now
            "importances": ensemble.shares.tolist(),
            "calibrator": _describe_calibrator(model._calibrator),
            "points": None if dial is None else [_describe_point(point) for point in dial.points],
            **({} if dial is None else {"dial": _describe_dial(dial, sizes)}),
        }
    }


def _describe_dial(dial: Dial, sizes: list[int]) -> dict[str, Any]:
    """What the spread and the importances of every blend are made of, and which features have an order."""
    return {
        "spreads": [_describe_tables(spread, sizes) for spread in dial.spreads],
        "covariance": _describe_tables(dial.covariance, sizes),
        "importances": [shares.tolist() for shares in dial.shares],
        "orders": None if dial.orders is None else dial.orders.tolist(),
    }


def _describe_tables(tables: Floats, sizes: list[int]) -> list[Any]:
    """Per feature the scores of its codes, or null if they are all 0."""
    return [table[:n].tolist() if table.any() else None for table, n in zip(tables, sizes, strict=True)]


def _describe_effects(effects: Effects, sizes: list[int]) -> dict[str, Any]:
    return {
        "tables": _describe_tables(effects.tables, sizes),
        "pairs": [
            {
                "features": list(pair.features),
                "rows": pair.row_of[: sizes[pair.features[0]]].tolist(),
                "columns": pair.column_of[: sizes[pair.features[1]]].tolist(),
                "scores": pair.scores.tolist(),
                "weight": pair.weight.tolist(),
            }
            for pair in effects.pairs
        ],
    }


def _describe_calibrator(calibrator: Calibrator) -> dict[str, Any]:
    return {name: values.tolist() for name, values in calibrator._asdict().items()}


def _describe_point(point: Point) -> dict[str, Any]:
    return {
        "threshold": np.asarray(point.threshold).tolist(),
        "ber": point.ber,
        "violation": point.violation,
        "calibrator": _describe_calibrator(point.calibrator),
    }


def read_average(model: Any, node: Node, binner: Binner, per_group: bool) -> None:
    """The reverse of :func:`describe_average`."""
    fields = node.fields(
        ["bags", "fairness", "ends", "spread", "importances", "calibrator", "points"], optional=["dial"]
    )
    n_features = len(binner.columns)
    thetas, sizes = [], []
    for bag in fields["bags"].items(MAX_BAGS, 1):
        found = bag.fields(["theta", "rounds"])
        sizes.append(found["rounds"].integer(1, MAX_STUMPS))
        thetas.append(found["theta"].integer(1, sizes[-1]))
    model.thetas_, model._bag_sizes = np.array(thetas), sizes
    has_dial = fields["points"].value is not None
    ends = [_read_effects(end, binner) for end in fields["ends"].items(2 if has_dial else 1, 2 if has_dial else 1)]
    shares = fields["importances"].numbers(n_features, n_features, 1.0)
    spread = _read_tables(fields["spread"], binner)
    model._calibrator = _read_calibrator(fields["calibrator"])
    model.fairness_ = fields["fairness"].number(WEIGHTS[0], WEIGHTS[-1])
    model._dial = None
    model._ensemble = AveragedEnsemble(binner, ends[0], spread, shares)
    if has_dial:
        nodes = fields["points"].items(len(WEIGHTS), FAIR + 1)
        weights = WEIGHTS[: len(nodes)]
        if model.fairness_ not in weights:
            fields["fairness"].fail(f"one of {weights}")
        if [pair.features for pair in ends[0].pairs] != [pair.features for pair in ends[1].pairs] or any(
            a.scores.shape != b.scores.shape for a, b in zip(ends[0].pairs, ends[1].pairs, strict=True)
        ):
            fields["ends"].fail("the same pairs, with the same cells, at both ends")
        n_groups = len(model.groups_) if per_group else None
        # Files that were written before there was such a field have those of the fair end alone.
        about = _read_dial(fields["dial"], binner) if "dial" in fields else _same_at_both_ends(spread, shares)
        points = tuple(_read_point(point, n_groups) for point in nodes)
        model._dial = Dial(plain=ends[0], fair=ends[1], **about, weights=weights, points=points)
        if weights != ordered_weights(ends[0], ends[1], model._dial.orders, binner):
            fields["points"].fail("a point for each blend that keeps the orders, and for no other")
        model._ensemble = model._dial.ensemble(binner, model.fairness_)


def _read_dial(node: Node, binner: Binner) -> dict[str, Any]:
    fields, n_features = node.fields(["spreads", "covariance", "importances", "orders"]), len(binner.columns)
    plain, fair = (_read_tables(item, binner) for item in fields["spreads"].items(2, 2))
    shares = tuple(item.numbers(n_features, n_features, 1.0) for item in fields["importances"].items(2, 2))
    orders = None
    if fields["orders"].value is not None:
        found = [item.integer(-1, 1) for item in fields["orders"].items(n_features, n_features)]
        orders = np.array(found, dtype=np.int8)
    covariance = _read_tables(fields["covariance"], binner, MAX_SCORE**2)
    return {"spreads": (plain, fair), "covariance": covariance, "shares": shares, "orders": orders}


def _same_at_both_ends(spread: Floats, shares: Floats) -> dict[str, Any]:
    return {"spreads": (spread, spread), "covariance": spread**2, "shares": (shares, shares), "orders": None}


def _read_tables(node: Node, binner: Binner, most: float = MAX_SCORE) -> Floats:
    n_features = len(binner.columns)
    tables = np.zeros((n_features, N_CODES))
    for f, item in enumerate(node.items(n_features, n_features)):
        if item.value is not None:
            n_codes = binner.columns[f].n_codes
            tables[f, :n_codes] = item.numbers(n_codes, n_codes, most)
    return tables


def _read_effects(node: Node, binner: Binner) -> Effects:
    fields = node.fields(["tables", "pairs"])
    pairs: list[Pair] = []
    for item in fields["pairs"].items(MAX_PAIRS):
        pair = _read_pair(item, binner)
        if pairs and pair.features <= pairs[-1].features:
            item.fail("pairs of features in rising order")
        pairs.append(pair)
    # Already multiples of the grid, unless someone edited them: sums must stay exact.
    return Effects(all_on_grid(_read_tables(fields["tables"], binner)), pairs)


def _read_pair(node: Node, binner: Binner) -> Pair:
    fields = node.fields(["features", "rows", "columns", "scores", "weight"])
    last = len(binner.columns) - 1
    first, second = (feature.integer(0, last) for feature in fields["features"].items(2, 2))
    if first >= second:
        fields["features"].fail("two different features, the one that comes first in X first")
    cells = []
    for side, feature in (("rows", first), ("columns", second)):
        n_codes = binner.columns[feature].n_codes
        found = [item.integer(0, N_CODES - 1) for item in fields[side].items(n_codes, n_codes)]
        if sorted(set(found)) != list(range(max(found) + 1)):
            fields[side].fail("numbers from 0 on, each of which is used")
        cells.append(np.array(found + [0] * (N_CODES - n_codes), dtype=np.uint8))
    shape = tuple(int(cell.max()) + 1 for cell in cells)
    scores, weight = (
        np.array([row.numbers(shape[1], shape[1], most) for row in fields[name].items(shape[0], shape[0])])
        for name, most in (("scores", MAX_SCORE), ("weight", MAX_WEIGHT))
    )
    if (weight < 0).any():
        fields["weight"].fail("numbers of at least 0")
    return Pair((first, second), cells[0], cells[1], all_on_grid(scores), weight)


def _read_calibrator(node: Node) -> Calibrator:
    fields = node.fields(Calibrator._fields)
    edges = fields["edges"].numbers(MAX_BINS, 1, MAX_SCORE)
    if (np.diff(edges) <= 0).any():
        fields["edges"].fail("numbers that increase")
    n_pieces = len(edges) + 1
    intercepts, slopes = (fields[name].numbers(n_pieces, n_pieces, MAX_THRESHOLD) for name in ("intercepts", "slopes"))
    if (slopes < 0).any():
        fields["slopes"].fail("numbers of at least 0")
    return Calibrator(edges, intercepts, slopes)


def _read_point(node: Node, n_groups: int | None) -> Point:
    fields = node.fields(["threshold", "ber", "violation", "calibrator"])
    threshold: Any
    if n_groups is None:
        threshold = fields["threshold"].number(-MAX_THRESHOLD, MAX_THRESHOLD)
    else:
        threshold = fields["threshold"].numbers(n_groups, n_groups, MAX_THRESHOLD)
    ber, violation = fields["ber"].number(0, 1), fields["violation"].number(0, MAX_THRESHOLD)
    return Point(threshold, ber, violation, _read_calibrator(fields["calibrator"]))
