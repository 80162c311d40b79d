"""Is our setting "authors" what the authors' own class does? Both on the same splits of COMPAS.

    python benchmarks/authors.py [--splits 3] [--rounds 500] [--environment FOLDER]

Their package (PyPI `adafair` 0.1.5) is installed into an environment of its own, in FOLDER if it is to be kept. What
the two share is compared: discrete update ("CSB1"), θ on the training data, the three notions, cumulative. The package
has no NoCumul. It gets one 0/1 column per category, ours the DataFrame. Ends with 1 if a θ or a rate differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

REQUIREMENTS = ["adafair==0.1.5", "scikit-learn<1.4", "six", "pandas"]
CLASSES = {
    "disparate_mistreatment": "AdaFair",
    "equal_opportunity": "AdaFairEQOP",
    "statistical_parity": "AdaFairSP",
}
DIGITS = 3


def theirs(folder: str, rounds: str) -> None:
    """In their environment: θ and the predictions for the test rows."""
    import adafair
    import numpy as np

    data = dict(np.load(Path(folder, "split.npz")))
    for notion, name in CLASSES.items():
        model = getattr(adafair, name)(
            n_estimators=int(rounds), saIndex=int(data["index"]), saValue=0, CSB="CSB1", trade_off_c=1, random_state=0
        )
        model.fit(data["X"], np.where(data["y"] == 1, 1, -1))
        np.save(Path(folder, f"{notion}.npy"), model.predict(data["X_test"]) == 1)
        print(json.dumps([notion, model.theta]), flush=True)


def main() -> int:
    import numpy as np
    from peers import install
    from sklearn.model_selection import train_test_split

    from parityboost.paper.experiments import SETTINGS
    from parityboost.paper.experiments._runner import choose_theta, count, load, make, one_hot
    from parityboost.paper.experiments._store import measure

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--environment", type=Path, help="folder to keep their environment in")
    arguments = parser.parse_args()
    bunch = load("compas", "zafar")
    matrix = one_hot(bunch.data)
    female = (bunch.sensitive == bunch.protected).to_numpy()
    differ = 0
    print(f"{'split':<7}{'notion':<25}{'θ theirs':>9}{'ours':>6}  balanced accuracy  unfairness (theirs, ours)")
    with tempfile.TemporaryDirectory() as work:
        python = install(arguments.environment or Path(work, "environment"), REQUIREMENTS)
        for split in range(arguments.splits):
            at, at_test = train_test_split(np.arange(len(matrix)), test_size=0.5, random_state=split)
            X, y = matrix.to_numpy(float), bunch.target.to_numpy()
            index = matrix.columns.get_loc("sex = Male")  # 0 for the protected group
            np.savez(Path(work, "split.npz"), X=X[at], y=y[at], X_test=X[at_test], index=index)
            command = [str(python), "-W", "ignore", __file__, "--theirs", work, str(arguments.rounds)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            thetas = dict(json.loads(line) for line in printed.splitlines() if line.startswith("["))
            for notion in CLASSES:
                model = make(SETTINGS["authors"].run("compas", "AdaFair", notion, split), bunch)
                model.set_params(n_estimators=arguments.rounds)
                model.fit(bunch.data.iloc[at], y[at], sensitive_features=bunch.sensitive.iloc[at])
                model.set_theta(choose_theta(model))
                cell = 2 * (~female[at_test]).astype(int) + y[at_test]
                pairs = [
                    measure(count(cell, predicted))
                    for predicted in (
                        np.load(Path(work, f"{notion}.npy")),
                        model.predict(bunch.data.iloc[at_test]) == 1,
                    )
                ]
                same = thetas[notion] == model.theta_ and all(
                    round(pairs[0][name], DIGITS) == round(pairs[1][name], DIGITS) for name in pairs[0]
                )
                differ += not same
                shown = "   ".join(f"{pairs[0][m]:.3f} {pairs[1][m]:.3f}" for m in ("balanced_accuracy", notion))
                start = f"{split:<7}{notion:<25}{thetas[notion]:>9}{model.theta_:>6}"
                print(f"{start}  {shown}  {'same' if same else 'DIFFERS'}", flush=True)
    print(f"{differ} of {arguments.splits * len(CLASSES)} differ in θ or in a rate to {DIGITS} decimals")
    return int(differ > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--theirs"]:
        theirs(*sys.argv[2:])
    else:
        sys.exit(main())
