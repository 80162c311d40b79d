"""How long other fairness-aware classifiers take to fit Adult, as ratios against ours measured in the same run.

    python benchmarks/peers.py [--environments FOLDER] [--only NAME]

The peers cannot share an environment with us or with each other (the versions of scikit-learn they run with differ), so
each is installed into one of its own, in FOLDER if it is to be kept. A measurement is a process with one thread, and a
peer is measured between two measurements of ours. What counts is the processor time of ``fit``, which other work on the
machine hardly changes. A peer gets its input prepared before the clock starts, ours is the DataFrame. Results go to
benchmarks/results/peers.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

ROUNDS = 200
LIMIT = 1800  # seconds that one measurement may take
RESULT = Path(__file__).parent / "results" / "peers.md"

# What is measured: its title, the function below, what it needs. An upper bound: newer ones do not work with it.
PEERS = {
    "FairGBM, 200 trees, FPR and FNR": ("fairgbm", ["fairgbm==0.9.14", "scikit-learn<1.8", "pandas"]),
    "AIF360 PrejudiceRemover, η = 1": ("aif360", ["aif360==0.6.1"]),
    "MMM-Fair, 200 trees of depth 5, equalized odds": ("mmm_fair", ["mmm-fair==2.4.1"]),
    "MMM-Fair GBT, 200 trees, equalized odds": ("mmm_fair_gbt", ["mmm-fair==2.4.1"]),
    "authors' AdaFair, 200 stumps": ("adafair", ["adafair==0.1.5", "scikit-learn<1.4", "six", "pandas"]),
}


# --- In a peer's environment: a function that fits, and one that predicts the test rows, 1 being positive ---------


def ours(data):
    from parityboost import AdaFairClassifier
    from parityboost.datasets import load_adult

    adult, half = load_adult(), len(data["y"])
    X, s = adult.data.iloc[:half], adult.sensitive.iloc[:half]
    model = AdaFairClassifier(n_estimators=ROUNDS, random_state=0)
    model.fit(X, data["y"], sensitive_features=s)  # compiles
    return lambda: model.fit(X, data["y"], sensitive_features=s), lambda: model.predict(adult.data.iloc[half:])


def fairgbm(data):
    from fairgbm import FairGBMClassifier

    model = FairGBMClassifier(n_estimators=ROUNDS, constraint_type="FPR,FNR", n_jobs=1, random_state=0)
    categorical = [int(i) for i in data["categorical"].nonzero()[0]]

    def fit():
        model.fit(data["codes"], data["y"], constraint_group=data["s"], categorical_feature=categorical)

    return fit, lambda: model.predict(data["codes_test"])


def aif360(data):
    import numpy as np
    import pandas as pd
    from aif360.algorithms.inprocessing import PrejudiceRemover
    from aif360.datasets import BinaryLabelDataset

    largest = np.abs(data["X"]).max(axis=0).clip(1e-9)  # logistic regression needs columns of one scale

    def dataset(X, y, s):
        table = pd.DataFrame(X / largest).assign(sex=s, label=y)
        table.columns = [f"column {name}" if isinstance(name, int) else name for name in table.columns]
        return BinaryLabelDataset(df=table, label_names=["label"], protected_attribute_names=["sex"])

    train = dataset(data["X"], data["y"], data["s"])
    test = dataset(data["X_test"], np.zeros(len(data["X_test"])), data["s_test"])
    model = PrejudiceRemover(eta=1.0, sensitive_attr="sex", class_attr="label")
    return lambda: model.fit(train), lambda: model.predict(test).labels.ravel()


def mmm_fair(data):
    from mmm_fair import MMM_Fair
    from sklearn.tree import DecisionTreeClassifier

    model = MMM_Fair(
        estimator=DecisionTreeClassifier(max_depth=5),  # as in its README; stumps do worse
        n_estimators=ROUNDS,
        constraint="EO",
        saIndex=data["s"].reshape(-1, 1),
        saValue={"sex": 0},
        random_state=0,
    )
    return lambda: model.fit(data["X"], data["y"]), lambda: model.predict(data["X_test"])


def mmm_fair_gbt(data):
    from mmm_fair import MMM_Fair_GradientBoostedClassifier

    model = MMM_Fair_GradientBoostedClassifier(
        constraint="EO", saIndex=data["s"].reshape(-1, 1), saValue={"sex": 0}, max_iter=ROUNDS, random_state=0
    )
    return lambda: model.fit(data["X"], data["y"]), lambda: model.predict(data["X_test"])


def adafair(data):
    import numpy as np
    from adafair import AdaFair

    # The labels are ±1; the protected group is where column saIndex equals saValue.
    X, X_test = (np.column_stack([data[f"X{part}"], data[f"s{part}"]]) for part in ("", "_test"))
    y = np.where(data["y"] == 1, 1, -1)
    model = AdaFair(n_estimators=ROUNDS, saIndex=X.shape[1] - 1, saValue=0, use_validation=True, random_state=0)
    return lambda: model.fit(X, y), lambda: (model.predict(X_test) == 1).astype(int)


def processor_seconds():
    return sum(os.times()[:4])  # PrejudiceRemover trains in a process of its own


def measure(name, folder, repeat):
    """Fit `repeat` times and say how long each took; leave the predictions of the last."""
    import numpy as np

    data = dict(np.load(Path(folder, "adult.npz")))
    fit, predict = globals()[name](data)
    seconds = []
    for _ in range(repeat):
        started = processor_seconds()
        fit()
        seconds.append(processor_seconds() - started)
    np.save(Path(folder, f"{name}.npy"), np.asarray(predict()).astype(int))
    print(json.dumps(seconds))


# --- In ours --------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=Path, help="folder to keep the environments in")
    parser.add_argument("--only", default="", help="only peers with this in their name")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        data = prepare(Path(work))
        rows = []
        for title, (name, requirements) in PEERS.items():
            if arguments.only.lower() in title.lower():
                print(title, file=sys.stderr)
                folder = (arguments.environments or Path(work)) / requirements[0].partition("==")[0]
                rows.append(row(title, name, install(folder, requirements), Path(work), data))
        mine = quality(Path(work, "ours.npy"), data)
    text = render(rows, mine)
    print(text)
    if not arguments.only:
        RESULT.write_text(text, encoding="utf8")


def prepare(work: Path):
    """Adult in the shapes the peers take, first half for training: one-hot (X) and integer codes."""
    import numpy as np
    import pandas as pd

    from parityboost.datasets import load_adult

    adult = load_adult()
    half = len(adult.data) // 2
    numeric = adult.data.select_dtypes("number").columns
    codes = adult.data.apply(lambda c: c if c.name in numeric else c.astype("category").cat.codes)
    one_hot = pd.get_dummies(adult.data).to_numpy(dtype=float)
    y = (adult.target == np.unique(adult.target)[-1]).to_numpy(dtype=int)
    s = (adult.sensitive == "Male").to_numpy(dtype=int)
    arrays = {"X": one_hot, "codes": codes.to_numpy(dtype=float), "y": y, "s": s}
    parts = {k: v[:half] for k, v in arrays.items()} | {f"{k}_test": v[half:] for k, v in arrays.items()}
    np.savez(work / "adult.npz", categorical=~adult.data.columns.isin(numeric), **parts)
    return parts


def install(folder: Path, requirements: list[str]) -> Path:
    """An environment of a peer's own; its interpreter."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
    return python


