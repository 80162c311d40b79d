"""What is to be run: runs, the settings they are made in, the figures that need them, and what a folder covers.

A run is one fit on one split. A setting says which attributes of a dataset are used and by which *recipe* each method
is fitted: as the paper's text says, as its authors' scripts did, or with our defaults. Where two settings agree they
share the run. So do most figures: AdaBoost on a split serves the figures of all three notions, and one fit of AdaFair
serves its performance figure, all values of c (θ is chosen after training) and its costs per round.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..._io.atomic import write_atomically
from ..baselines import DATASETS, DM, get_method

N_SPLITS = 10
SCOPE = "scope.json"
C_VALUES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
CUMULATIVE = ("AdaFair", "AdaFair NoCumul")
# On how many rounds and how much test data a run is made: the paper's two protocols.
PROTOCOLS = {"halves": {"n_estimators": 200, "test_size": 0.5}, "rounds": {"n_estimators": 500, "test_size": 0.33}}
# What a run changes of the parameters that the registry and the protocol give. Settings choose among these by name.
# Plain SMOTE is on a 0/1 column for each category.
# The scripts' own rules, in _runner.py: the guarded cost; no costs in the first round, whose F.M. counts as 1; and, if
# not cumulative, F.M. of the round's learner in the choice of θ.
RULES = ["guard", "first round", "learner's theta"]
RECIPES: dict[str, dict[str, Any]] = {
    "default": {},
    "discrete": {"update": "discrete"},
    "confidence": {"update": "confidence"},
    "authors": {"rules": RULES, "update": "discrete", "n_estimators": 500, "validation_fraction": None},
    "authors rounds": {"rules": RULES, "update": "discrete", "validation_fraction": 0.3, "costs_from": "validation"},
    "plain": {"smote": "plain"},
    "plain 500": {"smote": "plain", "n_synthetic": 500},
    "tau 3": {"tau": 3.0},
}
SettingRule = Callable[[str, str, str, str], str]  # method, dataset, notion and protocol to the name of a recipe


@dataclass(frozen=True)
class Run:
    """One fit: everything that decides its outcome.

    Attributes
    ----------
    dataset, method : str
        Names in :data:`DATASETS` and in the registry of the baselines.
    notion : str or None
        None for methods that cannot be told a notion; one run then serves all figures.
    split : int
        Seed of the split, of the validation split and of the method.
    protocol : {"halves", "rounds"}
        Random halves with T = 200, or 67/33 with T = 500 and everything measured after each round.
    attributes : {"table1", "authors", "zafar"}
        Which attributes of the dataset are used.
    recipe : str
        A name in :data:`RECIPES`: what differs from the method's parameters in the registry.
    """

    dataset: str
    method: str
    notion: str | None
    split: int
    protocol: str = "halves"
    attributes: str = "table1"
    recipe: str = "default"

    @property
    def key(self) -> str:
        """Name of the run's file."""
        words = [self.protocol, f"{self.dataset}_{self.attributes}", self.method, self.recipe]
        words += [self.notion or "any", f"{self.split:02d}"]
        return "-".join(re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_") for word in words)

    def as_dict(self) -> dict[str, Any]:
        """The run as JSON can hold it, with the numbers that its protocol and its recipe stand for."""
        return {**asdict(self), **PROTOCOLS[self.protocol], "parameters": RECIPES[self.recipe]}


@dataclass(frozen=True)
class Setting:
    """How the whole evaluation is run.

    Attributes
    ----------
    name : {"text", "authors", "ours"}
        What ``parityboost reproduce --setting`` takes.
    title : str
        How tables call it.
    says : str
        One sentence for the page of results.
    attributes : mapping of str to str
        Which attributes of a dataset are used, where not all of Table 1's.
    recipe : callable
        The name of a recipe for a method, dataset, notion and protocol.
    cost_rounds : int or None
        How many rounds the figures of the costs show; None for all.
    """

    name: str
    title: str
    says: str
    attributes: Mapping[str, str]
    recipe: SettingRule
    cost_rounds: int | None = None

    def run(self, dataset: str, method: str, notion: str, split: int, protocol: str = "halves") -> Run:
        """The run that this setting has for a method; one run may serve several notions."""
        told = notion if get_method(method).takes_notion else None
        attributes, recipe = self.attributes.get(dataset, "table1"), self.recipe(method, dataset, notion, protocol)
        return Run(dataset, method, told, split, protocol, attributes, recipe)


def _text(method: str, dataset: str, notion: str, protocol: str) -> str:
    return "discrete" if method in CUMULATIVE else "default"


def _authors(method: str, dataset: str, notion: str, protocol: str) -> str:
    if method in CUMULATIVE:
        return "authors rounds" if protocol == "rounds" else "authors"
    if method == "AdaBoost" and notion == DM and dataset != "kdd":
        return "confidence"  # Figure 3 shows their runs of 2019, but on KDD census
    if method == "SMOTEBoost":
        # The scripts for the other two notions compare the wrong name with "bank", so that N is 500 there.
        return "plain 500" if dataset == "bank" and notion != DM else "plain"
    if method == "Zafar et al." and dataset != "kdd":  # there the paper has none
        return "tau 3"
    return "default"


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(
            "text",
            "the paper's text",
            "The text taken at its word: Eq. (14) with h = ±1, T = 200 (500 for Figure 4), θ on a third of the "
            "training data, the attributes that Table 1 counts.",
            {},
            _text,
        ),
        Setting(
            "authors",
            "the authors' scripts",
            "The scripts of 2021: T = 500, θ on the training data, no costs and F.M. = 1 in round 1, the cost for "
            "false positives guarded by δTPR, NoCumul's θ by the F.M. of the last learner, 11 attributes of Adult, "
            "plain SMOTE; Figure 4 with costs and θ from 30 % validation data, AdaBoost confidence-rated in Figure 3.",
            {"adult": "authors", "compas": "zafar"},
            _authors,
            cost_rounds=200,
        ),
        Setting(
            "ours",
            "our defaults",
            "The library's defaults: confidence-rated update, T = 200 (500 for Figure 4), θ on a third of the "
            "training data; five attributes of COMPAS, as Zafar et al. have them.",
            {"compas": "zafar"},
            lambda method, dataset, notion, protocol: "default",
        ),
    )
}


