"""SMOTEBoost: AdaBoost in which each round sees new synthetic instances of the minority class."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ...adaboost import AdaBoostClassifier

if TYPE_CHECKING:
    from ..._arrays import Floats
    from ..._fit.preparation import CodedTables
    from ._smote import SmoteLearner


class SMOTEBoostClassifier(AdaBoostClassifier):
    """SMOTEBoost (Chawla, Lazarevic, Hall, Bowyer 2003) with decision stumps on AdaFair's own kernel.

    In each round SMOTE draws N instances of the rarer class: a random instance of it, one of that instance's
    ``k_neighbors`` nearest neighbours in the class, and a random point on the line between the two. Categories are
    those of the majority of the neighbours (SMOTE-NC). The stump is trained on the training data and these instances,
    each of which weighs as much as a training instance does on average, 1/n. It is about class imbalance, not about
    fairness: ``sensitive_features`` changes nothing but adds the groups to the measures in ``history_``.

    As published, the synthetic instances are discarded after the round, and the learner's weight α comes from its error
    on the training data: a stump worse than chance there votes for the other class, and one that is exactly at chance
    has no weight and is left out of ``estimators_``. With ``keep_synthetic`` they stay, count in the error and are
    reweighted like all others, as in the widespread Python implementation: T·N of them in the end, which is a much
    stronger treatment. It is the one that gives the figures of the AdaFair paper; as published, a hundred instances
    among thousands change next to nothing.

    With ``smote="plain"`` numbers are all there is, as in SMOTE's first form and in the AdaFair paper's experiments,
    which had a 0/1 column for each category: distances are those of the columns as they are, every column of a
    synthetic instance lies on the line, also between 0 and 1, and the stumps may split there.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of boosting rounds T.
    n_synthetic : int, default=100
        Number of synthetic instances per round N. The AdaFair paper has 2 for COMPAS, 100 for Adult and Bank, 500 for
        KDD census.
    k_neighbors : int, default=5
        Number of neighbours to choose from; all other instances of the class if it has fewer.
    keep_synthetic : bool, default=False
        Keep the synthetic instances for all later rounds.
    smote : {"nc", "plain"}, default="nc"
        SMOTE-NC, which knows categories and missing values, or plain SMOTE, which needs numbers throughout.
    update : {"discrete", "confidence"}, default="discrete"
        AdaBoost's own reweighting (AdaBoost.M2 for two classes and learners that vote 0 or 1), or the confidence-rated
        one that AdaFair defaults to.
    criterion, max_bins, categorical_features, positive, n_jobs, verbose, random_state :
        As in :class:`parityboost.AdaFairClassifier`; ``random_state`` is the seed of SMOTE.

    Attributes
    ----------
    minority_class_ : object
        The rarer class, by sample weight; the positive class if both are equal.

    Notes
    -----
    Neighbours are found once, among the training instances. With SMOTE-NC their distance is Euclidean on numbers
    standardised within the class; two different categories, or a number and a missing one, are one standard deviation
    apart. Where one end of the line is missing, the synthetic instance has the value of the instance it started from.

    References
    ----------
    N. Chawla, A. Lazarevic, L. Hall, K. Bowyer: SMOTEBoost: Improving Prediction of the Minority Class in Boosting.
    PKDD 2003.

    N. Chawla, K. Bowyer, L. Hall, W. Kegelmeyer: SMOTE: Synthetic Minority Over-sampling Technique. JAIR 16, 2002.

    Examples
    --------
    >>> from parityboost.paper.baselines import SMOTEBoostClassifier
    >>> from parityboost.datasets import load_adult
    >>> X, y = load_adult(return_X_y=True)
    >>> model = SMOTEBoostClassifier(n_estimators=20, random_state=0).fit(X[:2000], y[:2000])
    >>> model.minority_class_
    1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AdaBoostClassifier._parameter_constraints,
        "n_synthetic": [Interval(Integral, 1, None, closed="left")],
        "k_neighbors": [Interval(Integral, 1, None, closed="left")],
        "keep_synthetic": ["boolean"],
        "smote": [StrOptions({"nc", "plain"})],
    }
    _stored_values = ("minority_class_",)
    class_weight = None
    estimator = None

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        n_synthetic: int = 100,
        k_neighbors: int = 5,
        keep_synthetic: bool = False,
        smote: str = "nc",
        update: str = "discrete",
        criterion: str = "gini",
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        positive: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_synthetic = n_synthetic
        self.k_neighbors = k_neighbors
        self.keep_synthetic = keep_synthetic
        self.smote = smote
        self.update = update
        self.criterion = criterion
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.positive = positive
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _stump_learner(self, coded: CodedTables, start: Floats, rng: np.random.RandomState) -> SmoteLearner:
        from ._smote import Smote, SmoteLearner

        sample = coded.train_sample
        per_class = sample.totals.sum(axis=0)
        minority = int(per_class[1] <= per_class[0])
        self.minority_class_ = self._outcomes.tolist()[minority]
        theirs = np.flatnonzero(sample.y == minority)
        theirs = theirs[np.argsort(sample.rows[theirs])]  # in the order of X: what is drawn depends on no group
        if len(theirs) < 2:
            raise ValueError(
                f"SMOTE needs two instances of the rarer class to draw others between them: class "
                f"{self.minority_class_!r} has only one"
            )
        mass, rows = sample.masses.at(theirs).values_or_none, sample.rows[theirs]
        smote = Smote(coded.bundles.binner, coded.sources, rows, mass, self.k_neighbors, self.smote == "plain")
        points = smote.draw(self.n_synthetic * self.n_estimators, rng).points
        if smote.plain:
            smote.bin_with(points, coded.sources, sample, self.max_bins)
            coded = coded.with_binner(smote.binner)
        return SmoteLearner(
            coded.bundles,
            coded.train,
            coded.selection,
            start,
            self.criterion,
            synthetic=smote.encode(points),
            minority=minority,
            n_synthetic=self.n_synthetic,
            n_real=len(sample),
            keep=self.keep_synthetic,
        )
