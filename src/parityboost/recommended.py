"""The model that we recommend: several trainings, averaged, with the settings that measure best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval

from ._arrays import Floats
from ._caller import warn_caller
from ._choice.frontier import SelectionData
from ._choice.rule import Choice
from ._choice.settings import Settings
from ._engine.threads import Team
from ._model.averaged import AveragedEnsemble
from ._model.blending import BlendingMixin
from ._model.calibration import Calibrator
from ._model.dial import FAIR, Dial, Point
from ._model.grid import all_on_grid
from ._model.warning import FitWarning
from ._table.grouping import how_to_cut
from ._table.inputs import check_groups, group_names, shown
from ._table.sources import column_names, find_categorical, read_sources
from ._table.weights import read_class_weight, rows_per_weight
from .estimators import AdaFairClassifier
from .notions import NoNotion, StatisticalParity

__all__ = ["ParityBoostClassifier"]

MAX_BAGS = 1000
_PARTS = "the rows that a bag trains on", "the rows that a bag holds out"
HOW_TO_HOLD_OUT = (
    "merge groups, give more rows or splits of your own as n_bags, or use AdaFairClassifier, which can choose on the "
    "rows that it trains on"
)
MIN_ROWS_TO_BLEND = 500  # of each class and group, held out


class ParityBoostClassifier(BlendingMixin, AdaFairClassifier):
    """The recommended fair classifier: AdaFair's boosting, averaged over several splits of the data.

    Each of ``n_bags`` trainings sees its own part of the rows, and chooses its number of trees and its threshold on the
    rest. Their scores are averaged, and the final threshold is chosen by what they say about rows that they were not
    trained on. The average of sums of step functions is one again, so the model is still a glass box, and it needs no
    sensitive attribute to predict.

    The choice never gives up more than half of the balanced accuracy over chance that there is (``keep``).

    Parameters
    ----------
    notion : str or FairnessNotion, default="disparate_mistreatment"
        What should be equal across groups, as in :class:`AdaFairClassifier`. For ``"statistical_parity"`` the false
        positives of the group that is selected more pay as well, so that the outcome hardly depends on which label is
        called positive; ``StatisticalParity(boost="positives")`` is the paper's. ``"none"`` needs no groups if
        ``class_weight`` is not ``"balanced_groups"``.
    n_bags : int, list of splits or splitter, default=4
        How many trainings; or pairs of row positions to train on and to hold out; or an object with a method ``split``
        like those of scikit-learn. Give splits of your own if rows belong together, as those of one person do; each
        needs rows of both classes on either side.
    n_estimators : int, default=200
        Largest number of boosting rounds of each training.
    max_depth : {1, 2}, default=2
        Depth of the trees: 1 for functions of one feature each, 2 for pairs of features too.
    c : float, default=1.0
        Between 1 (choose by balanced error) and 0 (by error).
    epsilon : float, default=0.0
        Tolerance: differences between groups up to this cost nothing.
    update : {"confidence", "discrete", "real"}, default="real"
        How leaves vote and misclassified instances gain weight.
    learning_rate : float, default=0.2
        What the votes of every tree are multiplied by.
    class_weight : {"balanced", "balanced_groups"}, dict or None, default="balanced_groups"
        The starting weights. If they do not suit ``max_violation``, None is used, and a warning says so.
    threshold : float, "auto" or "per_group", default="auto"
        The decision threshold: chosen on rows that were held out, for all or per group; or a number.
    interaction_cst : {"pairwise", "no_interactions"}, list of sets or None, default=None
        Which features may occur together in a tree.
    monotonic_cst : dict, array-like or None, default=None
        1 for a number that the score may only rise with, -1 for one that it may only fall with.
    criterion : {"gini", "error"}, default="gini"
        What the trees optimise.
    max_bins : int, default=255
        Largest number of bins of a numeric column.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns to split by category.
    validation_fraction : float, default=0.33
        Share of the rows, stratified by class and group, that each training holds out.
    n_iter_no_change : int or None, default=None
        Stop a training after so many rounds without a better choice.
    keep : float, default=0.5
        The share of the best balanced accuracy over chance that a choice has to keep.
    dial : bool, default=False
        Also train the plain model, so that :meth:`set_fairness` can move between the two; takes about twice as long.
        A blend has the importances of both, weighted as they are, and keeps ``monotonic_cst``.
    max_violation : float or None, default=None
        The largest violation that is acceptable on the rows that are chosen on. Of the choices that keep it, the one
        with the lowest objective is taken; if the one that would be taken anyway keeps it, nothing changes. Otherwise
        other models are trained to choose from, which takes up to four times as long. If none keeps it, the one with
        the lowest violation, with a warning.
    positive : label or None, default=None
        The label that the model predicts as positive; None takes the larger one, or the later one in the alphabet.
    favourable : label or None, default=None
        The label that is favourable to the person, which reports compare the groups' shares of. None is not stated.
    sensitive_feature : str, int, list or None, default=None
        The column(s) of X that hold the sensitive attribute.
    bands : dict or None, default=None
        Where to cut numeric sensitive columns.
    missing_group : str or None, default=None
        The group of rows whose sensitive value is missing.
    n_jobs : int or None, default=None
        Number of threads at most, one for each training; a small table is trained faster by one. The model does not
        depend on it.
    device : {"cpu", "cuda"}, default="cpu"
        Where to train and predict: on the processor, or on an NVIDIA graphics card. The model does not depend on it.
    verbose : int, default=0
        Whether to show progress.
    random_state : int, RandomState or None, default=None
        Decides the splits.

    Attributes
    ----------
    classes_, positive_, favourable_, groups_, threshold_, warnings_, feature_importances_, n_samples_fit_ :
        As in :class:`AdaFairClassifier`.
    n_features_in_, feature_names_in_ :
        As in :class:`AdaFairClassifier`.
    fairness_ : float
        Where the model stands between the plain one (0) and the fair one (1), see :meth:`set_fairness`.
    thetas_ : ndarray of shape (number of bags,)
        How many trees of each training are used.
    theta_, n_estimators_ : int
        How many trees are used, and how many were trained, in all.
    history_ : DataFrame
        One row per bag and round, as in :class:`AdaFairClassifier`.

    Examples
    --------
    >>> from parityboost import ParityBoostClassifier
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> model = ParityBoostClassifier(
    ...     "equal_opportunity", n_bags=2, n_estimators=20, random_state=0
    ... )
    >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
    >>> model.predict(adult.data).shape, len(model.thetas_)
    ((45175,), 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: rule
            for name, rule in AdaFairClassifier._parameter_constraints.items()
            if name not in ("cumulative", "costs_from", "learner_weight", "estimator")
        },
        "dial": ["boolean"],
        "n_bags": [Interval(Integral, 1, MAX_BAGS, closed="both"), list, tuple, HasMethods(["split"])],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    }
    # Not to be chosen here: what measures best, see the documentation.
    cumulative, costs_from, learner_weight, estimator = True, "training", "error", None

    def __init__(
        self,
        notion: Any = "disparate_mistreatment",
        n_bags: Any = 4,
        *,
        n_estimators: int = 200,
        max_depth: int = 2,
        c: float = 1.0,
        epsilon: float = 0.0,
        update: str = "real",
        learning_rate: float = 0.2,
        class_weight: Any = "balanced_groups",
        threshold: float | str = "auto",
        interaction_cst: Any = None,
        monotonic_cst: Any = None,
        criterion: str = "gini",
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        validation_fraction: float = 0.33,
        n_iter_no_change: int | None = None,
        keep: float = 0.5,
        dial: bool = False,
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
        self.n_bags = n_bags
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.c = c
        self.epsilon = epsilon
        self.update = update
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.threshold = threshold
        self.interaction_cst = interaction_cst
        self.monotonic_cst = monotonic_cst
        self.criterion = criterion
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.keep = keep
        self.dial = dial
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
    ) -> ParityBoostClassifier:
        """Train on X, y.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, booleans, categories and strings; missing values are fine.
        y : array-like of shape (n_samples,)
            Labels of two classes. The larger label is the positive class, unless ``positive`` says otherwise.
        sensitive_features : array-like, Series or DataFrame, optional
            The group of each instance. Not needed if ``sensitive_feature`` names columns of X.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each instance: weight 2 equals a repeated row.
        validation : tuple, optional
            Data to choose the final threshold on, instead of the rows that the trainings held out: ``(X, y)``, ``(X, y,
            sensitive_features)`` or ``(X, y, sensitive_features, sample_weight)``.

        Returns
        -------
        self
        """
        from ._fit.bags import CodeTable
        from ._table.binning import Binner

        self._forget()
        X = self._read_table(X, reset=True)
        settings = self._settings()
        rng = check_random_state(self.random_state)
        rows = self._counted_rows(*self._read_rows(X, y, sensitive_features, sample_weight)).on_host()
        self._check_number_of_groups(settings)
        folds = self._folds(rows, X, rng)
        given = None if validation is None else self._read_validation(validation)
        self._check_parts(rows.cell, folds, None if given is None else given[2], settings)
        unit = rows_per_weight(sample_weight, len(X))
        n_jobs = effective_n_jobs(self.n_jobs)
        with Team(n_jobs) as team:
            sources = read_sources(X)
            categorical = find_categorical(X, sources, self.categorical_features)
            masses = rows.masses.values_or_none
            binner = Binner.fit(sources, rows.positions, masses, self.max_bins, categorical, team)
            table = CodeTable.of(binner, binner.encode(sources, rows.positions, team), team)
        source = None
        if settings.threshold == "per_group":
            source = self._source_of_groups(X, rows, sensitive_features, binner)
        self._group_source = source

        def train(settings: Settings, class_weight: Any) -> Any:
            return self._train(folds, rows, table, settings, class_weight, unit)

        def rows_to_choose_on(trained: Any) -> SelectionData:
            if given is None:
                return self._held_out(trained, rows)
            X_given, positions, cell, weights = given
            weight = np.empty(0) if weights is None else weights
            margins = [ensemble_of(binner, end).margin(X_given, 1, n_jobs)[positions] for end in trained.ends]
            return SelectionData(cell, weight, len(self.groups_), blends(margins, trained.weights))

        of_choice = unit if given is None else rows_per_weight((*validation, None, None)[3], len(given[0]))
        self._train_and_choose(train, rows_to_choose_on, settings, of_choice, binner, column_names(X))
        return self

    def _check_parts(self, cell: Any, folds: list[Any], validation: Any, settings: Settings) -> None:
        """Whether the rates of the notion are defined in every part of the rows; ``validation`` has cells as well."""
        n_groups, labels = len(self.groups_), [shown(label) for label in self._outcomes]
        parts = [(cell[part], what) for fold in folds for part, what in zip(fold, _PARTS, strict=True)]
        if validation is not None:
            parts.append((validation, "validation data"))
        totals = [
            (where, np.bincount(found, minlength=2 * n_groups).reshape(2, n_groups).T.astype(float))
            for found, where in parts
        ]
        check_groups(totals, self.groups_, labels, settings.notion, self._sensitive_names)

    def _train_and_choose(
        self,
        train: Callable[[Settings, Any], Any],
        rows_to_choose_on: Callable[[Any], SelectionData],
        settings: Settings,
        unit: float,
        binner: Any,
        columns: list[str],
    ) -> None:
        """Train, choose, keep both, and warn; ``train`` takes settings and starting weights.

        The bags choose without the limit: on the few rows that one of them holds out, it would mostly act on noise. If
        what is then chosen on all these rows is beyond the limit, the threshold alone could often keep it only by a
        poor model. So there are others to choose from as well: of bags that choose by the limit, and of even weights.
        """
        without = replace(settings, max_violation=None)
        trainings = [train(without, self.class_weight)]
        selections = [rows_to_choose_on(trainings[0])]
        best, free, asked = 0, None, None
        if settings.max_violation is not None:
            _, free = self._choose_among(selections, without, unit)
            if free.own.violation > settings.highest_violation:
                others = [(settings, self.class_weight)]
                others += [] if self.class_weight is None else [(without, None), (settings, None)]
                for how in others:
                    trainings.append(train(*how))
                    selections.append(rows_to_choose_on(trainings[-1]))
                best, _ = self._choose_among(selections, settings, unit)
                if best > 1:
                    _, asked = self._choose_among(selections[:2], settings, unit)
        self._keep_bags(trainings[best], settings, binner, columns)
        self._choose(trainings[best].dial, selections[best], settings, unit, free, asked)

    def _choose_among(self, selections: list[SelectionData], settings: Settings, unit: float) -> tuple[int, Choice]:
        """The best of several models for the same rows: which of them, and the choice."""
        from ._fit.advice import choose_again

        offered = [self._offered(selection, unit) for selection in selections]
        owners = [k for k, each in enumerate(offered) for _ in each.margins()]
        together = replace(selections[0], margins=lambda: chain(*(each.margins() for each in offered)))
        choice = choose_again(together, settings, unit, all_rows=True)
        return owners[choice.theta - 1], choice

    def _offered(self, selection: SelectionData, unit: float) -> SelectionData:
        """With the blends that `fit` may choose from.

        One more number to choose: with few rows in a class of a group it would be fitted to noise.
        """
        if not self.dial or selection.totals.min() * unit >= MIN_ROWS_TO_BLEND:
            return selection
        return replace(selection, margins=lambda: islice(selection.margins(), FAIR, FAIR + 1))

    def _train(
        self, folds: list[Any], rows: Any, table: Any, settings: Settings, class_weight: Any, unit: float
    ) -> Any:
        """Train all bags, and average them; with a dial the plain ones and the fair ones."""
        from ._fit.bags import Trained, combine, dial_between, same_cells, train_bags
        from ._fit.constraints import read_orders
        from ._fit.loop import starting_factors
        from ._fit.progress import BagsProgress

        start = read_class_weight(class_weight, self._outcomes)
        n_groups, n_jobs = len(self.groups_), effective_n_jobs(self.n_jobs)

        def make_learner(train: Any, selection: Any) -> Any:
            return self._native_learner(table.bundles, train, selection, starting_factors(train.sample.totals, start))

        progress = None
        if self.verbose:
            n_trainings = len(folds) * (2 if self.dial else 1)
            n_rows = sum(len(fold.train) for fold in folds) // len(folds)
            progress = BagsProgress(self._bar(n_trainings * self.n_estimators, n_rows), self.n_estimators)
        how = n_groups, make_learner, unit, n_jobs, self.device, progress
        bags = train_bags(folds, rows, table, settings, *how)
        ends, dial = [combine(bags, rows, table)], None
        if self.dial:
            plain = train_bags(folds, rows, table, replace(settings, notion=NoNotion()), *how)
            ends = same_cells([combine(plain, rows, table), *ends], rows, table)
            binner = table.bundles.binner
            orders = read_orders(self.monotonic_cst, [column.name for column in binner.columns], binner)
            dial = dial_between(plain, bags, ends, orders, table)
        if progress is not None:
            progress.close(sum(bag.boosted.choice.theta for bag in bags))
        return Trained(bags, ends, dial)

    def _keep_bags(self, trained: Any, settings: Settings, binner: Any, columns: list[str]) -> None:
        """What remains of training."""
        bags = trained.bags
        self._fitted = settings
        self._ensemble = ensemble_of(binner, trained.ends[-1])
        self.thetas_ = np.array([bag.boosted.choice.theta for bag in bags])
        self.theta_ = int(self.thetas_.sum())
        self.n_estimators_ = sum(len(bag.boosted.rounds) for bag in bags)
        self._keep_history(bags, settings, columns)

    def _held_out(self, trained: Any, rows: Any) -> SelectionData:
        """What the bags say about rows that they held out."""
        held = rows.at(trained.ends[-1].rows)
        weight = held.masses.values.astype(np.float64) * held.masses.unit
        margins = blends([end.margins for end in trained.ends], trained.weights)
        return SelectionData(held.cell, weight, len(self.groups_), margins)

    def _folds(self, rows: Any, X: Any, rng: np.random.RandomState) -> list[Any]:
        """Which rows each bag trains on and which it holds out."""
        from ._fit.bags import check_classes, draw_folds, read_folds
        from ._fit.preparation import none_held_out

        if isinstance(self.n_bags, Integral):
            folds = draw_folds(rows, int(self.n_bags), float(self.validation_fraction or 0), rng)
            if not len(folds[0].held):
                cut = how_to_cut(self.groups_, self._sensitive_names)
                raise ValueError(f"{none_held_out(len(rows.cell))}: {cut or HOW_TO_HOLD_OUT}")
            return folds
        if isinstance(self.n_bags, str):  # which has a method split as well
            raise ValueError(
                "n_bags must be a number, a list of pairs of row positions or a splitter of scikit-learn's, got "
                f"{self.n_bags!r}"
            )
        folds = read_folds(self.n_bags, rows, len(self.groups_), X)
        check_classes(folds, rows.cell >= len(self.groups_), [shown(label) for label in self._outcomes])
        return folds

    def _settings(self) -> Settings:
        settings = super()._settings()
        if settings.notion == StatisticalParity(boost="auto"):
            settings = replace(settings, notion=StatisticalParity(boost="both"))
        return settings

    def _source_of_groups(self, X: Any, rows: Any, sensitive_features: Any, binner: Any) -> Any:
        from ._fit.preparation import Split

        source = self._find_group_source(X, rows, Split(X, rows, X, None), sensitive_features)
        return source.with_codes(binner, X, rows.positions, rows.cell % len(self.groups_))

    def _choose(
        self,
        dial: Dial | None,
        selection: SelectionData,
        settings: Settings,
        unit: float,
        free: Choice | None,
        asked: Choice | None,
    ) -> None:
        """Thresholds for the averaged margins, on a dial for every blend, and what is to be said about the choice.

        ``free`` is what would be chosen without the limit, ``asked`` what with the starting weights that were asked
        for, if it was not these.
        """
        from ._fit.advice import FittedAverage, choose_again
        from ._fit.loop import Boosted

        stages = [replace(selection, margins=partial(iter, [margin])) for margin in selection.margins()]
        choices = [choose_again(stage, settings, unit, all_rows=True) for stage in stages]
        points = tuple(map(_point, stages, choices))
        self._selection = selection
        self._dial = None if dial is None else replace(dial, points=points)
        at = 0
        if self._dial is None:
            self.fairness_ = 1.0
            self._take(points[at])
        else:
            at = FAIR
            if self._offered(selection, unit) is selection:
                at = choose_again(selection, settings, unit, all_rows=True).theta - 1
            self._move(at)
        self._chosen = self._stage, self.threshold_
        names, labels = group_names(self.groups_), [shown(label) for label in self._outcomes]
        boosted = Boosted([], choices[at], "n_estimators")
        about = boosted, settings, stages[at], unit, names, labels, None
        told = FittedAverage(*about, free, asked, self.class_weight).messages()
        for message in told:
            warn_caller(message, FitWarning)
        self.warnings_ = [*told, *self._said_positive()]

    def _keep_history(self, bags: list[Any], settings: Settings, columns: list[str]) -> None:
        """What each round of each training left behind."""
        from ._fit.history import history

        names, labels = group_names(self.groups_), [shown(label) for label in self._outcomes]
        inner = replace(settings, threshold="auto")
        tables = [history(bag.boosted, inner, names, labels, columns, True) for bag in bags]
        self._bag_sizes = [len(bag.boosted.rounds) for bag in bags]
        self._history = {}
        for name in tables[0]:
            parts = [table[name] for table in tables]
            self._history[name] = list(chain(*parts)) if isinstance(parts[0], list) else np.concatenate(parts)


def _point(stage: SelectionData, choice: Any) -> Point:
    """What a choice of the threshold comes to."""
    threshold = choice.thresholds[0] if choice.thresholds.ndim > 1 else float(choice.thresholds[0])
    calibrator = Calibrator.fit(next(stage.margins()), stage.cell >= stage.n_groups, stage.weight)
    return Point(threshold, float(choice.measures.ber[0]), float(choice.measures.violation[0]), calibrator)


def ensemble_of(binner: Any, end: Any) -> AveragedEnsemble:
    """What predicts, from the mean of the bags."""
    return AveragedEnsemble(binner, end.effects, end.spread, end.importances)


def blends(margins: list[Floats], weights: tuple[float, ...]) -> Any:
    """A function that goes through the blends of the margins of both ends, or through the margins of the only one."""
    if len(margins) == 1:
        return lambda: iter(margins)
    plain, fair = margins
    return lambda: (all_on_grid(plain + w * (fair - plain)) for w in weights)