class Mark(NamedTuple):
    """What the paper's text says of one bar: a share, or a difference to the bar of another method."""

    method: str
    measure: str
    value: float
    against: str | None = None


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
    see : str
        What a reader sees in it.
    claims : str
        The pattern of the claims about it.
    marks : mapping of str to tuple of Mark
        By dataset, what the paper's text says of single bars.
    """

    number: int
    kind: str
    notion: str
    methods: tuple[str, ...]
    title: str
    see: str
    claims: str
    marks: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Stem of its files."""
        return f"figure-{self.number:02d}-{self.kind}-{self.notion.replace('_', '-')}"

    def runs(self, dataset: str, setting: Setting, n_splits: int = N_SPLITS) -> Iterator[Run]:
        """The runs that its panel of a dataset needs."""
        protocol, n_splits = ("rounds", 1) if self.kind == "rounds" else ("halves", n_splits)
        for split in range(n_splits):
            for method in self.methods:
                yield setting.run(dataset, method, self.notion, split, protocol)


_TEXT = Path(__file__).with_name("figures.toml").read_bytes()
FIGURES = tuple(msgspec.toml.decode(_TEXT, type=dict[str, list[Figure]])["figures"])


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
    """
    chosen, names, panels = tuple(figures), tuple(SETTINGS if settings is None else settings), tuple(datasets)
    for what, asked, known in (("setting", names, SETTINGS), ("dataset", panels, DATASETS)):
        for name in asked:
            if name not in known:
                raise ValueError(f"unknown {what} {name!r}; known are {', '.join(known)}")
    for dataset in panels:
        runs = dict.fromkeys(
            run for name in names for figure in chosen for run in figure.runs(dataset, SETTINGS[name], n_splits)
        )
        yield from sorted(runs, key=lambda run: (run.attributes, run.protocol, run.split))


@dataclass(frozen=True)
class Scope:
    """What a folder of results covers: figures, datasets and settings, each in its usual order, on how many splits."""

    figures: tuple[int, ...]
    datasets: tuple[str, ...]
    settings: tuple[str, ...]
    n_splits: int

    @classmethod
    def of(cls, figures: Iterable[int], datasets: Iterable[str], settings: Iterable[str], n_splits: int) -> Scope:
        numbers, names, chosen = set(figures), set(datasets), set(settings)
        return cls(
            tuple(figure.number for figure in FIGURES if figure.number in numbers),
            tuple(name for name in DATASETS if name in names),
            tuple(name for name in SETTINGS if name in chosen),
            n_splits,
        )

    @classmethod
    def read(cls, folder: Path) -> Scope | None:
        """What the folder covers; None if it holds no results."""
        if (folder / SCOPE).exists():
            return cls.of(**json.loads((folder / SCOPE).read_text(encoding="utf8")))
        if (folder / "rows.csv").exists():
            raise ValueError(f"{folder} holds results of another version of parityboost: choose another --out")
        return None

    def write(self, folder: Path) -> None:
        write_atomically(folder / SCOPE, json.dumps(asdict(self), indent=1) + "\n")

    def panels(self) -> list[Figure]:
        return [figure for figure in FIGURES if figure.number in self.figures]

    def runs(self) -> list[Run]:
        """Every run, once."""
        return list(plan(self.datasets, self.panels(), self.n_splits, self.settings))

    def joined(self, other: Scope) -> Scope | None:
        """The one that covers exactly both; None if none does."""
        mine, theirs = asdict(self), asdict(other)
        both = Scope.of(
            self.figures + other.figures,
            self.datasets + other.datasets,
            self.settings + other.settings,
            max(self.n_splits, other.n_splits),
        )
        # Scopes that differ in one respect leave no hole in their union.
        return both if both in (self, other) or sum(mine[name] != theirs[name] for name in mine) == 1 else None

    def __str__(self) -> str:
        return (
            f"figures {', '.join(map(str, self.figures))} of {', '.join(self.datasets)} in the settings "
            f"{', '.join(self.settings)} on {self.n_splits} splits"
        )