def run(python, name: str, work: Path, repeat: int):
    """Processor seconds of every fit, or the last line of what went wrong."""
    settings = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    settings["PATH"] = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"  # PrejudiceRemover calls "python"
    command = [str(python), "-W", "ignore", __file__, "--measure", name, str(work), str(repeat)]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | settings, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not within {LIMIT} s"
    if result.returncode:
        return result.stderr.strip().splitlines()[-1]
    return json.loads(result.stdout.strip().splitlines()[-1])


def row(title: str, name: str, python: Path, work: Path, data):
    before, theirs, after = (
        run(sys.executable, "ours", work, 7),
        run(python, name, work, 1),
        run(sys.executable, "ours", work, 7),
    )
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True
    ).stdout
    versions = {package["name"].lower().replace("_", "-"): package["version"] for package in json.loads(listed)}
    distribution = PEERS[title][1][0].partition("==")[0]
    found = {"title": title, "versions": {n: versions[n] for n in (distribution, "scikit-learn", "numpy")}}
    if isinstance(theirs, str):
        return found | {"failed": theirs}
    mine = statistics.median(before + after)
    return found | {
        "ratio": statistics.median(theirs) / mine,
        "seconds": statistics.median(theirs),
        "ours": mine,
        **quality(work / f"{name}.npy", data),
    }


def quality(path: Path, data):
    import numpy as np

    from parityboost import metrics

    if not path.exists():
        return {}
    y, predicted = data["y_test"], (np.load(path) == 1).astype(int)
    groups = {"sensitive_features": data["s_test"]}
    return {
        "accuracy": 1 - metrics.error_rate(y, predicted),
        "balanced": 1 - metrics.balanced_error_rate(y, predicted, pos_label=1),
        "dm": metrics.disparate_mistreatment(y, predicted, **groups, pos_label=1),
        "sp": metrics.statistical_parity_difference(y, predicted, **groups, pos_label=1),
    }


def render(rows, mine) -> str:
    from importlib.metadata import version

    ours = statistics.median([r["ours"] for r in rows if "ours" in r] or [float("nan")])
    measured = "{accuracy:.3f} | {balanced:.3f} | {dm:.3f} | {sp:.3f}"
    lines = [
        "# Peers",
        "",
        f"`make peers` on {date.today()}: Python {platform.python_version()}, {platform.machine()}, parityboost "
        f"{version('parityboost')}, scikit-learn {version('scikit-learn')}, numpy {version('numpy')}.",
        "",
        "Fit on the first half of Adult (22,587 rows), one thread: processor time of `fit`, and that divided by ours,",
        f"measured before and after the peer (median {1000 * ours:.0f} ms). If the machine does other work, ratios are",
        "what to look at, not seconds. Accuracy, balanced accuracy, D.M. and St.Parity (unfairness, 0 is best) are of",
        "the second half. Each method optimises what its row says, all other parameters are its defaults, and nothing",
        "was tuned: this is what one gets at first, not what one could get.",
        "",
        "| | ratio | seconds | accuracy | balanced accuracy | D.M. | St.Parity | with |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    if mine:
        lines.append(f"| ours, 200 stumps, disparate mistreatment | 1 | {ours:.3f} | {measured.format(**mine)} | |")
    for r in rows:
        versions = ", ".join(f"{name} {number}" for name, number in r["versions"].items())
        if "failed" in r:
            lines.append(f"| {r['title']} | failed: `{r['failed']}` | | | | | | {versions} |")
        else:
            lines.append(
                f"| {r['title']} | {r['ratio']:.3g} × | {r['seconds']:.2f} | {measured.format(**r)} | {versions} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
