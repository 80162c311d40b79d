"""Several attributes: each by itself, crossed, or both; and groups that are not known.

    python benchmarks/views.py [--only TABLE ...] [--pages]

*Attributes.* Adult by sex and by race (five values), ACSIncome by sex and by race (nine; 40,000 rows to train on and
100,000 to test on, drawn anew for each split), three notions, three splits. On test rows: balanced accuracy, and the
violation of the notion in the worst of the two attributes and between crossed groups, among groups of at least 1 % of
the rows. Plain boosting is the same model without a notion and without weights. MMM-Fair, on
Adult, compares two groups of an attribute: it is given the largest one and all others, and categories as numbers.

*Unknown groups.* Adult: of 30 % of the training rows, drawn for each attribute, the group is forgotten. Either they
count for no rate, or they are left out. The violation in a single run is off by 0.05 by chance, so there are sixty:
five splits with twelve draws each of who is forgotten, and sixty splits.

One thread. Runs are stored, so that a benchmark that was stopped goes on; the
page, results/views.md, is made from the store. Needs PARITYBOOST_DATA.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from folktables import CODES, our_version
from peers import install
from sklearn.model_selection import train_test_split
from store import Store

from parityboost import AdaBoostClassifier, AdaFairClassifier, FitWarning, LimitNotMet, ParityBoostClassifier
from parityboost.datasets import load_adult
from parityboost.metrics import group_counts
from parityboost.notions import get_notion

RESULTS = Path(__file__).parent / "results"
STORE = Store(RESULTS / "views-runs", RESULTS / "views.csv")
NOTIONS = {"disparate_mistreatment": "EO", "equal_opportunity": "EP", "statistical_parity": "DP"}  # MMM-Fair's names
MMM_FAIR = ["mmm-fair==2.4.1", "scikit-learn==1.7.2"]
LEAST_SHARE = 0.01
SPLITS, FORGOTTEN = 3, 0.3
# Where groups are forgotten: sixty runs, of so many splits.
FORGETFUL_RUNS, FORGETFUL = 60, {"draws": 5, "unknown": 60}
TRAIN, TEST = 40_000, 100_000
EACH, PLAIN, JUDGED = "each", "plain boosting", "each, for at most 0.02"
LIMITS, PRICE = (0.1, 0.12), 0.02
STEPS = [k / 100 for k in range(1, 41)]  # limits that are tried, the strictest first
TIMED, MOST_TIME = "sex, race and four ages, 40 crossed groups", 1.3
TITLES = {
    "adult": "Adult, sex and race",
    "acs": "ACSIncome, sex and race",
    "draws": "Adult, 30 % of each unknown, five splits",
    "unknown": "Adult, 30 % of each unknown, sixty splits",
}


def limited(limit):
    return f"{EACH}, limit={limit:g}"


@cache
def rows_of(table, split):
    """X, y and the two attributes, to train on and to test on."""
    if table == "acs":
        parts = []
        for part, n in (("validation", TRAIN), ("test", TEST)):
            path = Path(os.environ["PARITYBOOST_DATA"], "folktables", f"ACSIncome.{part}.parquet")
            parts.append(pd.read_parquet(path).sample(n, random_state=split).reset_index(drop=True))
        found = []
        for part in parts:
            X = part.drop(columns="PINCP").astype(float)
            X[CODES] = X[CODES].astype("category")
            s = pd.DataFrame({"sex": part["SEX"].astype(str), "race": part["RAC1P"].astype(int).astype(str)})
            found.append((X, part["PINCP"].to_numpy(), s))
        return found
    adult = load_adult()
    s = pd.DataFrame({"sex": adult.data["sex"].astype(str), "race": adult.data["race"].astype(str)})
    cells = s["sex"] + (s["race"] == "White").astype(str) + adult.target.astype(str)
    parts = train_test_split(adult.data, adult.target, s, test_size=0.5, random_state=split, stratify=cells)
    return parts[0::2], parts[1::2]


def judged(y, predicted, sensitive, notion):
    """Balanced accuracy, and the violation in the worst attribute and between crossed groups."""

    def violation(group):
        counts, _ = group_counts(y, predicted, sensitive_features=group, pos_label=1)
        return float(get_notion(notion).violation(counts[counts.sum(axis=(1, 2)) >= LEAST_SHARE * len(y)]))

    right = np.mean([predicted[y == label].mean() if label else 1 - predicted[y == label].mean() for label in (0, 1)])
    worst = max(violation(sensitive[name].to_numpy()) for name in sensitive)
    crossed = violation((sensitive["sex"] + ", " + sensitive["race"]).to_numpy())
    return {"balanced_accuracy": float(right), "worst": worst, "crossed": crossed, "share_of_yes": predicted.mean()}


def parityboost(notion, split, **options):
    return ParityBoostClassifier(notion, n_jobs=1, random_state=split, **options)


def methods(table):
    """Of each table the names of the methods, and what they predict from rows to train on and X to predict."""

    def fit(model_of):
        def predict(notion, split, train, X):
            X_train, y, sensitive = train
            return model_of(notion, split).fit(X_train, y, sensitive_features=sensitive).predict(X)

        return predict

    def forgetful(predict, keep):
        def forget(notion, split, train, X):
            X_train, y, sensitive = train
            rng, sensitive = np.random.default_rng(split), sensitive.copy()
            for name in sensitive:
                sensitive.loc[rng.random(len(y)) < FORGOTTEN, name] = None
            there = np.ones(len(y), dtype=bool) if keep else sensitive.notna().all(axis=1).to_numpy()
            return predict(notion, split, (X_train[there], y[there], sensitive[there]), X)

        return forget

    def within(limit):
        wish = {"maximize": "balanced_accuracy", "limit": limit, "min_group_share": LEAST_SHARE}
        return lambda notion, split: parityboost(notion, split, groups=EACH).set_params(**wish)

    def for_a_price(notion, split, train, X):
        """The strictest limit that costs at most so much balanced accuracy on the rows that the trainings held out."""
        X_train, y, sensitive = train
        model = parityboost(notion, split, groups=EACH, maximize="balanced_accuracy", min_group_share=LEAST_SHARE)
        model.fit(X_train, y, sensitive_features=sensitive)

        def worth(choice):
            box = choice.glass_box_
            return 1.0 - float(box.wishes.error(box.held_out_counts))

        free = model.choose(limit=1.0)
        for limit in STEPS:
            with contextlib.suppress(LimitNotMet):
                if worth(choice := model.choose(limit=limit)) >= worth(free) - PRICE:
                    return choice.predict(X)
        return free.predict(X)

    each = fit(lambda notion, split: parityboost(notion, split, groups=EACH))
    if table in FORGETFUL:
        ignoring = fit(lambda notion, split: parityboost(notion, split, groups=EACH, missing_group="ignore"))
        return {"complete": each, "ignore": forgetful(ignoring, True), "left out": forgetful(each, False)}
    return {
        PLAIN: fit(lambda notion, split: parityboost("none", split, class_weight=None)),
        EACH: each,
        JUDGED: for_a_price,
        **{limited(limit): fit(within(limit)) for limit in LIMITS},
        "both": fit(lambda notion, split: parityboost(notion, split, groups="both")),
        "crossed": fit(lambda notion, split: parityboost(notion, split)),
        'notion="none"': fit(lambda notion, split: parityboost("none", split)),
        "AdaBoost": fit(lambda notion, split: AdaBoostClassifier()),
        **({"MMM-Fair": mmm_fair} if table == "adult" else {}),  # whose loops over rows take minutes
    }


def mmm_fair(notion, split, train, X):
    """In an environment of its own, with its default choice among the rounds."""
    python = install(Path(__file__).parent.parent / ".venv" / "peers" / "mmm-fair", MMM_FAIR)
    X_train, y, sensitive = train
    both = pd.concat([X_train, X])
    for name in both.columns[[not pd.api.types.is_numeric_dtype(dtype) for dtype in both.dtypes]]:
        both[name] = both[name].astype("category").cat.codes
    groups = np.column_stack([sensitive[name] == sensitive[name].value_counts().index[0] for name in sensitive])
    with tempfile.TemporaryDirectory() as work:
        source, target = Path(work, "in.npz"), Path(work, "out.npy")
        X_all = both.to_numpy(dtype=float)
        given = {"X": X_all[: len(y)], "y": y, "groups": groups.astype(int), "X_test": X_all[len(y) :]}
        np.savez(source, constraint=NOTIONS[notion], split=split, **given)
        code = THEIRS.format(source=str(source), target=str(target))
        subprocess.run([python, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True)
        return np.load(target).astype(int)


THEIRS = """
import numpy as np
from mmm_fair import MMM_Fair
from sklearn.tree import DecisionTreeClassifier
given = np.load({source!r})
model = MMM_Fair(
    estimator=DecisionTreeClassifier(max_depth=2), n_estimators=200, constraint=str(given["constraint"]),
    saIndex=given["groups"], saValue=dict(sex=0, race=0), random_state=int(given["split"]),
)
model.fit(given["X"], given["y"])
model.update_theta(criteria="all")
np.save({target!r}, model.predict(given["X_test"]))
"""


def run(table, only):
    notions = list(NOTIONS)
    for split in range(FORGETFUL_RUNS if table in FORGETFUL else SPLITS):
        for name, predict in [(name, predict) for name, predict in methods(table).items() if only(name)]:
            done = None
            for notion in notions:
                version = ", ".join(MMM_FAIR) if name == "MMM-Fair" else our_version()
                key = {"table": table, "method": name, "setting": notion, "split": split, "version": version}
                if STORE.has(key):
                    continue
                rows = rows_of("adult", split % FORGETFUL[table]) if table in FORGETFUL else rows_of(table, split)
                train, (X, y, sensitive) = rows
                start = time.perf_counter()
                if done is None or name not in (PLAIN, 'notion="none"', "AdaBoost"):  # these know no notion
                    try:
                        done = np.asarray(predict(notion, split, train, X))
                    except subprocess.CalledProcessError as error:
                        STORE.put(key, [{"failed": error.stderr.strip().splitlines()[-1]}])
                        done = None
                        continue
                found = judged(y, done, sensitive, notion)
                seconds = round(time.perf_counter() - start, 1)
                STORE.put(key, [found | {"seconds": seconds, "rows": len(train[1])}])
                print(
                    table, split, name, notion, {k: round(float(v), 3) for k, v in found.items()}, seconds, flush=True
                )


def take_time(repeats=15):
    """Seconds of a fit of one training, crossed groups and four views of them in turn."""
    adult = load_adult()
    ages = pd.cut(adult.data["age"], [0, 25, 40, 60, 100]).astype(str)
    people = adult.data[["sex", "race"]].astype(str).assign(age=ages)
    for r in range(repeats + 1):  # the first compiles
        for groups in ("crossed", "both"):
            model = AdaFairClassifier(groups=groups, threshold="auto", n_estimators=100, random_state=0)
            start = time.process_time()
            model.fit(adult.data, adult.target, sensitive_features=people)
            seconds = time.process_time() - start
            key = {"table": "time", "method": groups, "setting": "", "split": r, "version": our_version()}
            if r:
                STORE.put(key, [{"seconds": round(seconds, 3), "rows": len(model.groups_)}])


def page():
    """What was found, as Markdown, and what must hold."""
    rows = STORE.frame()
    columns = ["balanced_accuracy", "worst", "crossed", "share_of_yes"]
    rows[columns] = rows[columns].apply(pd.to_numeric, errors="coerce")
    lines = ["# Several attributes", "", f"Made by `benchmarks/views.py` ({our_version()}). {SAID}", ""]
    broken = []
    for table, title in TITLES.items():
        own = rows[rows["table"] == table]
        if not len(own):
            continue
        means = own.groupby(["setting", "method"])[columns].mean()
        lines += [
            f"## {title}",
            "",
            f"{own['split'].nunique()} {'runs' if table in FORGETFUL else 'splits'}, "
            f"{own['rows'].max()} rows to train on at most.",
            "",
        ]
        lines += ["| notion | model | balanced accuracy | worst attribute | crossed groups | share of yes |"]
        lines += ["| --- | --- | ---: | ---: | ---: | ---: |"]
        for notion in [notion for notion in NOTIONS if notion in own["setting"].to_numpy()]:
            found = means.loc[notion]
            for method in [name for name in methods(table) if name in found.index]:
                n = int(((own["setting"] == notion) & (own["method"] == method)).sum())
                told = "" if n == own["split"].nunique() else f" ({n} of {own['split'].nunique()} splits)"
                numbers = " | ".join("–" if np.isnan(v) else f"{v:.3f}" for v in found.loc[method])
                lines.append(f"| {notion.replace('_', ' ')} | {method}{told} | {numbers} |")
            broken += [f"{title}, {notion}: {what}" for what in failures(table, found)]
        lines += ["", *differences(own)] if table in FORGETFUL else []
        lines.append("")
    times = rows[rows["table"] == "time"].pivot_table(index="split", columns="method", values="seconds")
    if len(times):
        ratio = float((times["both"] / times["crossed"]).median())
        lines += [
            f"Time of a training (AdaFair, 100 rounds, thresholds chosen) with four views of {TIMED}: {ratio:.2f} × "
        ]
        lines[-1] += f"that with the crossed groups alone, the median of {len(times)} pairs, on one thread."
        lines.append("")
        broken += ["time"] if ratio > MOST_TIME else []
    lines += ["## What must hold", "", *(f"- Does not: {what}" for what in broken)]
    lines += [] if broken else ["All of it does."]
    (RESULTS / "views.md").write_text("\n".join(lines) + "\n", encoding="utf8")
    STORE.pack()
    print("\n".join(lines))


SAID = (
    "Means over splits, on test rows. *Worst attribute* is the violation of the notion by sex or by race, whichever "
    "is worse, *crossed groups* that between the combinations of both, in either case of groups of at least 1 % of "
    'the rows. *each* is `groups="each"` with the default choice, whose violation is taken off the balanced accuracy; '
    "with a limit it is the highest balanced accuracy with gaps up to the limit (`min_group_share=0.01`), and *for at "
    "most 0.02* the strictest of the limits 0.01, 0.02, … that costs at most so much balanced accuracy on the rows "
    "that its trainings held out. It must hold that this model, for which no test row was looked at, has a lower "
    "violation in the worst attribute than plain boosting, with a balanced accuracy lower by 0.03 at most; and that "
    "with unknown groups the violation is at most 0.02 above that of the complete data, and below that of the rows of "
    "which all is known."
)


def differences(own):
    """Of unknown groups, run by run, as most of what runs differ by is common to the methods."""
    yield "Violation in the worst attribute, run by run, with the standard error of the mean:"
    yield ""
    yield "| notion | ignore less complete | ignore less left out |"
    yield "| --- | ---: | ---: |"
    for notion in NOTIONS:
        found = own[own["setting"] == notion].pivot_table(index="split", columns="method", values="worst").dropna()
        less = [found["ignore"] - found[other] for other in ("complete", "left out")]
        numbers = " | ".join(f"{d.mean():+.3f} ± {d.std() / len(d) ** 0.5:.3f}" for d in less)
        yield f"| {notion.replace('_', ' ')} | {numbers} |"


def failures(table, found):
    if table in FORGETFUL:
        if not found.loc["ignore", "worst"] <= found.loc["complete", "worst"] + 0.02:
            yield "more than 0.02 above the complete data"
        if not found.loc["ignore", "worst"] < found.loc["left out", "worst"]:
            yield "no better than leaving rows out"
        return
    own = found.loc[JUDGED]
    if not own["worst"] < found.loc[PLAIN, "worst"]:
        yield "no lower than plain boosting"
    if not own["balanced_accuracy"] >= found.loc[PLAIN, "balanced_accuracy"] - 0.03:
        yield "balanced accuracy is lower by more than 0.03"
    if not found.loc[EACH, "balanced_accuracy"] > 0.6 or not own["balanced_accuracy"] > 0.6:
        yield "hardly a model"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(TITLES), choices=list(TITLES))
    parser.add_argument("--pages", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", FitWarning)
    warnings.simplefilter("ignore", UserWarning)
    if not options.pages:
        take_time()
        for is_theirs in (False, True):  # which takes minutes for each
            for table in options.only:
                run(table, lambda name, wanted=is_theirs: (name == "MMM-Fair") == wanted)
    page()


if __name__ == "__main__":
    sys.exit(main())
