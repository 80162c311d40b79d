"""How often a promise is broken, and what it costs: `confidence=0.95` on samples of populations that are known.

    python benchmarks/promise.py [--only SETTING ...] [--repeats N] [--pages]

A repeat draws a sample, fits it without confidence, with it on out-of-bag rows, and with it on rows held out for the
test, and looks at the gap among all people of the population who were not in the sample. Each run is stored, so that a
benchmark that was stopped goes on where it was; repeats go round the settings, so that what is there is balanced at any
time. results/promise.{md,csv} are made from the store alone; ``--pages`` makes nothing else, and ``--check`` says what
does not hold that must. One thread; about an hour on an idle core. Needs PARITYBOOST_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from store import Store

from parityboost import LimitNotMet, ParityBoostClassifier
from parityboost.datasets import fetch_kdd_census
from parityboost.notions import get_notion

HERE = Path(__file__).parent
STORE = Store(HERE / "results" / "promise-runs", HERE / "results" / "promise.csv")
VERSION = "1"  # of what is measured
METHODS = ("none", "out_of_bag", "held_out")
FEW_TREES = {"n_estimators": 100, "n_iter_no_change": 20}
LARGE = 400_000  # people of a synthetic population

# --- Populations ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    X: pd.DataFrame
    y: Any
    group: Any
    weight: Any = None
    cluster: Any = None


@cache
def acs() -> Sample:
    parts = [
        pd.read_parquet(Path(os.environ["PARITYBOOST_DATA"], "folktables", f"ACSIncome.{part}.parquet"))
        for part in ("validation", "test")
    ]
    table = pd.concat(parts, ignore_index=True)
    X = table.drop(columns="PINCP").astype(float)
    for column in ("OCCP", "POBP", "COW", "MAR", "RELP"):
        X[column] = pd.Categorical(X[column])
    return Sample(X, table["PINCP"].to_numpy(), table["SEX"].astype(int).to_numpy())


@cache
def races() -> Sample:
    """The four largest races, which are no column."""
    whole = acs()
    race = whole.X["RAC1P"].astype(int).to_numpy()
    kept = np.isin(race, (0, 1, 5, 7))
    return Sample(whole.X[kept].drop(columns="RAC1P").reset_index(drop=True), whole.y[kept], race[kept])


@cache
def kdd() -> Sample:
    bunch = fetch_kdd_census()
    y = np.asarray(bunch.target == bunch.target_names[1]) if bunch.target.dtype == object else bunch.target.to_numpy()
    return Sample(bunch.data.reset_index(drop=True), y, bunch.sensitive.astype(str).to_numpy())


def people(rng, n, shares, strength=0.8):
    """Groups of these shares, with other columns and other chances, and the probability of a positive."""
    group = rng.choice(len(shares), n, p=shares)
    advantage = np.linspace(-strength, strength, len(shares))[group]
    x = rng.standard_normal((n, 5))
    x[:, 0] += advantage
    x[:, 1] += 0.5 * advantage
    score = x[:, 0] + 0.8 * x[:, 2] - 0.6 * x[:, 3] * (x[:, 1] > 0) + 0.4 * advantage - 0.4
    return group, x, score


def synthetic(shares, seed) -> Sample:
    """A known law; the population is so many people that its rates are known."""
    rng = np.random.default_rng(seed)
    group, x, score = people(rng, LARGE, shares)
    y = (rng.random(LARGE) < expit(1.5 * score)).astype(int)
    return Sample(pd.DataFrame(x, columns=list("abcde")), y, group)


@cache
def two_groups() -> Sample:
    return synthetic([0.4, 0.6], 1)


@cache
def five_groups() -> Sample:
    return synthetic([0.1, 0.15, 0.2, 0.25, 0.3], 2)


@cache
def three_groups() -> Sample:
    return synthetic([0.2, 0.3, 0.5], 3)


@cache
def persons() -> Sample:
    """One to six rows of each person, much alike."""
    rng = np.random.default_rng(4)
    n = LARGE // 4
    group, x, score = people(rng, n, [0.4, 0.6])
    own = rng.standard_normal(n)
    of = np.repeat(np.arange(n), rng.integers(1, 7, n))
    x = x[of] + 0.2 * rng.standard_normal((len(of), 5))
    y = (rng.random(len(of)) < expit(1.5 * score[of] + 1.5 * own[of])).astype(int)
    return Sample(pd.DataFrame(x, columns=list("abcde")), y, group[of], cluster=of)


# --- Settings -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """What is asked of samples of a population, and how often."""

    name: str
    population: Callable[[], Sample]
    n: int
    notion: str
    limit: float | None = None
    min_ratio: float | None = None
    repeats: int = 200
    tested: int = 40  # repeats with rows that are held out for the test
    parameters: dict[str, Any] = field(default_factory=lambda: FEW_TREES)
    weighted: bool = False

    @property
    def wish(self):
        return {"min_ratio": self.min_ratio} if self.limit is None else {"limit": self.limit}

    def draw(self, seed):
        """The positions of a sample, and the weight of each."""
        whole, rng = self.population(), np.random.default_rng(seed)
        if whole.cluster is not None:  # persons with all their rows
            n = int(whole.cluster.max()) + 1
            chosen = rng.choice(n, int(self.n / (len(whole.y) / n)), replace=False)
            return np.flatnonzero(np.isin(whole.cluster, chosen)), None
        if not self.weighted:
            return rng.choice(len(whole.y), self.n, replace=False), None
        chance = np.where(whole.group == 0, 1.0, 0.3) * np.where(whole.X["a"] > 0, 1.0, 0.4)  # to be asked
        taken = rng.choice(len(whole.y), self.n, replace=False, p=chance / chance.sum())
        return taken, 1.0 / chance[taken]


DEFAULTS: dict[str, Any] = {}
SETTINGS = [
    Setting("ACSIncome, 5,000 rows, sex", acs, 5_000, "equal_opportunity", 0.07),
    Setting("ACSIncome, 10,000 rows, sex", acs, 10_000, "statistical_parity", 0.03, repeats=150, parameters=DEFAULTS),
    Setting("ACSIncome, 20,000 rows, sex", acs, 20_000, "equal_opportunity", 0.05, repeats=120, parameters=DEFAULTS),
    Setting("ACSIncome, 20,000 rows, sex, ratio", acs, 20_000, "statistical_parity", None, 0.9, repeats=100),
    Setting("ACSIncome, 50,000 rows, sex", acs, 50_000, "disparate_mistreatment", 0.04, repeats=60, tested=20),
    Setting("ACSIncome, 20,000 rows, four races", races, 20_000, "equal_opportunity", 0.2, repeats=100),
    Setting("KDD census, 20,000 rows, sex", kdd, 20_000, "equal_opportunity", 0.1, repeats=100),
    Setting("Synthetic, 4,000 rows, two groups", two_groups, 4_000, "statistical_parity", 0.15),
    Setting("Synthetic, 6,000 rows, five groups", five_groups, 6_000, "predictive_equality", 0.14),
    Setting("Synthetic, 6,000 rows, three groups, ratio", three_groups, 6_000, "equal_opportunity", None, 0.8),
    Setting("Synthetic, 5,000 rows with weights", two_groups, 5_000, "equal_opportunity", 0.12, weighted=True),
    Setting("Synthetic, 6,000 rows of 1,700 persons", persons, 6_000, "equal_opportunity", 0.15),
    Setting("ACSIncome, 5,000 rows, too strict", acs, 5_000, "equal_opportunity", 0.02, repeats=60, tested=20),
]


# --- Runs -----------------------------------------------------------------------------------------


def key_of(setting, method, seed):
    wish = " ".join(f"{name} {value:g}" for name, value in setting.wish.items())
    what = f"{setting.notion}, {wish}"
    return {"table": setting.name, "method": method, "setting": what, "split": seed, "version": VERSION}


def run(setting, method, seed):
    """Fit one sample, and look at the others."""
    whole = setting.population()
    at, weight = setting.draw(seed)
    confidence = {} if method == "none" else {"confidence": 0.95, "certify_on": method}
    model = ParityBoostClassifier(setting.notion, random_state=seed, n_jobs=1, **setting.wish, **confidence)
    model.set_params(**setting.parameters)
    given = {"sensitive_features": whole.group[at], "sample_weight": weight}
    if whole.cluster is not None:
        given["cluster"] = whole.cluster[at]
    start = time.process_time()
    empty = {"issued": 0, "broken": 0, "ber": np.nan, "measure": np.nan, "bound": "", "z": ""}
    try:
        model.fit(whole.X.iloc[at].reset_index(drop=True), whole.y[at], **given)
    except LimitNotMet as error:
        return empty | {"seconds": time.process_time() - start, "bound": str(next(iter(error.possible.values()), ""))}
    seconds = time.process_time() - start
    new = np.ones(len(whole.y), dtype=bool)
    new[at] = False
    positive = model.predict(whole.X) == model.positive_
    groups, codes = np.unique(whole.group, return_inverse=True)
    kind = (codes * 4 + 2 * (whole.y == model.positive_) + positive)[new]
    counts = np.bincount(kind, minlength=4 * len(groups)).reshape(-1, 2, 2).astype(float)
    notion, certificate, box = get_notion(setting.notion), model.glass_box_.certificate, model.glass_box_
    if setting.limit is None:
        true = float(notion.lowest_ratio(counts))
        broken, bound = true < setting.min_ratio, certificate and certificate.lowest_ratio
    else:
        true = float(notion.largest_gap(counts))
        broken, bound = true > setting.limit, certificate and certificate.largest_gap
    total = counts.sum(axis=0)
    error = 0.5 * (total[0, 1] / total[0].sum() + total[1, 0] / total[1].sum())
    found = {"issued": 1, "broken": int(broken), "ber": float(error), "measure": true}
    z = "" if box.evidence is None else f"{box.evidence.critical:.3f}"
    return found | {"bound": "" if bound is None else f"{bound:.5f}", "z": z, "seconds": seconds}


def planned(settings, repeats):
    """Round after round, so that all settings have about the same share of their repeats."""
    rounds = max(setting.repeats for setting in settings)
    for turn in range(rounds):
        for setting in settings:
            for method in METHODS:
                n = min(setting.tested if method == "held_out" else setting.repeats, repeats)
                for seed in range(turn * n // rounds, (turn + 1) * n // rounds):
                    yield setting, method, seed


# --- Pages ----------------------------------------------------------------------------------------


def interval(k, n):
    """Wilson's, of 95 %."""
    if n == 0:
        return np.nan, np.nan
    z, p = 1.96, k / n
    centre, half = (p + z * z / (2 * n)), z * np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)
    return max((centre - half) / (1 + z * z / n), 0.0), min((centre + half) / (1 + z * z / n), 1.0)


