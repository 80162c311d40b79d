"""What two features do together: a heat map of a model's pair of features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import explain
from .._arrays import Floats
from .._model.extent import feature_source
from .._table.sources import NumberSource, Source
from ..estimators import AdaFairClassifier
from . import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_WRITTEN = 120  # cells; more would not leave room for numbers
UNSUPPORTED, FEW = "#FFFFFF", 0.35  # a cell without rows; how much of its colour one with few rows keeps


def pair(
    model: AdaFairClassifier,
    first: str | int,
    second: str | int,
    X: Any = None,
    *,
    few: float = 20,
    top: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """What two features add to the score together, beyond what each of them adds alone.

    Each cell has the colour of its score and, where there is room, the score and the number of rows it rests on. A cell
    of fewer than ``few`` rows is faded, a cell of none is hatched: what the model says there is not learnt from data.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of trees of depth two, ``max_depth=2``.
    first, second : str or int
        Names or positions of the two features.
    X : DataFrame or array-like, optional
        Data whose rows are counted in the cells; by default the rows that the model was trained on.
    few : float, default=20
        Cells of fewer rows (by sample weight, if the model was trained with weights) are faded.
    top : int, default=15
        Of more values than this on an axis, only those are drawn that have the strongest effect, and missing values.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, plot
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
    >>> model = AdaFairClassifier("none", max_depth=2, n_estimators=1, validation_fraction=None)
    >>> ax = plot.pair(model.fit(X, y, sensitive_features=["a", "b"] * 20), "x0", "x1")
    >>> ax.get_ylabel(), ax.get_xlabel()
    ('x0', 'x1')
    """
    function = explain.pair_function(model, first, second)
    scores, weight = function.scores, function.weight
    if X is not None:
        weight = _count(function, model, X)
    rows, columns = _strongest(scores, weight, top), _strongest(scores.T, weight.T, top)
    at = np.ix_(rows, columns)
    scores, weight = scores[at], weight[at]
    row_labels = [function.rows.labels[k] for k in rows]
    column_labels = [function.columns.labels[k] for k in columns]
    ax = _style.axes(ax, _style.height_of(len(rows)) + 0.9, max(7.0, 2.6 + 0.75 * len(columns)))
    _draw(ax, scores, weight, few)
    ax.set_yticks(np.arange(len(rows)), [_style.plain(label, 24) for label in row_labels])
    turn = sum(map(len, column_labels)) > 60
    ax.set_xticks(
        np.arange(len(columns)),
        [_style.plain(label, 24) for label in column_labels],
        rotation=40 if turn else 0,
        ha="right" if turn else "center",
        rotation_mode="anchor",
    )
    ax.set_ylabel(_style.plain(function.features[0], 40))
    ax.set_xlabel(_style.plain(function.features[1], 60))
    names = " × ".join(_style.cut(name, 20) for name in function.features)
    _style.title(ax, f"{names}: beyond what each adds alone", 64)
    ax.set_title(ax.get_title(loc="left"), loc="left", fontsize=11, pad=20)  # room for the line below it
    return ax


def _count(function: explain.PairFunction, model: AdaFairClassifier, X: Any) -> Floats:
    """How many rows of X are in each cell."""
    first, second = (_values(feature_source(model, name, X)) for name in function.features)
    counts = np.zeros_like(function.weight)
    np.add.at(counts, (function.rows.positions(first), function.columns.positions(second)), 1.0)
    return counts


def _values(source: Source) -> Any:
    if isinstance(source, NumberSource):
        return source.floats(slice(None))
    codes, found = source.factorized(slice(None))
    values = np.empty(len(found) + 1, dtype=object)  # the last one is for code -1, missing
    values[:-1] = found
    return values[codes]


def _strongest(scores: Floats, weight: Floats, top: int) -> list[int]:
    """The rows to draw, in their order: the last one, missing values, only if there are any or nothing else is left."""
    effect = (np.abs(scores) * weight).sum(axis=1)
    last = len(scores) - 1
    kept = sorted(np.argsort(-effect[:last], kind="stable")[:top].tolist())
    return [*kept, last] if weight[last].any() or not kept else kept


def _draw(ax: Axes, scores: Floats, weight: Floats, few: float) -> None:
    from matplotlib.colors import LinearSegmentedColormap, to_rgba
    from matplotlib.patches import Rectangle

    largest = float(np.abs(np.where(weight > 0, scores, 0.0)).max()) or 1.0
    colours = LinearSegmentedColormap.from_list("score", [_style.DOWN, "#F7F7F7", _style.UP])
    written = scores.size <= MAX_WRITTEN
    for i, j in np.ndindex(*scores.shape):
        score, rows = float(scores[i, j]), float(weight[i, j])
        colour = np.array(colours(0.5 + 0.5 * np.clip(score / largest, -1.0, 1.0)))
        if rows == 0:
            colour = np.array(to_rgba(UNSUPPORTED))
        elif rows < few:
            grey = np.array(to_rgba(_style.FAINT))
            colour = FEW * colour + (1.0 - FEW) * grey
        ax.add_patch(
            Rectangle(
                (j - 0.5, i - 0.5),
                1,
                1,
                facecolor=tuple(colour),
                edgecolor="white" if rows else _style.FAINT,
                hatch=None if rows else "////",
                linewidth=1.0,
            )
        )
        if written and rows:
            dark = float(colour[:3] @ [0.299, 0.587, 0.114]) < 0.5
            ax.text(
                j,
                i,
                f"{_style.signed(score)}\n{_rows(rows)}",
                ha="center",
                va="center",
                fontsize=_style.SMALL - 1.5,
                color="white" if dark else _style.QUIET if rows < few else "black",
            )
    ax.set_xlim(-0.5, scores.shape[1] - 0.5)
    ax.set_ylim(scores.shape[0] - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    what = "Score and number of rows in each cell" if written else "Blue raises the score, orange lowers it"
    notes = [what, *([f"grey: fewer than {few:g} rows"] if ((weight > 0) & (weight < few)).any() else [])]
    notes += ["hatched: no rows"] if (weight == 0).any() else []
    ax.annotate(
        "; ".join(notes),
        (0, 1),
        (0, 4),
        xycoords="axes fraction",
        textcoords="offset points",
        va="bottom",
        fontsize=_style.SMALL,
        color=_style.QUIET,
    )


def _rows(weight: float) -> str:
    """A number of rows in few letters."""
    return f"{weight:,.0f}" if weight >= 10 or weight == int(weight) else f"{weight:.1f}"
