"""The paper's classifier: AdaFair with the paper's parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ._arrays import Floats, on_card
from ._base import CONSTRAINTS, OF_THE_PAPER, Data, FairClassifier, is_number
from ._choice.frontier import Points, SelectionData
from ._engine.threads import Team
from ._model.glass_box import About, FittedModel, probabilities
from ._table.binning import EXACT_ROWS
from ._table.grouping import check_groups
from ._table.reading import read_class_weight
from ._table.sources import column_names
from ._table.values import to_pandas
from .notions import FairnessNotion

__all__ = ["AdaFairClassifier"]


class BoostedClassifier(FairClassifier):
    """A classifier of one training, whose rounds are kept: another θ makes another model."""

    def _fit_rows(self, about: About, data: Data, held: Data | None, sensitive_features: Any) -> None:
        from ._fit import samples  # numba is needed only now
        from ._fit.estimator import EstimatorLearner, check_estimator
        from ._fit.loop import boost, starting_factors

        given = vars(self)  # AdaBoost has fewer parameters
        estimator, device = given.get("estimator"), given.get("device", "cpu")
        if estimator is not None and device != "cpu":
            raise ValueError(
                f'device="cuda" is for the native trees, and {type(estimator).__name__} trains wherever it does: leave '
                'out the estimator, or use device="cpu"'
            )
        # Whom to train on, and whom to choose θ on if they are others.
        X, settings, n_groups = data.X, about.settings, len(about.groups)
        rng = check_random_state(self.random_state)
        stay = settings.threshold != "per_group" and on_card(X) and len(X) > EXACT_ROWS
        rows = samples.counted_rows(data.rows, stay)
        X_chosen_on, unit = (held or data).X, (held or data).unit
        if held is None:
            train_on, chosen_on = samples.hold_out(rows, given.get("validation_fraction"), rng)
        else:
            train_on, chosen_on = rows, samples.counted_rows(held.rows)
        source = None
        if settings.threshold == "per_group":
            source = self._group_source(about, X, rows, sensitive_features)
            if chosen_on is not None:
                source = source.agreeing_with(X_chosen_on, chosen_on.positions, chosen_on.cell % n_groups)
        with Team(1 if estimator is not None else effective_n_jobs(self.n_jobs), device) as team:
            train = selection = samples.Sample(train_on.cell, n_groups, train_on.masses, train_on.positions, team)
            if chosen_on is not None:
                selection = samples.Sample(chosen_on.cell, n_groups, chosen_on.masses, chosen_on.positions, team)
            is_apart = selection is not train
            totals = train.totals, selection.totals if is_apart else None
            self._check(about, *totals, data.rows.sensitive_names)
            class_weight = read_class_weight(given.get("class_weight"), about.labels.outcomes)
            start = starting_factors(train.totals, class_weight, settings.notion.views)
            columns = None
            if estimator is not None:
                check_estimator(estimator, self.get_params(deep=False))
                of_both = X, train, X_chosen_on, selection
                learner: Any = EstimatorLearner(estimator, about.labels.outcomes, *of_both, start, rng)
            else:
                in_sets = given.get("category_splits") == "sets"
                how = self.max_bins, self.categorical_features, data.unit if in_sets else None
                coded = samples.code_tables(X, train_on, train, X_chosen_on, selection, *how)
                columns = column_names(X)
                if source is not None:
                    binner = coded.bundles.binner
                    pairs = source.code_pairs(binner, X, rows.positions, rows.cell % n_groups)
                    source = source.with_pairs(binner, pairs)
                learner = self._stump_learner(coded, about, start, rng, data.unit)
                del coded
            del rows, train_on, chosen_on, train, selection  # the learner keeps what it needs
            progress = self._progress() if self.verbose else None
            boosted = boost(learner, settings, progress.begin()[0] if progress else None, unit)
            if progress is not None:
                progress.close(boosted.choice.theta, [boosted.stopped])
            self._keep(boosted, learner, replace(about, source=source), columns, unit)
            del learner  # and with it whatever is on a device

    def _check(self, about: About, train: Floats, selection: Floats | None, sensitive_names: list[str]) -> None:
        """Whether what was asked for goes together, and the rates of the notion are defined: by the weight per [group,
        class] of the rows to train on, and of those to choose θ on if they are others."""
        settings = about.settings
        if settings.update == "real" and settings.learner_weight == "cost":
            raise ValueError(
                'learner_weight="cost" weighs votes of -1 and 1, and those of update="real" are their own weights: use '
                'learner_weight="error" or another update'
            )
        if settings.costs_from == "validation" and selection is None:
            raise ValueError(
                'costs_from="validation" needs a validation set: pass validation=… to fit, or set '
                f"validation_fraction to a share between 0 and 1, got {vars(self).get('validation_fraction')!r}"
            )
        parts = [("training data", train), *([] if selection is None else [("validation data", selection)])]
        check_groups(parts, about.groups, about.labels.shown, settings.notion, sensitive_names)

    def _stump_learner(self, coded: Any, about: About, start: Floats, rng: np.random.RandomState, unit: float) -> Any:
        """The native weak learner; SMOTEBoost has one of its own."""
        return self._native_learner(coded.bundles, coded.train, coded.selection, start, unit)

    def _keep(self, boosted: Any, learner: Any, about: About, columns: list[str] | None, unit: float) -> None:
        """What was fitted, without the rows that were trained on, and what is to be said about it.

        ``columns`` are names of those that native trees ask about.
        """
        from ._fit.advice import Fitted
        from ._fit.loop import history

        theta, thresholds = boosted.choice.theta, boosted.choice.thresholds
        rounds = learner.ensemble([r.model for r in boosted.rounds], boosted.alphas)
        threshold = thresholds[theta - 1] if thresholds.ndim > 1 else float(thresholds[theta - 1])
        selection = None
        if about.settings.choose_theta:
            sample, n_cells = learner.selection, 2 * len(about.groups)
            cell = np.repeat(np.arange(n_cells, dtype=np.min_scalar_type(n_cells)), sample.sizes)
            weight = sample.masses.values.astype(np.float64) * sample.masses.unit
            selection = SelectionData(cell, weight, sample.n_groups, learner.selection_margins(rounds))
        depth = vars(self).get("max_depth", 1)
        table = history(boosted, about, columns, depth, learner.selection is not learner.train)
        messages = Fitted(boosted, about, selection, unit, columns).messages()
        about = replace(about, warnings=self._speak(about, messages))
        self._rounds, self.theta_, self.threshold_ = rounds, theta, threshold
        self._history, self._selection, self._frontier = table, selection, None
        self._chosen = (theta, threshold) if about.settings.choose_theta else None
        self._group_thresholds = thresholds if about.source is not None else None
        self._about = about

    @property
    def _model(self) -> FittedModel:
        model: FittedModel = self._rounds.model(self._about, self.theta_, self.threshold_)
        return model

    def _own_frontier(self) -> Points:
        if self._frontier is None:
            if not self._selection:  # none, or no rows
                raise ValueError(
                    f"this {type(self).__name__} holds no validation data: it was unpickled, loaded, or chooses no θ; "
                    "pass X, y and sensitive_features to frontier"
                )
            self._frontier = self._frontier_of(self._selection)
        points: Points = self._frontier
        return points

    @property
    def _n_stages(self) -> int:
        return self.n_estimators_

    def _stages(self, X: Any) -> Iterator[Floats]:
        stages: Iterator[Floats] = self._rounds.staged_margin(X)
        return stages

    def _round_names(self) -> Any:
        return pd.RangeIndex(1, self.n_estimators_ + 1, name="round")

    @property
    def n_estimators_(self) -> int:
        """Number of weak learners trained."""
        return len(self._rounds.learners)

    @property
    def estimator_weights_(self) -> Floats:
        """α of every trained learner."""
        check_is_fitted(self)
        weights: Floats = self._rounds.alphas
        return weights

    @property
    def estimators_(self) -> list[Any]:
        """Every trained weak learner."""
        check_is_fitted(self)
        return list(self._rounds.learners)

    def _take_threshold(self, threshold: Any) -> None:
        self.threshold_ = threshold

    def set_theta(self, theta: float) -> Self:
        """Use the first ``theta`` weak learners, without refitting. The threshold stays as it is.

        Parameters
        ----------
        theta : int
            Between 1 and ``n_estimators_``.

        Returns
        -------
        self

        Examples
        --------
        >>> from parityboost import AdaFairClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = AdaFairClassifier(n_estimators=20, random_state=0)
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> model.set_theta(5).theta_
        5
        """
        check_is_fitted(self)
        # A row of frontier() is a Series of floats: 5.0 is an integer as well.
        if not (is_number(theta) and 1 <= theta <= self.n_estimators_ and theta == int(theta)):
            raise ValueError(
                f"theta must be an integer from 1 to {self.n_estimators_}, the number of learners, got {theta!r}"
            )
        self.theta_ = int(theta)
        return self

    def staged_decision_function(self, X: Any, *, sensitive_features: Any = None) -> Iterator[Floats]:
        """:meth:`decision_function` after each of the ``n_estimators_`` rounds, with the one threshold of the model."""
        X = self._read_new(X)
        thresholds = self._model.thresholds(X, sensitive_features)
        for margin in self._stages(X):
            yield self._about.labels.signed(margin - thresholds)

    def staged_predict(self, X: Any, *, sensitive_features: Any = None) -> Iterator[NDArray[Any]]:
        """:meth:`predict` after each of the ``n_estimators_`` rounds; at number ``theta_`` it is :meth:`predict`."""
        for decision in self.staged_decision_function(X, sensitive_features=sensitive_features):
            yield self._about.labels.decided(decision)

    def staged_predict_proba(self, X: Any, *, sensitive_features: Any = None) -> Iterator[Floats]:
        """:meth:`predict_proba` after each of the ``n_estimators_`` rounds."""
        for decision in self.staged_decision_function(X, sensitive_features=sensitive_features):
            yield probabilities(decision)

    def staged_score(
        self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None
    ) -> Iterator[float]:
        """:meth:`score` after each of the ``n_estimators_`` rounds."""
        from sklearn.metrics import accuracy_score

        y = to_pandas(y)
        for predicted in self.staged_predict(X, sensitive_features=sensitive_features):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))


@dataclass(eq=False, repr=False)
class AdaFairClassifier(BoostedClassifier):
    """AdaFair: boosting whose mistakes on the group that is worse off weigh more.

    In each round the partial ensemble is checked for parity between the groups. Misclassified instances of a group that
    is behind get a fairness-related cost on top of AdaBoost's usual reweighting. Afterwards the best number of learners
    θ is chosen by (balanced) error plus unfairness on validation data.

    The sensitive attribute is needed by :meth:`fit` only: pass it as ``sensitive_features``, or name a column of X with
    ``sensitive_feature``. Only a threshold per group needs it for prediction as well.

    Parameters
    ----------
    notion : str or FairnessNotion, default="disparate_mistreatment"
        What should be equal across groups: ``"disparate_mistreatment"`` (false negative and false positive rates),
        ``"equal_opportunity"`` (false negative rates), ``"statistical_parity"`` (rates of positive predictions),
        ``"predictive_equality"`` (false positive rates), ``"none"``, which needs no groups (unless ``class_weight`` or
        ``threshold`` does), or a notion of your own.
        fairlearn's names ``"equalized_odds"``, ``"true_positive_rate_parity"``, ``"demographic_parity"`` and
        ``"false_positive_rate_parity"`` mean the same.
    n_estimators : int, default=200
        Largest number of boosting rounds T.
    c : float, default=1.0
        Between 1 (choose θ by balanced error) and 0 (by error).
    epsilon : float, default=0.0
        Tolerance: differences between groups up to this cost nothing.
    cumulative : bool, default=True
        Take the costs from the partial ensemble, not from the last weak learner alone.
    costs_from : {"training", "validation"}, default="training"
        On which rows the groups are compared when the costs of a round are set. ``"validation"`` sees how unfair the
        ensemble is on rows that the weak learners were not trained on; it needs a validation set.
    update : {"confidence", "discrete", "real"}, default="confidence"
        How misclassified instances gain weight: by ``exp(2α·confidence of the leaf)``, or by ``exp(2α)`` as in
        AdaBoost. ``"real"`` lets each leaf of the native trees vote with half its log-odds, not with -1 or 1 times α
        (Schapire and Singer, 1999), and instances gain or lose weight by as much; with a small ``learning_rate`` it
        ranks better. All instances of a class and group pay then, not the misclassified ones alone, ``learning_rate``
        times as much, and what a class weighs in all does not grow by it.
    learning_rate : float, default=1.0
        What every weak learner's votes are multiplied by. Less than 1 needs more rounds.
    learner_weight : {"error", "cost"}, default="error"
        α from the weighted error, or from the cost-weighted sums of the paper's Eq. (22), which also stops earlier.
    class_weight : {"balanced", "balanced_groups"}, dict or None, default=None
        Start with equal weight per class, or per class and group, or with a factor for each class label.
    threshold : float, "auto" or "per_group", default=0.0
        Predict positive where the margin is above it; ``"auto"`` chooses it together with θ, ``"per_group"`` one for
        each group. If the sensitive attribute is a column of X (named by ``sensitive_feature``, or passed to ``fit`` as
        a Series or DataFrame with the names and values of columns of X), prediction reads the group from X; otherwise
        the methods that predict need ``sensitive_features``. A value of these columns that is missing or unseen gets
        the mean threshold, weighted by the groups' sizes; a number that is binned is the group of its bin.
    estimator : classifier, default=None
        Weak learner that takes ``sample_weight``. None is the native decision tree.
    max_depth : {1, 2}, default=1
        Depth of the native trees. 1 is a stump: the model is a sum of functions of one feature each. 2 adds functions
        of pairs of features, which helps on large data; the model can still be drawn as a whole.
    interaction_cst : {"pairwise", "no_interactions"}, list of sets or None, default=None
        Which features may occur together in a tree of depth 2, by name or position, as in scikit-learn: a tree keeps to
        one of the sets, and features in none of them are one more set. None and ``"pairwise"`` allow all pairs,
        ``"no_interactions"`` none.
    monotonic_cst : dict, array-like or None, default=None
        1 for a number that the score may only rise with, -1 for one that it may only fall with, 0 for no restriction:
        a dict by name or position, or one entry per column. Missing values may have any score.
    criterion : {"gini", "error"}, default="gini"
        What the native trees optimise.
    category_splits : {"one", "sets"}, default="one"
        How native trees split a column of categories: one against all others, as in the paper, or any set of them
        against the others, which needs fewer rounds where there are many. With ``"sets"``, categories of a similar
        share of positives are taken together if there are more than codes, and those of fewer than 5 rows are *other*.
    max_bins : int, default=255
        Largest number of bins of a numeric column; exact if it has no more distinct values. Also the largest number of
        codes of a column of categories, at most 254.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns to split by category: those of dtype category or string, or object that hold text. A list of names or
        positions adds others to them. A boolean for every column, or None for no column, replaces them: categories
        that are numbers can be taken as numbers then. For the native stump only.
    validation_fraction : float or None, default=0.33
        Share of the training data, stratified by class and group, that is held out to choose θ on. None chooses θ on
        the training data itself. Not used when ``fit`` is given a validation set.
    n_iter_no_change : int or None, default=None
        Stop when the objective on the validation data has not improved for so many rounds. Rounds do not count as long
        as the best model so far predicts one class for everyone.
    keep : float, default=0.0
        Share, between 0 and 1, of the balanced accuracy above one half that must be kept for the sake of fairness. It
        is a share of the highest that any round and threshold of the same run has on the data that θ is chosen on.
        Above 0, rates of few instances are believed only in part in this choice; a sample weight that is an integer
        counts as so many instances, other weights as one each on average. 0 is the paper's rule, which may choose a
        model that predicts one class for everyone: that is perfectly fair.
    max_violation : float or None, default=None
        Choose θ (and the threshold, if it is chosen) only among those whose violation of the notion is at most this, on
        the data that they are chosen on; of these the lowest objective. If there is none that ``keep`` allows, the one
        with the lowest violation, with a warning.
    positive : label or None, default=None
        The label that the model predicts as positive: what ``"equal_opportunity"`` means by positives, and what a score
        above the threshold says. None takes the larger of the two labels; of labels that are text, the later one in the
        alphabet, which ``warnings_`` tells.
    favourable : label or None, default=None
        The label that is favourable to the person: the loan that is granted, the arrest that is not made. It changes
        nothing about the model; reports compare the groups' shares of it, as the four-fifths rule does. None is not
        stated.
    sensitive_feature : str, int, list or None, default=None
        Column(s) of X to take the groups from. The column stays an ordinary feature of the model as well, unless
        it is ``blind``.
    blind : bool, default=False
        Whether the columns that ``sensitive_feature`` names are no features: the model cannot see them, and X may come
        with them or without when it predicts. Positions in other parameters count the columns that are left.
    groups : {"crossed", "each", "both"}, default="crossed"
        Which groups are compared if there are several sensitive columns: all combinations of their values, or the
        values of each column by itself, where the worst of the columns counts; ``"both"`` also compares those
        combinations that have at least 30 rows of either class. ``views_`` tells.
    bands : dict or None, default=None
        From the name of a sensitive column of numbers to where it is cut: ``{"age": [25, 40, 60]}`` makes the groups
        "under 25", "25 to under 40", "40 to under 60" and "60 or more".
    missing_group : str or None, default=None
        Name of the group of the rows whose sensitive value is missing. With ``"ignore"`` they are in no group, and
        count for the error and for no rate. With None, a missing value is an error.
    n_jobs : int or None, default=None
        Number of threads. The fitted model does not depend on it.
    device : {"cpu", "cuda"}, default="cpu"
        Where to train and predict: on the processor, or on an NVIDIA graphics card, which pays for millions of rows and
        needs CuPy. The fitted model does not depend on it by a single bit, and is stored without it. Not for
        ``estimator``.
    verbose : int, default=0
        Show a progress bar.
    random_state : int, RandomState or None, default=None
        Seed of the validation split and of ``estimator``.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels, sorted.
    positive_ : label
        The one that the model predicts as positive: the second one, unless ``positive`` says otherwise.
    favourable_ : label or None
        The one that is favourable to the person; None if it was not stated.
    groups_ : ndarray
        The groups found in training; tuples if there are several sensitive columns.
    views_ : dict
        Of several attributes what is compared, from ``"sex"`` or ``"sex & race"`` to its groups; empty if it is
        ``groups_``.
    theta_ : int
        Number of weak learners used for prediction.
    threshold_ : float or ndarray of shape (n_groups,)
        Decision threshold on the sum of weighted votes; one for each of ``groups_`` with ``threshold="per_group"``.
    n_estimators_ : int
        Number of weak learners trained.
    estimator_weights_ : ndarray of shape (n_estimators_,)
        α of every learner.
    estimators_ : list
        The weak learners: stumps, trees of depth two, or fitted clones of ``estimator``.
    history_ : DataFrame
        One row per round: ``alpha``, weighted ``error``, ``feature`` (of a tree of depth two also ``feature_left`` and
        ``feature_right``, below its first split), the differences between groups ``delta_…`` (second group minus first;
        largest minus smallest if there are more than two; one for each of several views) and costs ``cost[group,
        class]``, ``Z``, ``bound`` on the training error (discrete update), and on training and validation data error
        rate, balanced error rate, violation and objective at the round's ``threshold`` (``threshold[group]`` if each
        group has its own). Where it is chosen on validation data, the training measures are at threshold 0.
    warnings_ : list of str
        What ``fit`` warned of: a model that may be of no use, and what helps. Last, and without a warning of Python's:
        which label was taken as positive, where the labels are text and ``positive`` does not say.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Each feature's share of the weights α of the θ learners; a tree of depth two divides its α by the gain of its
        splits.
    n_samples_fit_ : int
        Number of rows that ``fit`` was given, without those of weight 0.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Notes
    -----
    ``predict_proba`` maps the margin F to ``1 / (1 + exp(-2F))``, the estimate that boosting with exponential loss
    implies. Its order and its decision at one half are meaningful; it is not calibrated.

    References
    ----------
    V. Iosifidis, A. Roy, E. Ntoutsi: Parity-based Cumulative Fairness-aware Boosting. Knowledge and Information
    Systems, 2022.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> model = AdaFairClassifier(notion="equal_opportunity", n_estimators=20, random_state=0)
    >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
    >>> model.groups_.tolist()
    ['Female', 'Male']

    A threshold for each group, chosen together with θ. The groups are a column of X here, so prediction needs X alone:

    >>> model.set_params(threshold="per_group").fit(
    ...     adult.data, adult.target, sensitive_features=adult.data["sex"]
    ... )
    AdaFairClassifier(n_estimators=20, notion='equal_opportunity', random_state=0,
                      threshold='per_group')
    >>> model.threshold_.shape, model.predict(adult.data).shape
    ((2,), (45175,))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        **OF_THE_PAPER,
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
    }
    notion: str | FairnessNotion = "disparate_mistreatment"
    _: KW_ONLY
    n_estimators: int = 200
    c: float = 1.0
    epsilon: float = 0.0
    cumulative: bool = True
    costs_from: str = "training"
    update: str = "confidence"
    learning_rate: float = 1.0
    learner_weight: str = "error"
    class_weight: str | dict[Any, float] | None = None
    threshold: float | str = 0.0
    estimator: Any = None
    max_depth: int = 1
    interaction_cst: Any = None
    monotonic_cst: Any = None
    criterion: str = "gini"
    category_splits: str = "one"
    max_bins: int = 255
    categorical_features: Any = "from_dtype"
    validation_fraction: float | None = 0.33
    n_iter_no_change: int | None = None
    keep: float = 0.0
    max_violation: float | None = None
    positive: Any = None
    favourable: Any = None
    sensitive_feature: Any = None
    blind: bool = False
    groups: str = "crossed"
    bands: dict[Any, Any] | None = None
    missing_group: str | None = None
    n_jobs: int | None = None
    device: str = "cpu"
    verbose: int = 0
    random_state: Any = None
