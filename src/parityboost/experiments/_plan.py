"""What is to be run: the figures of the paper's evaluation, each a declaration, and the runs they need.

A run is one fit on one split. Most figures share runs: AdaBoost on a split serves the figures of all three notions, and
one fit of AdaFair serves its performance figure, all values of c (θ is chosen after training) and its costs per round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..baselines.registry import DATASETS, DM, EO, SP
from ._run import CUMULATIVE, Run
from ._settings import SETTINGS, Setting

N_SPLITS = 10
C_VALUES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
PLAIN = ("AdaBoost", "SMOTEBoost")


@dataclass(frozen=True)
class Figure:
    """One figure of the paper: four panels, a dataset each.

    Attributes
    ----------
    number : int
        As in the paper.
    kind : {"performance", "rounds", "costs", "balance"}
        What it shows, hence how it is tabulated and drawn.
    notion : str
        The fairness notion whose measure it shows.
    methods : tuple of str
        The methods it compares.
    title : str
        What stands above it.

    Examples
    --------
    >>> from parityboost.experiments import FIGURES
    >>> FIGURES[4].title
    'Disparate mistreatment: cumulative or not'
    >>> FIGURES[4].methods
    ('AdaFair', 'AdaFair NoCumul')
    """

    number: int
    kind: str
    notion: str
    methods: tuple[str, ...]
    title: str

    @property
    def name(self) -> str:
        """Stem of its files."""
        return f"figure-{self.number:02d}-{self.kind}-{self.notion.replace('_', '-')}"

    def runs(self, dataset: str, setting: Setting, n_splits: int = N_SPLITS) -> Iterator[Run]:
        """The runs that its panel of a dataset needs."""
        for split in range(1 if self.kind == "rounds" else n_splits):
            for method in self.methods:
                protocol = "rounds" if self.kind == "rounds" else "halves"
                yield setting.run(dataset, method, self.notion, split, protocol)


FIGURES: tuple[Figure, ...] = (
    Figure(1, "performance", SP, (*PLAIN, "AdaBoost SDB", "AdaFair"), "Statistical parity: performance"),
    Figure(2, "performance", EO, (*PLAIN, "FAE", "AdaFair"), "Equal opportunity: performance"),
    Figure(
        3,
        "performance",
        DM,
        (*PLAIN, "Krasanakis et al.", "Zafar et al.", "AdaFair"),
        "Disparate mistreatment: performance",
    ),
    Figure(4, "rounds", DM, ("AdaFair",), "Over the boosting rounds, disparate mistreatment"),
    Figure(5, "performance", DM, CUMULATIVE, "Disparate mistreatment: cumulative or not"),
    Figure(6, "costs", DM, CUMULATIVE, "Disparate mistreatment: δFNR and δFPR per round"),
    Figure(7, "balance", DM, ("AdaFair",), "Disparate mistreatment: the effect of c"),
    Figure(8, "performance", SP, CUMULATIVE, "Statistical parity: cumulative or not"),
    Figure(9, "costs", SP, CUMULATIVE, "Statistical parity: δSP per round"),
    Figure(10, "performance", EO, CUMULATIVE, "Equal opportunity: cumulative or not"),
    Figure(11, "costs", EO, CUMULATIVE, "Equal opportunity: δFNR per round"),
    Figure(12, "balance", SP, ("AdaFair",), "Statistical parity: the effect of c"),
    Figure(13, "balance", EO, ("AdaFair",), "Equal opportunity: the effect of c"),
)


def plan(
    datasets: Iterable[str] = DATASETS,
    figures: Iterable[Figure] = FIGURES,
    n_splits: int = N_SPLITS,
    settings: Iterable[str] | None = None,
) -> Iterator[Run]:
    """Every run that the figures need, once: dataset by dataset, split by split.

    Parameters
    ----------
    datasets : iterable of str, default=("adult", "bank", "compas", "kdd")
        The panels.
    figures : iterable of Figure, default=FIGURES
        The figures.
    n_splits : int, default=10
        Number of random splits; their seeds are 0, 1, ….
    settings : iterable of str, optional
        Names in :data:`SETTINGS`; all three by default. Settings share the runs that they have in common.

    Yields
    ------
    Run

    Examples
    --------
    >>> from parityboost.experiments import FIGURES, plan
    >>> [run.method for run in plan(["adult"], FIGURES[:1], n_splits=1, settings=["ours"])]
    ['AdaBoost', 'SMOTEBoost', 'AdaBoost SDB', 'AdaFair']
    """
    chosen = tuple(figures)
    names = tuple(SETTINGS if settings is None else settings)
    for name in names:
        if name not in SETTINGS:
            raise ValueError(f"unknown setting {name!r}; known are {', '.join(SETTINGS)}")
    for dataset in datasets:
        if dataset not in DATASETS:
            raise ValueError(f"unknown dataset {dataset!r}; known are {', '.join(DATASETS)}")
        runs = dict.fromkeys(
            run for name in names for figure in chosen for run in figure.runs(dataset, SETTINGS[name], n_splits)
        )
        yield from sorted(runs, key=lambda run: (run.attributes, run.protocol, run.split))