def summaries(rows):
    """A row for each setting and method."""
    for setting in SETTINGS:
        own = rows[rows["table"] == setting.name]
        plain = own[own["method"] == "none"].set_index("split")
        for method in METHODS[1:]:
            found = own[own["method"] == method].set_index("split")
            both = found.index.intersection(plain.index)
            if len(both) == 0:
                continue
            found, without = found.loc[both], plain.loc[both]
            issued = found["issued"] == 1
            price = (found["ber"] - without["ber"])[issued]
            yield {
                "setting": setting,
                "method": method,
                "n": len(both),
                "issued": int(issued.sum()),
                "broken": int(found["broken"].sum()),
                "with": 1.0 - found.loc[issued, "ber"].mean(),
                "without": 1.0 - without["ber"].mean(),
                "price": price.mean(),
                "broken_without": int(without["broken"].sum()),
            }


def share(k, n):
    low, high = interval(k, n)
    return f"{100 * k / n:.1f} % ({100 * low:.0f} to {100 * high:.0f})"


def page(rows):
    lines = [
        "# How often a promise is broken, and what it costs",
        "",
        "`confidence=0.95` on samples of populations that are known; the limit is judged on everybody who was not in",
        "the sample. *Broken of all* is what the promise is about: a certificate was issued, and the population is not",
        "within the limit; at most 5 %. *Price* is the balanced accuracy that the choice without confidence has more,",
        "on the same samples. In brackets 95 % intervals (Wilson). Made by `benchmarks/promise.py`; settings with a",
        "star train with the defaults, all others with `n_estimators=100, n_iter_no_change=20`, which is faster.",
    ]
    for method in METHODS[1:]:
        lines += ["", f"## `certify_on={method!r}`".replace("'", '"'), ""]
        lines.append(
            "| setting | asked | repeats | issued | broken of all | broken of issued | balanced accuracy | without | "
            "price | broken without |"
        )
        lines.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        total = np.zeros(3, dtype=int)
        for row in summaries(rows):
            if row["method"] != method:
                continue
            setting, n, issued, broken = row["setting"], row["n"], row["issued"], row["broken"]
            total += n, issued, broken
            wish = ", ".join(f"`{name}={value:g}`" for name, value in setting.wish.items())
            accuracy = [f"{row['with']:.3f}", f"{row['without']:.3f}", f"{row['price']:.4f}"]
            if not issued:
                accuracy = ["–", f"{row['without']:.3f}", "–"]
            cells = [
                setting.name + ("" if setting.parameters else " *"),
                f"{setting.notion.replace('_', ' ')}, {wish}",
                str(n),
                share(issued, n),
                share(broken, n),
                share(broken, issued) if issued else "–",
                *accuracy,
                share(row["broken_without"], n),
            ]
            lines.append(f"| {' | '.join(cells)} |")
        n, issued, broken = total.tolist()
        if n:
            lines += ["", f"All together: {n:,} repeats, {issued:,} certificates, broken of all {share(broken, n)}."]
    return "\n".join(lines) + "\n"


