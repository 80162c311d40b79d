"""The public classifier: reads the input, calls the boosting loop, keeps what was fitted."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ._arrays import on_card
from ._choice.settings import Settings
from ._engine.codes import MAX_BINS
from ._engine.threads import MAX_THREADS, Team
from ._fit.training import TrainingMixin
from ._io.portable import StorageMixin
from ._model.control import ControlMixin
from ._model.grid import on_fine_grid
from ._model.prediction import PredictionMixin
from ._table.cuts import EXACT_ROWS
from ._table.grouping import Grouping
from ._table.sources import column_names
from ._table.weights import rows_per_weight
from .notions import NOTION_NAMES, FairnessNotion, get_notion

# A threshold for each of more groups would be chosen on a handful of rows, and take long.
MAX_GROUP_THRESHOLDS = 100

__all__ = ["AdaFairClassifier"]


class AdaFairClassifier(TrainingMixin, PredictionMixin, ControlMixin, StorageMixin, ClassifierMixin, BaseEstimator):
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
        ranks better.
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
    max_bins : int, default=255
        Largest number of bins of a numeric column; exact if it has no more distinct values.
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
        Column(s) of X to take the groups from. The column stays an ordinary feature of the model as well.
    bands : dict or None, default=None
        From the name of a sensitive column of numbers to where it is cut: ``{"age": [25, 40, 60]}`` makes the groups
        "under 25", "25 to under 40", "40 to under 60" and "60 or more".
    missing_group : str or None, default=None
        Name of the group of the rows whose sensitive value is missing. With None, a missing value is an error.
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
        ``feature_right``, below its first split), the differences between groups ``delta_…``
        (second group minus first; largest minus smallest if there are more than two) and costs ``cost[group, class]``,
        ``Z``, ``bound`` on the training error (discrete update), and on training and validation data error rate,
        balanced error rate, violation and objective at the round's ``threshold`` (``threshold[group]`` if each group
        has its own). Where it is chosen on validation data, the training measures are at threshold 0.
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
        "notion": [StrOptions(set(NOTION_NAMES)), FairnessNotion],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "c": [Interval(Real, 0, 1, closed="both")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "cumulative": ["boolean"],
        "costs_from": [StrOptions({"training", "validation"})],
        "update": [StrOptions({"confidence", "discrete", "real"})],
        "learning_rate": [Interval(Real, 0.001, 1, closed="both")],
        "learner_weight": [StrOptions({"error", "cost"})],
        "class_weight": [StrOptions({"balanced", "balanced_groups"}), dict, None],
        "threshold": [StrOptions({"auto", "per_group"}), Interval(Real, None, None, closed="neither")],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "max_depth": [Interval(Integral, 1, 2, closed="both")],
        "interaction_cst": [StrOptions({"pairwise", "no_interactions"}), list, tuple, None],
        "monotonic_cst": [dict, "array-like", None],
        "criterion": [StrOptions({"gini", "error"})],
        "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "keep": [Interval(Real, 0, 1, closed="both")],
        "max_violation": [Interval(Real, 0, None, closed="left"), None],
        "positive": ["boolean", Real, str, None],
        "favourable": ["boolean", Real, str, None],
        "sensitive_feature": [str, Integral, list, None],
        "bands": [dict, None],
        "missing_group": [str, None],
        "n_jobs": [Interval(Integral, -MAX_THREADS, MAX_THREADS, closed="both"), None],
        "device": [StrOptions({"cpu", "cuda"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        notion: str | FairnessNotion = "disparate_mistreatment",
        *,
        n_estimators: int = 200,
        c: float = 1.0,
        epsilon: float = 0.0,
        cumulative: bool = True,
        costs_from: str = "training",
        update: str = "confidence",
        learning_rate: float = 1.0,
        learner_weight: str = "error",
        class_weight: str | dict[Any, float] | None = None,
        threshold: float | str = 0.0,
        estimator: Any = None,
        max_depth: int = 1,
        interaction_cst: Any = None,
        monotonic_cst: Any = None,
        criterion: str = "gini",
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        validation_fraction: float | None = 0.33,
        n_iter_no_change: int | None = None,
        keep: float = 0.0,
        max_violation: float | None = None,
        positive: Any = None,
        favourable: Any = None,
        sensitive_feature: Any = None,
        bands: dict[Any, Any] | None = None,
        missing_group: str | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.notion = notion
        self.n_estimators = n_estimators
        self.c = c
        self.epsilon = epsilon
        self.cumulative = cumulative
        self.costs_from = costs_from
        self.update = update
        self.learning_rate = learning_rate
        self.learner_weight = learner_weight
        self.class_weight = class_weight
        self.threshold = threshold
        self.estimator = estimator
        self.max_depth = max_depth
        self.interaction_cst = interaction_cst
        self.monotonic_cst = monotonic_cst
        self.criterion = criterion
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.keep = keep
        self.max_violation = max_violation
        self.positive = positive
        self.favourable = favourable
        self.sensitive_feature = sensitive_feature
        self.bands = bands
        self.missing_group = missing_group
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None, validation: Any = None
    ) -> AdaFairClassifier:
        """Train on X, y.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, booleans, categories and strings; missing values are fine.
        y : array-like of shape (n_samples,)
            Labels of two classes. The larger label is the positive class, unless ``positive`` says otherwise.
        sensitive_features : array-like, Series or DataFrame, optional
            The group of each instance. Several columns are crossed. Not needed if ``sensitive_feature`` names columns
            of X.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each instance, in the errors and in the rates: weight 2 equals a repeated row.
        validation : tuple, optional
            Data to choose θ on: ``(X, y)``, ``(X, y, sensitive_features)`` or ``(X, y, sensitive_features,
            sample_weight)``. Replaces the split by ``validation_fraction``.

        Returns
        -------
        self
        """
        self._forget()
        if self.estimator is not None and self.device != "cpu":
            raise ValueError(
                f'device="cuda" is for the native trees, and {type(self.estimator).__name__} trains wherever it does: '
                'leave out the estimator, or use device="cpu"'
            )
        X = self._read_table(X, reset=True)
        settings = self._settings()
        rng = check_random_state(self.random_state)
        rows = self._counted_rows(*self._read_rows(X, y, sensitive_features, sample_weight))
        self._check_number_of_groups(settings)
        if settings.threshold == "per_group" or not on_card(X) or len(X) <= EXACT_ROWS:
            rows = rows.on_host()
        split = self._split(X, rows, validation, rng)
        given = (
            (sample_weight, len(X)) if validation is None else ((*validation, None, None)[3], len(split.X_selection))
        )
        unit = rows_per_weight(*given)
        if settings.threshold == "per_group":
            self._group_source = self._find_group_source(X, rows, split, sensitive_features)
        n_threads = 1 if self.estimator is not None else effective_n_jobs(self.n_jobs)
        with Team(n_threads, self.device) as team:
            train, selection = split.samples(len(self.groups_), team)
            self._check_settings(settings, selection is not train)
            self._check_samples(train, selection, settings.notion)
            learner = self._learner(rows, split, train, selection, rng)
            del rows, split, train, selection  # the learner keeps what it needs
            boosted = self._boost(learner, settings, unit)
            columns = column_names(X) if self.estimator is None else None
            self._keep(boosted, learner, settings, columns)
            del learner  # and with it whatever is on a device
        self._speak(boosted, settings, unit, columns)
        return self

    def _check_number_of_groups(self, settings: Settings) -> None:
        self._warn_if_too_large(settings.notion, settings.threshold)
        if settings.threshold == "per_group" and len(self.groups_) > MAX_GROUP_THRESHOLDS:
            raise ValueError(
                f'threshold="per_group" is for up to {MAX_GROUP_THRESHOLDS} groups, got {len(self.groups_)}: merge '
                'groups, cut the column into bands, or use threshold="auto", one threshold for all'
            )

    def _settings(self) -> Settings:
        return Settings(
            notion=get_notion(self.notion),
            n_estimators=self.n_estimators,
            c=self.c,
            epsilon=float(self.epsilon),
            cumulative=self.cumulative,
            costs_from=self.costs_from,
            update=self.update,
            learning_rate=float(self.learning_rate),
            learner_weight=self.learner_weight,
            threshold=self.threshold if isinstance(self.threshold, str) else on_fine_grid(float(self.threshold)),
            n_iter_no_change=self.n_iter_no_change,
            keep=float(self.keep),
            max_violation=None if self.max_violation is None else float(self.max_violation),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_ensemble")

    def _forget(self) -> None:
        """Remove what an earlier fit left: if this one fails, nothing of it shall be taken for the outcome."""
        for name in [name for name in vars(self) if name.endswith("_") or name == "_ensemble"]:
            delattr(self, name)
        self._selection = self._frontier = self._chosen = self._group_source = self._group_thresholds = None
        self._sensitive_feature, self._sensitive_names = self.sensitive_feature, []
        self._grouping = Grouping(self.bands, self.missing_group)

    @property
    def _groups_needed_for(self) -> str:
        """What depends on the groups, as it was asked for; empty if nothing does."""
        if self._settings().notion.gaps:
            return f"notion={self.notion!r}"
        if self.class_weight == "balanced_groups":
            return "class_weight='balanced_groups' ('balanced' or None does without)"
        return "threshold='per_group' ('auto' does without)" if self.threshold == "per_group" else ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
