"""The model that we recommend: several trainings, averaged, with the settings that measure best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import chain, islice
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._arrays import Floats
from ._base import CONSTRAINTS, Data, FairClassifier
from ._choice.frontier import SelectionData
from ._choice.rule import Choice
from ._choice.settings import Settings
from ._engine.threads import Team
from ._model.calibration import Calibrator
from ._model.dial import FAIR, Point
from ._model.glass_box import About, GlassBox
from ._table.grouping import check_groups, how_to_cut
from ._table.reading import Labels, stratified_split
from ._table.sources import find_categorical, read_sources
from ._table.weights import read_class_weight
from .notions import NoNotion, StatisticalParity

__all__ = ["ParityBoostClassifier"]

MAX_BAGS = 1000
# With n_bags="auto": of few rows each training is quick, and its choice noisy.
FEW_ROWS, MANY_BAGS, USUAL_BAGS = 10_000, 8, 4
_PARTS = "the rows that a bag trains on", "the rows that a bag holds out"
HOW_TO_HOLD_OUT = (
    "merge groups, give more rows or splits of your own as n_bags, or use AdaFairClassifier, which can choose on the "
    "rows that it trains on"
)
OF_ONE_TRAINING = {
    *("set_theta", "estimators_", "estimator_weights_", "staged_decision_function"),
    *("staged_predict", "staged_predict_proba", "staged_score"),
}
MIN_ROWS_TO_BLEND = 500  # of each class and group, held out


def _has_dial(model: Any) -> bool:
    """Whether the plain model was trained as well, or will be."""
    trained = model.glass_box_.dial is not None if model.__sklearn_is_fitted__() else model.dial
    if not trained:
        raise AttributeError(
            "set_fairness needs the plain model beside the fair one: fit with dial=True, which takes about twice as "
            "long. set_threshold moves this model, and frontier() lists the choices"
        )
    return True


@dataclass(eq=False, repr=False)
class ParityBoostClassifier(FairClassifier):
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
    n_bags : "auto", int, list of splits or splitter, default="auto"
        How many trainings; or pairs of row positions to train on and to hold out; or an object with a method ``split``
        like those of scikit-learn. Give splits of your own if rows belong together, as those of one person do; each
        needs rows of both classes on either side. ``"auto"`` is 8 below 10,000 rows, where a choice on the rows that
        one training holds out is noisy, and 4 from there on.
    n_estimators : int, default=2000
        Largest number of boosting rounds of each training. It is a cap: trainings mostly end before, see
        ``n_iter_no_change``. A warning tells if the default was reached.
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
    category_splits : {"sets", "one"}, default="sets"
        How a column of categories is split: any set of them against the others, or one against all others. With
        ``"sets"`` a column can have thousands of categories: those with a similar share of positives are taken
        together if there are more than codes, and those of fewer than 5 rows are *other*.
    max_pairs : int or None, default=20
        How many pairs of features may have a table in each training. The strongest are chosen in 50 rounds before; none
        are if functions of one feature each do as well on the rows that the first training holds out. None lets every
        pair occur that ``interaction_cst`` allows.
    max_bins : int, default=255
        Largest number of bins of a numeric column, and of codes of a column of categories (254 at most).
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns to split by category.
    validation_fraction : float, default=0.33
        Share of the rows, stratified by class and group, that each training holds out.
    n_iter_no_change : int or None, default=100
        Stop a training after so many rounds without a better choice; None goes on to ``n_estimators``.
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
        Whether to show progress: the training, its round, and the best so far.
    random_state : int, RandomState or None, default=None
        Decides the splits.

    Attributes
    ----------
    glass_box_ : GlassBox
        The fitted model as one immutable value, see :class:`GlassBox`.
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
        **CONSTRAINTS,
        "dial": ["boolean"],
        "max_pairs": [Interval(Integral, 0, None, closed="left"), None],
        "n_bags": [
            StrOptions({"auto"}),
            Interval(Integral, 1, MAX_BAGS, closed="both"),
            list,
            tuple,
            HasMethods(["split"]),
        ],
    }
    notion: Any = "disparate_mistreatment"
    n_bags: Any = "auto"
    _: KW_ONLY
    n_estimators: int = 2000
    max_depth: int = 2
    c: float = 1.0
    epsilon: float = 0.0
    update: str = "real"
    learning_rate: float = 0.2
    class_weight: Any = "balanced_groups"
    threshold: float | str = "auto"
    interaction_cst: Any = None
    monotonic_cst: Any = None
    criterion: str = "gini"
    category_splits: str = "sets"
    max_pairs: int | None = 20
    max_bins: int = 255
    categorical_features: Any = "from_dtype"
    validation_fraction: float = 0.33
    n_iter_no_change: int | None = 100
    keep: float = 0.5
    dial: bool = False
    max_violation: float | None = None
    positive: Any = None
    favourable: Any = None
    sensitive_feature: Any = None
    bands: dict[Any, Any] | None = None
    missing_group: str | None = None
    n_jobs: int | None = None
    device: str = "cpu"
    verbose: int = 0
    random_state: Any = None

    def _fit_rows(self, about: About, data: Data, held: Data | None, sensitive_features: Any) -> None:
        from ._fit.bags import CodeTable
        from ._fit.training import counted_rows
        from ._table.binning import Binner, Bundles, Ranking

        X, names = data.X, data.rows.sensitive_names
        rows = counted_rows(data.rows)
        folds = self._folds(about, rows, X, check_random_state(self.random_state), names, data.unit)
        self._check_parts(about, rows.cell, folds, None if held is None else held.rows.cell, names)
        n_jobs = effective_n_jobs(self.n_jobs)
        with Team(n_jobs) as team:
            sources = read_sources(X)
            categorical = find_categorical(X, sources, self.categorical_features)
            masses = rows.masses.values_or_none
            ranking = None
            if self.category_splits == "sets":
                ranking = Ranking(rows.cell >= len(about.groups), rows.masses.unit * data.unit)
            binner = Binner.fit(sources, rows.positions, masses, self.max_bins, categorical, team, ranking)
            codes = binner.encode(sources, rows.positions, team)
            bundles = Bundles.of(binner, [codes], team)
            table = CodeTable(bundles, bundles.consume(codes, team))
        if about.settings.threshold == "per_group":
            source = self._group_source(about, X, rows, sensitive_features)
            pairs = source.code_pairs(binner, X, rows.positions, rows.cell % len(about.groups))
            about = replace(about, source=source.with_pairs(binner, pairs))

        def train(settings: Settings, class_weight: Any) -> tuple[Any, SelectionData]:
            trained = self._train(about, folds, rows, table, data.unit, settings, class_weight)
            if held is None:
                return trained, held_out(trained, rows, len(about.groups))
            given = held.rows
            weight = np.empty(0) if given.weights is None else given.weights
            margins = [end.effects.predict(binner, held.X, n_jobs)[given.positions] for end in trained.ends]
            return trained, SelectionData(given.cell, weight, len(about.groups), trained.blends(margins))

        self._train_and_choose(about, train, (held or data).unit, binner)

    def _check_parts(self, about: About, cell: Any, folds: list[Any], validation: Any, names: list[str]) -> None:
        """Whether the rates of the notion are defined in every part of the rows; ``validation`` has cells as well."""
        n_groups = len(about.groups)
        parts = [(cell[part], what) for fold in folds for part, what in zip(fold, _PARTS, strict=True)]
        if validation is not None:
            parts.append((validation, "validation data"))
        totals = [
            (where, np.bincount(found, minlength=2 * n_groups).reshape(2, n_groups).T.astype(float))
            for found, where in parts
        ]
        check_groups(totals, about.groups, about.labels.shown, about.settings.notion, names)

    def _train_and_choose(
        self, about: About, train: Callable[[Settings, Any], tuple[Any, SelectionData]], unit: float, binner: Any
    ) -> None:
        """Train, choose, keep both, and warn; ``train`` takes settings and starting weights, and says on which rows to
        choose.

        The bags choose without the limit: on the few rows that one of them holds out, it would mostly act on noise. If
        what is then chosen on all these rows is beyond the limit, the threshold alone could often keep it only by a
        poor model. So there are others to choose from as well: of bags that choose by the limit, and of even weights.
        """
        settings = about.settings
        without = replace(settings, max_violation=None)
        trainings = [train(without, self.class_weight)]
        best, free, asked = 0, None, None
        if settings.max_violation is not None:
            _, free = self._choose_among(trainings, without, unit)
            if free.own.violation > settings.highest_violation:
                others = [(settings, self.class_weight)]
                others += [] if self.class_weight is None else [(without, None), (settings, None)]
                trainings += [train(*how) for how in others]
                best, _ = self._choose_among(trainings, settings, unit)
                if best > 1:
                    _, asked = self._choose_among(trainings[:2], settings, unit)
        self._keep(about, *trainings[best], unit, binner, free, asked)

    def _choose_among(
        self, trainings: list[tuple[Any, SelectionData]], settings: Settings, unit: float
    ) -> tuple[int, Choice]:
        """The best of several models for the same rows: which of them, and the choice."""
        from ._fit.advice import choose_again

        offered = [self._offered(selection, unit) for _, selection in trainings]
        owners = [k for k, each in enumerate(offered) for _ in each.margins()]
        together = replace(offered[0], margins=lambda: chain(*(each.margins() for each in offered)))
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
        self, about: About, folds: list[Any], rows: Any, table: Any, unit: float, settings: Settings, class_weight: Any
    ) -> Any:
        """Train all bags, and average them; with a dial the plain ones and the fair ones."""
        from ._fit.bags import Trained, combine, dial_between, same_cells, train_bags
        from ._fit.loop import starting_factors
        from ._fit.pairs import choose_pairs
        from ._fit.trees import read_orders

        start = read_class_weight(class_weight, about.labels.outcomes)
        shape = self._shape([column.name for column in table.bundles.binner.columns])

        def make_learner(train: Any, selection: Any, other: Any = None) -> Any:
            factors = starting_factors(train.sample.totals, start)
            return self._native_learner(table.bundles, train, selection, factors, unit, other or shape)

        @contextmanager
        def learner_of(other: Any) -> Iterator[Any]:
            with Team(1, self.device) as team, table.samples(rows, folds[0], len(about.groups), team) as samples:
                yield make_learner(samples[0], samples[1], other)

        if self.max_depth > 1 and self.max_pairs is not None:
            shape = choose_pairs(learner_of, shape, settings, self.max_pairs)
        progress = None
        if self.verbose:
            n_trainings = len(folds) * (2 if self.dial else 1)
            n_rows = sum(len(fold.train) for fold in folds) // len(folds)
            progress = self._progress(n_trainings, n_rows)
        how = len(about.groups), make_learner, unit, effective_n_jobs(self.n_jobs), self.device, progress
        bags = train_bags(folds, rows, table, settings, *how)
        ends, dial = [combine(bags, rows, table)], None
        if self.dial:
            plain = train_bags(folds, rows, table, replace(settings, notion=NoNotion()), *how)
            ends = same_cells([combine(plain, rows, table), *ends], rows, table)
            binner = table.bundles.binner
            orders = read_orders(self.monotonic_cst, [column.name for column in binner.columns], binner)
            dial = dial_between(plain, bags, ends, orders, table)
        if progress is not None:
            progress.close(sum(bag.boosted.choice.theta for bag in bags), [bag.boosted.stopped for bag in bags])
        return Trained(bags, ends, dial)

    def _folds(
        self, about: About, rows: Any, X: Any, rng: np.random.RandomState, names: list[str], unit: float
    ) -> list[Any]:
        """Which rows each bag trains on and which it holds out."""
        from ._fit.bags import Fold, read_folds
        from ._fit.samples import none_held_out

        n_bags = self.n_bags
        if isinstance(n_bags, str) and n_bags == "auto":
            masses = rows.masses
            weight = float(masses.values.sum()) * masses.unit if len(masses.values) else len(rows.cell)
            n_bags = MANY_BAGS if weight * unit < FEW_ROWS else USUAL_BAGS
        if isinstance(n_bags, Integral):
            share = float(self.validation_fraction or 0)
            drawn = (stratified_split(rows.cell, share, rng) for _ in range(int(n_bags)))
            folds = [Fold(train.astype(np.intp), held.astype(np.intp)) for train, held in drawn]
            if not len(folds[0].held):
                cut = how_to_cut(about.groups, names)
                raise ValueError(f"{none_held_out(len(rows.cell))}: {cut or HOW_TO_HOLD_OUT}")
            return folds
        if isinstance(self.n_bags, str):  # which has a method split as well
            raise ValueError(
                "n_bags must be a number, a list of pairs of row positions or a splitter of scikit-learn's, got "
                f"{self.n_bags!r}"
            )
        return read_folds(self.n_bags, rows, len(about.groups), X, about.labels.shown)

    def _settings(self) -> Settings:
        settings = super()._settings()
        if settings.notion == StatisticalParity(boost="auto"):
            settings = replace(settings, notion=StatisticalParity(boost="both"))
        return settings

    def _keep(
        self,
        about: About,
        trained: Any,
        selection: SelectionData,
        unit: float,
        binner: Any,
        free: Choice | None,
        asked: Choice | None,
    ) -> None:
        """Choose a threshold for the averaged margins, on a dial for every blend; keep the model and say what is wrong.

        ``free`` is what would be chosen without the limit, ``asked`` what with the starting weights that were asked
        for, if it was not these.
        """
        from ._fit.advice import Fitted, at_cap, choose_again
        from ._fit.loop import Boosted
        from ._fit.training import history

        settings, bags, columns = about.settings, trained.bags, [column.name for column in binner.columns]
        stages = [replace(selection, margins=partial(iter, [margin])) for margin in selection.margins()]
        choices = [choose_again(stage, settings, unit, all_rows=True) for stage in stages]
        points = []
        for stage, choice in zip(stages, choices, strict=True):
            threshold = choice.thresholds[0] if choice.thresholds.ndim > 1 else float(choice.thresholds[0])
            calibrator = Calibrator.fit(next(stage.margins()), stage.cell >= stage.n_groups, stage.weight)
            points.append(Point(threshold, float(choice.own.ber), float(choice.own.violation), calibrator))
        at = 0
        if trained.dial is not None:
            at = FAIR
            if self._offered(selection, unit) is selection:
                at = choose_again(selection, settings, unit, all_rows=True).theta - 1
        boosted = Boosted([], choices[at], "n_estimators")
        messages = Fitted(boosted, about, stages[at], unit, None, free, asked, self.class_weight).messages()
        if settings.n_estimators >= type(self).n_estimators:  # whoever asks for fewer has a reason
            messages += at_cap([bag.boosted for bag in bags], settings)
        about = replace(about, warnings=self._speak(about, messages))
        fair, point = trained.ends[-1], points[0]
        tables = fair.effects, fair.importances, fair.spread
        self._box = GlassBox(about, point.threshold, binner, *tables, point.calibrator)
        if trained.dial is not None:
            dial = replace(trained.dial, points=tuple(points))
            self._box = replace(self._box, dial=dial).at_fairness(dial.weights[at])
        if about.source is not None:
            self._group_thresholds = np.stack([np.asarray(each.threshold) for each in points])
        self.thetas_ = np.array([bag.boosted.choice.theta for bag in bags])
        self._bag_sizes = [len(bag.boosted.rounds) for bag in bags]
        tables_of_rounds = [history(bag.boosted, about, columns, self.max_depth, True) for bag in bags]
        self._history = {}
        for name in tables_of_rounds[0]:
            parts = [table[name] for table in tables_of_rounds]
            self._history[name] = list(chain(*parts)) if isinstance(parts[0], list) else np.concatenate(parts)
        self._selection, self._chosen, self._about = selection, (at + 1, self._box.threshold), about

    def __getattr__(self, name: str) -> Any:
        """Say what there is instead of what only one training has."""
        if name == "set_fairness":
            _has_dial(self)
        if name in OF_ONE_TRAINING:
            raise AttributeError(
                f"this {type(self).__name__} is an average of several trainings, each with rounds and a θ of its own: "
                "frontier() lists its choices, plot.frontier draws them, set_threshold and (fitted with dial=True) "
                "set_fairness take one, and history_ has the rounds of each training"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # The fitted model

    @property
    def _model(self) -> GlassBox:
        return self._box

    def relabel(self, labels: Labels, warnings: list[str]) -> None:
        """Speak of other labels than those that were fitted."""
        super().relabel(labels, warnings)
        self._box = replace(self._box, about=self._about)

    @property
    def threshold_(self) -> Any:
        """The decision threshold; one for each of ``groups_`` with ``threshold="per_group"``."""
        return self._box.threshold

    @property
    def fairness_(self) -> float:
        """Where the model stands between the plain one (0) and the fair one (1)."""
        return self._box.fairness

    @property
    def theta_(self) -> int:
        """How many trees are used, in all."""
        return int(self.thetas_.sum())

    @property
    def n_estimators_(self) -> int:
        """How many trees were trained, in all."""
        return sum(self._bag_sizes)

    def _take_threshold(self, threshold: Any) -> None:
        self._box = self._box.with_threshold(threshold)

    @property
    def _n_stages(self) -> int:
        return 1 if self._box.dial is None else len(self._box.dial.weights)

    def _stages(self, X: Any) -> Iterator[Floats]:
        return (box.margin(X) for box in self._box.blends())

    def _round_names(self) -> Any:
        index = [(b, j) for b, size in enumerate(self._bag_sizes, 1) for j in range(1, size + 1)]
        return pd.MultiIndex.from_tuples(index, names=["bag", "round"])

    @available_if(_has_dial)
    def set_fairness(self, fairness: float) -> Self:
        """Move along the trade-off, without refitting: from the plain model (0) to the fair one (1) and beyond.

        The threshold that was chosen for this blend at fit is set as well, and importances and bands are those of the
        blend. For models fitted with ``dial=True``.

        Parameters
        ----------
        fairness : float
            One of 0.0, 0.1, 0.2, … 2.0. Above 1 the plain model is subtracted from the fair one, so with
            ``monotonic_cst`` only what still rises and falls as it should is there.

        Returns
        -------
        self

        Examples
        --------
        >>> from parityboost import ParityBoostClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = ParityBoostClassifier(
        ...     "equal_opportunity", n_bags=2, n_estimators=20, dial=True, random_state=0
        ... )
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> model.set_fairness(0.5).fairness_
        0.5
        """
        check_is_fitted(self)
        self._box = self._box.at_fairness(fairness)
        return self

    def predict_calibrated(self, X: Any) -> Floats:
        """Probabilities per class, calibrated on rows that were held out: of 100 rows with 0.8, about 80 are positive.

        They rise with the score. :meth:`predict_proba` gives scores that agree with :meth:`predict` instead: 0.5 is
        where the decision changes, which need not be where the classes are equally likely.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            One column per class, in the order of ``classes_``.

        Examples
        --------
        >>> from parityboost import ParityBoostClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = ParityBoostClassifier(
        ...     "equal_opportunity", n_bags=2, n_estimators=20, random_state=0
        ... )
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> bool(
        ...     abs(model.predict_calibrated(adult.data)[:, 1].mean() - adult.target.mean()) < 0.02
        ... )
        True
        """
        X = self._read_new(X)
        return self._box.calibrated(self._box.margin(X, effective_n_jobs(self.n_jobs)))

    def _frontier_table(self, points: pd.DataFrame) -> pd.DataFrame:
        """With the weight of each blend instead of θ."""
        dial = self._box.dial
        weights = np.array([1.0] if dial is None else dial.weights)
        points.insert(0, "fairness", weights[points.pop("theta").to_numpy() - 1])
        return points


def held_out(trained: Any, rows: Any, n_groups: int) -> SelectionData:
    """What the bags say about rows that they held out."""
    held = rows.at(trained.ends[-1].rows)
    weight = held.masses.values.astype(np.float64) * held.masses.unit
    return SelectionData(held.cell, weight, n_groups, trained.blends([end.margins for end in trained.ends]))
