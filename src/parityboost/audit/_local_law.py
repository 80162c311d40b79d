"""New York City's Local Law 144: the tables that a bias audit of a tool for hiring has to publish."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._io.json_values import to_plain
from ._labels import one_column, read_columns, read_decisions
from ._sections import Section, as_html, as_markdown, as_text, share

SMALL = 0.02  # a category of a smaller share of the people may be left out of the impact ratios


@dataclass(frozen=True, repr=False, eq=False)
class LocalLaw144:
    """The tables of :func:`local_law_144`. Printing it shows them; in a notebook it shows them as HTML.

    Attributes
    ----------
    sex, race, crossed : DataFrame
        One row per category: ``n`` people, how many are ``selected`` (or score above the median), the ``rate``, the
        ``impact_ratio``, and whether the category is ``small``, below 2 % of the people. Small ones have no impact
        ratio, and are not what others are compared with, unless they were to be included.
    unknown : int
        People of unknown sex or race, who are in none of the tables.
    settings : dict
        What was counted: ``n``, ``rate`` (``"selection"`` or ``"scoring"``), ``median``, the labels, ``exclude_small``.

    Examples
    --------
    >>> from parityboost.audit import local_law_144
    >>> tables = local_law_144(
    ...     [1, 0, 1, 1] * 25, sex=["F", "M"] * 50, race=["A"] * 50 + [None] * 50
    ... )
    >>> tables.unknown, tables.race.loc["A", "rate"]
    (50, np.float64(0.74))
    """

    sex: pd.DataFrame
    race: pd.DataFrame
    crossed: pd.DataFrame
    unknown: int
    settings: dict[str, Any]

    def summary(self) -> list[str]:
        """What the tables leave out, as sentences."""
        settings = self.settings
        counted = (
            f"The scoring rate is the share of a category that scores above {settings['median']:g}, the median of all "
            f"{settings['n_scored']:,} scores."
            if settings["rate"] == "scoring"
            else f"Selected is who gets {settings['selected']!r}."
        )
        if settings["rate"] == "selection" and settings["favourable"] is None:
            counted += " Which label is favourable to the person was not stated: it is the positive one."
        said = [
            f"{settings['n']:,} people were counted, {share(settings['overall'])} of them "
            + ("above the median." if settings["rate"] == "scoring" else "selected."),
            counted,
            f"{self.unknown:,} people of unknown sex or race/ethnicity are not included.",
        ]
        small = [str(name) for table in (self.sex, self.race, self.crossed) for name in table.index[table["small"]]]
        if small:
            treated = (
                "have no impact ratio, and nothing is compared with them" if settings["exclude_small"] else "are marked"
            )
            said.append(f"Categories of less than 2 % of the people {treated}: {', '.join(small)}.")
        return said

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, dicts, numbers and text; None where a value is not defined."""
        tables = {"sex": self.sex, "race": self.race, "crossed": self.crossed}
        return {"settings": self.settings, "unknown": self.unknown} | {
            name: [
                {key: to_plain(value) for key, value in row.items()} for row in table.reset_index().to_dict("records")
            ]
            for name, table in tables.items()
        }

    def to_json(self, indent: int | None = 2) -> str:
        """:meth:`to_dict`, with the sentences of :meth:`summary`, as JSON."""
        report = self.to_dict() | {"summary": self.summary()}
        return json.dumps(report, indent=indent, ensure_ascii=False, allow_nan=False)

    def to_markdown(self) -> str:
        """Summary and tables in Markdown."""
        return as_markdown(*self._shown())

    def _repr_html_(self) -> str:
        return as_html(*self._shown())

    def __str__(self) -> str:
        return as_text(*self._shown())

    __repr__ = __str__

    def _shown(self) -> tuple[str, list[Section], list[str]]:
        rate = self.settings["rate"]
        sections = []
        titles = {"Sex categories": self.sex, "Race/ethnicity categories": self.race}
        for title, table in (titles | {"Intersectional categories": self.crossed}).items():
            shown = pd.DataFrame(
                {
                    "category": [f"{name} *" if small else str(name) for name, small in table["small"].items()],
                    "people": table["n"].map("{:,}".format),
                    ("above the median" if rate == "scoring" else "selected"): table["selected"].map("{:,}".format),
                    f"{rate} rate": table["rate"].map(share),
                    "impact ratio": ["–" if np.isnan(ratio) else f"{ratio:.2f}" for ratio in table["impact_ratio"]],
                }
            )
            sections.append(Section(title, shown))
        return "Bias audit after New York City's Local Law 144 (* below 2 % of the people)", sections, self.summary()