def check(rows):
    """What does not hold that must."""
    wrong = []
    for method in METHODS[1:]:
        found = [row for row in summaries(rows) if row["method"] == method]
        n, broken = sum(row["n"] for row in found), sum(row["broken"] for row in found)
        allowed = 0.05 + 2 * np.sqrt(0.05 * 0.95 / max(n, 1))
        if broken > allowed * n:
            wrong.append(f"{method}: {broken} of {n} promises are broken, allowed are {allowed:.3f}")
        for row in found:
            if row["broken"] > 0.08 * row["n"]:
                wrong.append(f"{method}, {row['setting'].name}: {row['broken']} of {row['n']} are broken")
    best = {row["setting"].name: row for row in summaries(rows) if row["method"] == "out_of_bag"}
    for name, least, most in (("ACSIncome, 20,000 rows, sex", 0.95, 0.003), ("ACSIncome, 10,000 rows, sex", 0.8, 0.01)):
        row = best[name]
        if row["issued"] < least * row["n"] or row["price"] > most:
            wrong.append(f"{name}: issued {row['issued']} of {row['n']}, price {row['price']:.4f}")
    row = best["ACSIncome, 5,000 rows, too strict"]
    if row["issued"] > 0.05 * row["n"]:
        wrong.append(f"too strict, and issued {row['issued']} times of {row['n']}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="settings whose names hold one of these texts")
    parser.add_argument("--repeats", type=int, default=1000, help="at most so many of each")
    parser.add_argument("--pages", action="store_true", help="only write the pages")
    parser.add_argument("--check", action="store_true", help="say what does not hold")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if not (arguments.pages or arguments.check):
        settings = [s for s in SETTINGS if not arguments.only or any(text in s.name for text in arguments.only)]
        for setting, method, seed in planned(settings, arguments.repeats):
            key = key_of(setting, method, seed)
            if not STORE.path(key).exists():
                STORE.put(key, [run(setting, method, seed)])
    rows = STORE.frame()
    if not arguments.check:
        STORE.pack()
        (HERE / "results" / "promise.md").write_text(page(rows), encoding="utf8")
    wrong = check(rows)
    print(*wrong, sep="\n")
    sys.exit(bool(wrong) and arguments.check)


if __name__ == "__main__":
    main()
