"""The peers of tradeoff.py that get environments of their own: run there, on arrays that tradeoff.py has left.

    PEER/bin/python tradeoff_peers.py NAME INPUT.npz OUTPUT.npz

Each gives, per notion, what it can be made to predict for the held-out rows and for the test rows; tradeoff.py chooses
among them. FairGBM gives scores. The groups are 0 and 1, and so are the labels.
"""

from __future__ import annotations

import sys
import time

import numpy as np

REQUIREMENTS = {  # an upper bound: newer ones do not work with it
    "fairgbm": ["fairgbm==0.9.14", "scikit-learn<1.8", "pandas"],
    "mmm-fair": ["mmm-fair==2.4.1"],
    "oxonfair": ["oxonfair==0.3", "scikit-learn", "pandas"],
    "error-parity": ["error-parity==0.3.12", "scikit-learn", "pandas"],
}
NOTIONS = ("disparate_mistreatment", "equal_opportunity", "statistical_parity")
RATES = (1e-5, 1e-4, 1e-3, 1e-2, 0.1)  # of FairGBM's multipliers
TOLERANCES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)


def fairgbm(data):
    """One threshold for all is chosen afterwards. It has no statistical parity: both error rates stand in for it.

    How fast its multipliers learn is chosen too: with its default of 0.1 they overshoot on large tables.
    """
    from fairgbm import FairGBMClassifier

    constraints = dict(zip(NOTIONS, ("FPR,FNR", "FNR", "FPR,FNR"), strict=True))
    done = {}
    for notion, constraint in constraints.items():
        if constraint not in done:
            scores, started = [], time.process_time()
            for rate in RATES:
                model = FairGBMClassifier(
                    n_estimators=200,
                    constraint_type=constraint,
                    multiplier_learning_rate=rate,
                    n_jobs=1,
                    random_state=0,
                )
                model.fit(
                    data["X"], data["y"], constraint_group=data["s"], categorical_feature=data["categorical"].tolist()
                )
                scores.append([model.predict_proba(data[name])[:, 1] for name in ("X_held", "X_test")])
            done[constraint] = *zip(*scores, strict=True), time.process_time() - started
        yield notion, *done[constraint]


def mmm_fair(data):
    """Its trees of depth 5 after some numbers of rounds, and its gradient boosting; which, and the threshold, is chosen
    afterwards. It takes no missing values: they are a number of their own, lower than all others."""
    from mmm_fair import MMM_Fair, MMM_Fair_GradientBoostedClassifier
    from sklearn.tree import DecisionTreeClassifier

    train, held, test = (np.nan_to_num(data[name], nan=np.nanmin(data["X"]) - 1) for name in ("X", "X_held", "X_test"))
    groups = {"saIndex": data["s"].reshape(-1, 1), "saValue": {"group": 0}}
    for notion, constraint in zip(NOTIONS, ("EO", "EP", "DP"), strict=True):
        started = time.process_time()
        trees = MMM_Fair(
            DecisionTreeClassifier(max_depth=5), n_estimators=200, constraint=constraint, random_state=0, **groups
        ).fit(train, data["y"])
        boosted = MMM_Fair_GradientBoostedClassifier(constraint=constraint, max_iter=200, random_state=0, **groups)
        boosted.fit(train, data["y"])
        seconds = time.process_time() - started
        scores = []
        for rounds in (10, 25, 50, 100, 200):
            trees.update_theta(theta=rounds)
            scores.append([trees.predict_proba(X)[:, 1] for X in (held, test)])
        scores.append([boosted.predict_proba(X)[:, 1] for X in (held, test)])
        yield notion, *zip(*scores, strict=True), seconds


def oxonfair(data, inferred=False):
    from oxonfair import FairPredictor
    from oxonfair import group_metrics as gm

    def rows(part):
        score = data[f"score_{part}"]
        columns = [1 - score, score]
        if inferred:
            columns += [1 - data[f"group_{part}"], data[f"group_{part}"]]
        return {"data": np.column_stack(columns), "target": data[f"y_{part}"], "groups": data[f"s_{part}"]}

    held, test = rows("held"), rows("test")
    constraints = (gm.equalized_odds, gm.equal_opportunity, gm.demographic_parity)
    for notion, constraint in zip(NOTIONS, constraints, strict=True):
        started = time.process_time()
        guess = (lambda columns: columns[:, 2:]) if inferred else False
        # threshold=0, the likelier group: its default of 2/3 fails where a group is never as likely as that.
        model = FairPredictor(lambda columns: columns[:, :2].copy(), held, inferred_groups=guess, threshold=0)
        model.fit(gm.balanced_accuracy, constraint, 0.05)
        seconds = time.process_time() - started
        held_out, unseen = [], []
        for thresholds in model.frontier_thresholds().T:
            model.set_threshold(thresholds)
            held_out.append(model.predict(held))
            unseen.append(model.predict(test))
        yield notion, held_out, unseen, seconds


def oxonfair_inferred(data):
    yield from oxonfair(data, inferred=True)


def error_parity(data):
    from error_parity import RelaxedThresholdOptimizer

    share = data["y_held"].mean()
    constraints = ("equalized_odds", "true_positive_rate_parity", "demographic_parity")
    for notion, constraint in zip(NOTIONS, constraints, strict=True):
        started = time.process_time()
        models = []
        for tolerance in TOLERANCES:
            model = RelaxedThresholdOptimizer(
                predictor=np.ravel,
                constraint=constraint,
                tolerance=tolerance,
                false_pos_cost=1 / (1 - share),  # balanced error
                false_neg_cost=1 / share,
                **({"l_p_norm": 1} if constraint == "equalized_odds" else {}),
            )
            scores = data["score_held"]
            models.append(model.fit(scores.reshape(-1, 1), data["y_held"], group=data["s_held"], y_scores=scores))
        seconds = time.process_time() - started
        parts = [
            [np.asarray(m.predict(data[f"score_{part}"].reshape(-1, 1), group=data[f"s_{part}"])) for m in models]
            for part in ("held", "test")
        ]
        yield notion, *parts, seconds


def main():
    name, source, target = sys.argv[1:]
    function = {
        "fairgbm": fairgbm,
        "mmm-fair": mmm_fair,
        "oxonfair": oxonfair,
        "oxonfair inferred": oxonfair_inferred,
        "error-parity": error_parity,
    }[name]
    found = {}
    for notion, held, test, seconds in function(dict(np.load(source))):
        found |= {f"{notion} held": held, f"{notion} test": test, f"{notion} seconds": seconds}
    np.savez(target, **found)


if __name__ == "__main__":
    main()
