"""Records of figures drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import install
from ._chart import ROLES, Bars, Cells, Chart, Line, Points, Rule, Steps, Word, apart, plain, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 9  # points
ROW_LETTERS, TITLE_LETTERS = 38, 72  # in a line
DASHES: dict[str, Any] = {"solid": "-", "dash": (0, (4, 3)), "dashdot": "-.", "dot": ":"}
DASHES |= {"longdash": (0, (8, 3)), "longdashdot": (0, (8, 3, 1, 3))}
FADED = 0.35  # how much of its colour a cell of few rows keeps


def draw(chart: Chart, ax: Axes | None = None) -> Axes:
    rows = len(chart.y.names or ())
    columns = len(chart.x.names or ()) if rows else 0
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(f"parityboost.plot needs matplotlib: {install('plot')}") from error
        lines = max(chart.lines, 1 + any(len(name) > ROW_LETTERS for name in chart.y.names or ()))
        height = 1.2 + max(rows, 3) * max(0.3, 0.19 * lines + 0.06) + (0.9 if columns else 0.0)
        size = max(7.0, 2.6 + 0.75 * columns), height if rows else chart.inches
        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    for mark in chart.marks:
        _DRAW[type(mark)](ax, mark)
    title = _axes(ax, chart)
    _words_after_layout(ax, chart, title)
    return ax


def _colour(role: str) -> str:
    return ROLES.get(role, role)


def _bars(ax: Axes, mark: Bars) -> None:
    (left, right), colours = mark.ends, [_colour(role) for role in mark.roles]
    drawn = ax.barh(mark.at, mark.values, mark.thickness, left=left, color=colours, label=plain(mark.name))
    for bar, colour in list(zip(drawn, colours, strict=True))[len(drawn) - mark.hatched :]:
        bar.set(facecolor="none", edgecolor=colour, hatch="////")
    if mark.start is not None:  # each bar begins where the one before ends
        for y, x in enumerate([*left[:1], *right]):
            ax.plot([x, x], [y, y + 1], color=ROLES["muted"], linewidth=0.8, zorder=0)
    texts = [plain(text) for text in mark.texts]
    if mark.name and texts:  # the first of them says whose bars these are
        texts[0] += f"  {plain(mark.name)}"
    for x, y, text in zip(np.nan_to_num(np.maximum(left, right)), mark.at, texts, strict=True):
        _beside(ax, x, y, text)


def _beside(ax: Axes, x: float, y: float, text: str, shift: float = 3, **more: Any) -> Any:
    look: dict[str, Any] = {"va": "center", "fontsize": SMALL, "color": ROLES["muted"], "annotation_clip": False} | more
    return ax.annotate(text, (x, y), (shift, 0), textcoords="offset points", **look)


def _line(ax: Axes, mark: Line) -> None:
    look: dict[str, Any] = {"color": _colour(mark.role), "linestyle": DASHES[mark.dash], "linewidth": mark.width}
    look |= {"marker": "o" if mark.dots else None, "markersize": 4, "label": plain(mark.name, ROW_LETTERS)}
    if mark.low is not None and mark.high is not None:
        y = np.asarray(mark.y)
        away = np.maximum([y - mark.low, np.asarray(mark.high) - y], 0.0)
        ax.errorbar(mark.x, y, away, elinewidth=1, **look)
    elif mark.steps:
        ax.step(mark.x, mark.y, where="pre", zorder=1, **look)
    else:
        ax.plot(mark.x, mark.y, zorder=0 if mark.role in ("muted", "grid") else 2, **look)


def _points(ax: Axes, mark: Points) -> None:
    colour = _colour(str(mark.roles))
    if mark.kind == "dot":
        shades = {"color": colour} if mark.shades is None else {"c": mark.shades, "cmap": "cividis_r"}
        ax.scatter(mark.x, mark.y, s=mark.size**2 / 2, linewidths=0, zorder=2, **shades)
    else:
        marker, width = ("D", 1.5) if mark.kind == "diamond" else ("o", 2)
        ax.plot(
            mark.x, mark.y, marker, color=colour, markersize=mark.size, markerfacecolor="none", mew=width, clip_on=False
        )
    for x, y, text in zip(mark.x, mark.y, mark.texts or (), strict=False):
        _beside(ax, x, y, plain(text), 6, color=colour)


def _steps(ax: Axes, mark: Steps) -> None:
    look: dict[str, Any] = {"color": ROLES["ours"]}
    if mark.spread is not None:
        low, high = np.array(mark.values) - mark.spread, np.array(mark.values) + mark.spread
        ax.stairs(high, mark.edges, baseline=low, fill=True, alpha=0.2, linewidth=0, **look)
    ax.stairs(mark.values, mark.edges, baseline=None, linewidth=2, **look)
    if len(mark.heights):
        density = ax.twinx()
        density.bar(mark.bins[:-1], mark.heights, np.diff(mark.bins), align="edge", color=ROLES["grid"])
        density.set_ylim(0, 5 * max(mark.heights))
        density.set_axis_off()
        ax.set_zorder(density.get_zorder() + 1)
        ax.patch.set_visible(False)


def _cells(ax: Axes, mark: Cells) -> None:
    from matplotlib.colors import LinearSegmentedColormap, to_rgb
    from matplotlib.patches import Rectangle

    largest = float(np.abs(np.where(mark.weight > 0, mark.scores, 0.0)).max()) or 1.0
    colours = LinearSegmentedColormap.from_list("score", [ROLES["down"], "#F7F7F7", ROLES["ours"]])
    for (i, j), score in np.ndenumerate(mark.scores):
        rows = float(mark.weight[i, j])
        colour = np.array(colours(0.5 + 0.5 * score / largest)[:3])
        if rows < mark.few:
            colour = FADED * colour + (1.0 - FADED) * np.array(to_rgb(ROLES["grid"]))
        look: dict[str, Any] = {"facecolor": tuple(colour), "edgecolor": "white"}
        if not rows:
            look = {"facecolor": "white", "edgecolor": ROLES["grid"], "hatch": "////"}
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, linewidth=1.0, **look))
        if rows:
            dark = float(colour @ [0.299, 0.587, 0.114]) < 0.5
            ink = "white" if dark else ROLES["muted"] if rows < mark.few else "black"
            number = f"{rows:,.0f}" if rows >= 10 or rows == int(rows) else f"{rows:.1f}"
            ax.text(j, i, f"{signed(score)}\n{number}", ha="center", va="center", fontsize=SMALL - 1.5, color=ink)
    ax.set_xlim(-0.5, mark.scores.shape[1] - 0.5)
    ax.set_ylim(mark.scores.shape[0] - 0.5, -0.5)
    ax.spines[:].set_visible(False)


def _rule(ax: Axes, mark: Rule) -> None:
    look = {"color": _colour(mark.role), "linewidth": 0.8, "linestyle": DASHES[mark.dash]}
    if mark.x is not None and mark.y is not None:
        ax.axline((mark.x, mark.y), slope=-1, **look)
    elif mark.y is not None:
        ax.axhline(mark.y, zorder=0, **look)
        if mark.band:
            ends = mark.y - mark.band, mark.y + mark.band
            ax.axhspan(*ends, color=ROLES["grid"], alpha=0.6, linewidth=0, zorder=0)
    elif mark.x is not None:
        ax.axvline(mark.x, zorder=0 if mark.text or mark.role == "grid" else 1, **look)


def _word(ax: Axes, mark: Word) -> None:
    if mark.heading:
        _beside(ax, mark.x, mark.y, mark.text, fontsize=10, fontweight="bold", color="black")


_DRAW: dict[type, Any] = {Bars: _bars, Line: _line, Points: _points, Steps: _steps}
_DRAW |= {Cells: _cells, Rule: _rule, Word: _word}


def _axes(ax: Axes, chart: Chart) -> Any:
    """Their names and numbers; the title is returned."""
    kinds = {type(mark) for mark in chart.marks}
    if chart.y.names is not None:
        names = [plain(name, 24 if Cells in kinds else ROW_LETTERS) for name in chart.y.names]
        ax.set_yticks(chart.y.places, names)
        ax.tick_params(axis="y", length=0)
        if Cells not in kinds:
            ax.set_ylim(max(chart.y.places, default=0) + 0.6, -0.6)
            ax.locator_params(axis="x", nbins=6)
            if any(mark.x is not None for mark in chart.marks if isinstance(mark, Rule)):
                ax.spines["left"].set_visible(False)
    for name, axis in (("x", chart.x), ("y", chart.y)):
        getattr(ax, f"set_{name}label")(plain(axis.title, 60 if name == "x" else 40))
        if axis.range is not None:
            getattr(ax, f"set_{name}lim")(*axis.range)
        if axis.from_zero:
            ax.set_ylim(bottom=-0.02 * ax.get_ylim()[1])  # what is 0 is not to hide in the axis
        if axis.bounds is not None:
            ax.spines["bottom" if name == "x" else "left"].set_bounds(*axis.bounds)
        if axis.whole:
            ax.locator_params(axis="x", integer=True)
    if chart.x.names is not None:
        look: dict[str, Any] = {} if Cells in kinds else {"fontsize": SMALL}
        if Cells in kinds and sum(map(len, chart.x.names)) > 60:
            look = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(chart.x.places, [plain(name, 0 if "\n" in name else 24) for name in chart.x.names], **look)
    if chart.legend and not kinds & {Bars}:
        ax.legend(frameon=False)
    return ax.set_title(plain(chart.title, TITLE_LETTERS), loc="left", fontsize=11, pad=20 if chart.note else None)


def _words_after_layout(ax: Axes, chart: Chart, title: Any) -> None:
    """What depends on where all else is: room for words, and words where there is room."""
    for y, text in zip(chart.y.places, chart.margin, strict=False):
        place = ax.get_yaxis_transform()
        ax.text(1.02, y, text, transform=place, va="center", fontsize=SMALL, color=ROLES["muted"])
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    letters = TITLE_LETTERS
    while letters > ROW_LETTERS / 2 and title.get_window_extent().width > 0.95 * ax.bbox.width:
        letters -= 2  # names of rows leave less room; at fewer dots per inch letters are wider
        title.set_text(plain(chart.title, letters))
    note = chart.note
    if any(isinstance(mark, Cells) for mark in chart.marks):
        if not _fit_cells(ax):
            note = note.replace("Score and number of rows in each cell", "Blue raises the score, orange lowers it")
    elif chart.y.names is not None and chart.x.range is None:
        _make_room(ax, chart.marks)
    if chart.x.bounds is not None and chart.x.names is None:
        low, high = chart.x.bounds
        ax.set_xticks([tick for tick in ax.get_xticks() if low <= tick <= high])
    lines = sorted((mark for mark in chart.marks if isinstance(mark, Line) and mark.end), key=lambda line: line.y[-1])
    to_points = 72.0 / ax.figure.dpi
    wanted = np.array([ax.transData.transform((line.x[-1], line.y[-1]))[1] * to_points for line in lines])
    for line, shift in zip(lines, apart(wanted, 1.25 * SMALL) - wanted, strict=True):
        word = _beside(ax, line.x[-1], line.y[-1], plain(line.end), color=_colour(line.role))
        word.set_position((6, shift))
    for mark in chart.marks:
        if isinstance(mark, Rule) and mark.text and mark.x is not None:  # on the side where there is more room
            right = 2 * mark.x < sum(ax.get_xlim())
            look: dict[str, Any] = {
                "xycoords": ("data", "axes fraction"),
                "va": "top",
                "ha": "left" if right else "right",
            }
            _beside(ax, mark.x, 1, mark.text, **look).set_position((4 if right else -4, -2))
    _place([mark for mark in chart.marks if isinstance(mark, Word) and not mark.heading], ax)
    if note:
        _beside(ax, 0, 1, note, 0, xycoords="axes fraction", va="bottom").set_position((0, 4))


def _make_room(ax: Axes, marks: Sequence[Any]) -> None:
    """A range of the horizontal axis that leaves room for the words right of bars and points."""
    ends = np.concatenate([[0.0], *(mark.ends.ravel() for mark in marks if isinstance(mark, Bars))])
    low, high = np.nanmin(ends), np.nanmax(ends)
    low -= 0.04 * (high - low) if low < 0 else 0.0
    width = ax.bbox.width
    for word in ax.texts:
        if hasattr(word, "xy"):
            left = max(width - word.get_window_extent().width - 8, 0.2 * width)
            high = max(high, low + (word.xy[0] - low) * width / left)
    ax.set_xlim(low, high if high > low else low + 1.0)


def _fit_cells(ax: Axes) -> bool:
    """Whether the words of all cells fit into them; otherwise they are taken away."""
    (left, bottom), (right, top) = (ax.transData.transform(place) for place in ((0, 1), (1, 0)))
    boxes = [word.get_window_extent() for word in ax.texts]
    fit = all(box.width < right - left and box.height < top - bottom for box in boxes)
    if not fit:
        for word in list(ax.texts):
            word.remove()
    return fit


def _place(words: list[Word], ax: Axes) -> None:
    """Words beside their points, on the first of four sides where they are in the picture and meet no other word."""
    placed = [word.get_window_extent() for word in ax.texts]
    for word in words:
        text = _beside(ax, word.x, word.y, plain(word.text), color=_colour(word.role))
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5})
        for right, up in ((1, 1), (-1, -1), (1, -1), (-1, 1)):
            sides = {"ha": "left" if right > 0 else "right", "va": "bottom" if up > 0 else "top"}
            text.set(position=(7 * right, 7 * up), **sides)
            box = text.get_window_extent().padded(3)
            inside = ax.bbox.contains(box.x0, box.y0) and ax.bbox.contains(box.x1, box.y1)
            if inside and not any(box.overlaps(other) for other in placed):
                break
        else:
            if word.optional:
                text.remove()
                continue
            text.set(position=(7, 7), ha="left", va="bottom")
        placed.append(text.get_window_extent())