def local_law_144(
    y_pred: Any = None,
    *,
    sex: Any,
    race: Any,
    scores: Any = None,
    positive_label: Any = None,
    favourable: Any = None,
    unknown: Sequence[Any] = (),
    exclude_small: bool = True,
) -> LocalLaw144:
    """The tables that New York City's Local Law 144 asks for: impact ratios by sex, race/ethnicity, and both crossed.

    Parameters
    ----------
    y_pred : array-like of shape (n_samples,), optional
        The decisions, for selection rates.
    sex, race : array-like of shape (n_samples,)
        The categories of each person; a missing value is unknown.
    scores : array-like of shape (n_samples,), optional
        Scores, for scoring rates, if there are no decisions: the share of a category above the median of all scores.
    positive_label, favourable : label, optional
        As in :func:`audit`: selected is who gets the favourable label, by default the positive one.
    unknown : list, default=()
        Values that stand for an unknown category, such as ``["not stated"]``.
    exclude_small : bool, default=True
        Leave categories of less than 2 % of the people out of the impact ratios, as the rules allow. They are marked
        either way.

    Returns
    -------
    LocalLaw144

    Examples
    --------
    >>> from parityboost.audit import local_law_144
    >>> sex, race = ["F", "M"] * 50, ["A"] * 50 + ["B"] * 50
    >>> tables = local_law_144([1, 0, 1, 1] * 25, sex=sex, race=race, favourable=1)
    >>> tables.sex[["n", "selected", "impact_ratio"]]
         n  selected  impact_ratio
    sex
    F   50        50           1.0
    M   50        25           0.5
    """
    if (y_pred is None) == (scores is None):
        raise ValueError("give y_pred for selection rates or scores for scoring rates, and not both")
    settings: dict[str, Any] = {"exclude_small": bool(exclude_small)}
    if y_pred is not None:
        _, selected, labels = read_decisions(None, y_pred, positive_label, favourable)
        settings |= {"rate": "selection"} | labels
    else:
        values = one_column("scores", scores)
        numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"scores must be numbers, got {values[int(np.argmin(np.isfinite(numbers)))]!r}")
        median = float(np.median(numbers))
        selected = numbers > median
        settings |= {"rate": "scoring", "median": median, "n_scored": len(numbers)}
    given = read_columns({"sex": sex, "race": race}, len(selected), "scores" if y_pred is None else "y_pred")
    columns = given.apply(_categories, unknown={str(value) for value in unknown})
    known = columns.notna().all(axis=1).to_numpy()
    if not known.any():
        raise ValueError("nobody's sex and race are both known")
    selected = selected[known]
    by_sex, by_race = (columns[name][known] for name in columns)
    crossed = by_sex + " & " + by_race
    crossed.name = "sex & race"
    sexes, races, both = (_table(by, selected, exclude_small) for by in (by_sex, by_race, crossed))
    settings |= {"n": int(known.sum()), "overall": float(selected.mean())}
    return LocalLaw144(sexes, races, both, int((~known).sum()), settings)


def _categories(column: pd.Series[Any], unknown: set[str]) -> pd.Series[Any]:
    """As text, None where it is unknown."""
    text = column.astype(str)
    return text.astype(object).where(column.notna() & ~text.isin(unknown), None)


def _table(category: pd.Series[Any], selected: NDArray[np.bool_], exclude_small: bool) -> pd.DataFrame:
    grouped = pd.Series(selected, index=category.index).groupby(category.to_numpy())
    table = pd.DataFrame({"n": grouped.size(), "selected": grouped.sum().astype(np.int64)})
    table.index.name = category.name
    table["rate"] = table["selected"] / table["n"]
    table["small"] = table["n"] < SMALL * len(selected)
    compared = ~table["small"] if exclude_small else table["n"] > 0
    highest = float(table["rate"][compared].max())  # NaN if there is none
    ratio = table["rate"] / highest if highest > 0 else pd.Series(np.nan, table.index)
    table["impact_ratio"] = ratio.where(compared)
    return table[["n", "selected", "rate", "impact_ratio", "small"]]
