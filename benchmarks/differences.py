"""Which part of the authors' settings gives which of the paper's figures? One part at a time is put back to the text's.

    python benchmarks/differences.py [--out reproduction] [--splits 10]

`parityboost reproduce` says how many claims hold in the settings "text", "authors" and "ours". This says what each
difference between the first two is worth: the number of claims (of the 175 that were counted first, by bare means) that
hold without it, and which are lost and gained. Runs are shared with those of `reproduce` in the same folder, whose next
pages show the result, `parts.csv`.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pandas as pd

from parityboost.paper.experiments import FIRST_CLAIMS, RECIPES, SETTINGS, Results, Setting, Store, judge, perform, plan
from parityboost.paper.experiments._plan import RULES

AUTHORS = SETTINGS["authors"]


def changed(part: str, changes: dict, protocols: tuple[str, ...] = ("halves",)):
    """The authors' setting with other parameters of AdaFair."""
    names = {"authors": "halves", "authors rounds": "rounds"}
    for recipe, protocol in names.items():
        if protocol in protocols:
            RECIPES[f"{recipe}, {part}"] = RECIPES[recipe] | changes

    def recipe(method, dataset, notion, protocol):
        chosen = AUTHORS.recipe(method, dataset, notion, protocol)
        return f"{chosen}, {part}" if chosen in names and protocol in protocols else chosen

    return replace(AUTHORS, name=part, recipe=recipe)


def competitor(part: str, name: str, recipe_of):
    """The authors' setting with another recipe for one of the methods it compares with."""

    def recipe(method, dataset, notion, protocol):
        chosen = AUTHORS.recipe(method, dataset, notion, protocol)
        return recipe_of(chosen) if method == name else chosen

    return replace(AUTHORS, name=part, recipe=recipe)


class Fourteen(Setting):
    """All attributes of Adult, but for Zafar et al., whose solver takes a minute for each split there."""

    def run(self, dataset, method, notion, split, protocol="halves"):
        slow = dataset == "adult" and method == "Zafar et al."
        return (AUTHORS if slow else super()).run(dataset, method, notion, split, protocol)


def without(rule: str) -> dict:
    return {"rules": [name for name in RULES if name != rule]}


BOTH = ("halves", "rounds")
PARTS = [
    changed("T = 200", {"n_estimators": 200}),
    changed("θ on a third of the training data", {"validation_fraction": 0.33}),
    changed("no guard", without("guard"), BOTH),
    changed("costs in round 1, which may win", without("first round"), BOTH),
    changed("NoCumul's θ by the whole ensemble", without("learner's theta")),
    changed("confidence-rated update", {"update": "confidence"}, BOTH),
    changed("Figure 4: costs from training data", {"costs_from": "training"}, ("rounds",)),
    Fourteen("Adult with 14 attributes", AUTHORS.title, AUTHORS.says, {"compas": "zafar"}, AUTHORS.recipe, 200),
    competitor("SMOTE-NC", "SMOTEBoost", lambda recipe: "default"),
    competitor("SMOTEBoost on Bank with N = 100", "SMOTEBoost", lambda recipe: "plain"),
    competitor("AdaBoost discrete in Figure 3", "AdaBoost", lambda recipe: "default"),
    competitor("Zafar et al. with τ = 0.5", "Zafar et al.", lambda recipe: "default"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("reproduction"), help="folder of `parityboost reproduce`")
    parser.add_argument("--splits", type=int, default=10)
    arguments = parser.parse_args()
    store = Store(arguments.out / "runs")

    def held(setting):
        SETTINGS[setting.name] = setting
        runs = list(plan(n_splits=arguments.splits, settings=[setting.name]))
        perform(runs, store)  # in this process: no other knows these recipes
        return judge(FIRST_CLAIMS, Results(store, runs, setting.name))

    first = held(AUTHORS)
    print(f"{int(first['by_mean'].sum())} of {len(first)} claims hold with the authors' settings.")
    rows = []
    for setting in PARTS:
        found = held(setting)
        holds = int(found["by_mean"].sum())
        print(f"{holds} {setting.name}", flush=True)
        changes = {"lost": first["by_mean"] & ~found["by_mean"], "gained": ~first["by_mean"] & found["by_mean"]}
        for change, which in changes.items():
            rows += [(setting.name, holds, change, *claim) for claim in first.loc[which, ["where", "claim"]].to_numpy()]
        if not any(which.any() for which in changes.values()):
            rows.append((setting.name, holds, "", "", ""))
    columns = ["part", "holds", "change", "where", "claim"]
    pd.DataFrame(rows, columns=columns).to_csv(arguments.out / "parts.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
