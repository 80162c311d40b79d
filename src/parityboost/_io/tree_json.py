"""Trees of depth two in a model file: their splits and votes, and the training rows in the cells of each pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._model.grid import ALPHA_GRID, on_grid
from .._model.pairs import Pair
from .._model.tree_ensemble import TreeEnsemble
from .._model.trees import Split, Tree
from .._table.binning import Binner
from .layout import MAX_ALPHA
from .model_file import MAX_STUMPS
from .strict_json import Node

MAX_WEIGHT = 1e300
LEAVES = 4


def describe_trees(ensemble: TreeEnsemble) -> dict[str, Any]:
    """The fields of a file that hold the trees."""
    return {
        "trees": [
            {"alpha": float(alpha), **_describe_tree(tree)}
            for alpha, tree in zip(ensemble.alphas, ensemble.trees, strict=True)
        ],
        "pairs": [
            {"features": list(pair.features), "weight": pair.weight.tolist()} for pair in ensemble.support.values()
        ],
    }


def _describe_tree(tree: Tree) -> dict[str, Any]:
    splits = {"root": tree.root, "left": tree.left, "right": tree.right}
    described = {name: None if split is None else split._asdict() for name, split in splits.items()}
    return {**described, "votes": list(tree.votes), "confidences": list(tree.confidences)}


def read_trees(trees: Node, pairs: Node, binner: Binner) -> TreeEnsemble:
    """The reverse of :func:`describe_trees`."""
    read = [_read_tree(node, binner) for node in trees.items(MAX_STUMPS, 1)]
    ensemble = TreeEnsemble(binner, [tree for tree, _ in read], np.array([alpha for _, alpha in read]))
    cells = ensemble.cells()
    nodes = pairs.items(len(cells), len(cells))
    for node, (features, (rows, columns)) in zip(nodes, cells.items(), strict=True):
        fields = node.fields(["features", "weight"])
        if fields["features"].value != list(features):
            fields["features"].fail(f"{list(features)}, the pair that the trees have here")
        n_rows, n_columns = int(rows.max()) + 1, int(columns.max()) + 1
        table = fields["weight"].items(n_rows, n_rows)
        weight = np.array([row.numbers(n_columns, n_columns, MAX_WEIGHT) for row in table])
        if (weight < 0).any():
            fields["weight"].fail("numbers of at least 0")
        ensemble.support[features] = Pair(features, rows, columns, np.empty((0, 0)), weight)
    return ensemble


def _read_tree(node: Node, binner: Binner) -> tuple[Tree, float]:
    fields = node.fields(["alpha", "root", "left", "right", "votes", "confidences"])
    root = _read_split(fields["root"], binner)
    below = [None if fields[side].value is None else _read_split(fields[side], binner) for side in ("left", "right")]
    votes = [read_vote(vote) for vote in fields["votes"].items(LEAVES, LEAVES)]
    confidences = [share.number(0, 1) for share in fields["confidences"].items(LEAVES, LEAVES)]
    for side, split in enumerate(below):
        if split is None and votes[2 * side] != votes[2 * side + 1]:
            fields["votes"].fail("the same vote twice on a side that is not split")
    left, right = below
    tree = Tree(root, left, right, tuple(votes), tuple(confidences))
    return tree, read_alpha(fields["alpha"])


def read_alpha(node: Node) -> float:
    """The weight of a learner: already a multiple of the grid, unless someone edited it; sums must stay exact."""
    return on_grid(node.number(ALPHA_GRID, MAX_ALPHA))


def read_vote(node: Node) -> float:
    """What a leaf says: -1 or 1, or with the real update a number of any learner's size; sums must stay exact."""
    vote = on_grid(node.number(-MAX_ALPHA, MAX_ALPHA))
    return int(vote) if abs(vote) == 1.0 else vote


def _read_split(node: Node, binner: Binner) -> Split:
    fields = node.fields(Split._fields)
    feature = fields["feature"].integer(0, len(binner.columns) - 1)
    return Split(
        feature,
        fields["split"].integer(0, binner.columns[feature].n_bins),
        fields["missing_left"].flag(),
        fields["gain"].number(0, 1),
    )
