"""The model that we recommend: several trainings, averaged, with the settings that measure best."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._arrays import Floats
from ._base import CONSTRAINTS, Data, FairClassifier
from ._caller import warn_caller, warn_old
from ._choice.frontier import Chosen, Points, SelectionData
from ._choice.promise import (
    HELD_OUT,
    OUT_OF_BAG,
    TEST_SHARE,
    People,
    candidates_with_margins,
    gather,
    passed,
)
from ._choice.wishes import COSTS, LimitNotMet, Settings, Wishes
from ._engine.threads import Team
from ._model.glass_box import About, GlassBox
from ._model.groups import GroupSource
from ._stats.rates import balanced_error_rate
from ._table.grouping import check_groups, how_to_cut
from ._table.reading import Labels, read_class_weight, stratified_split
from ._table.sources import find_categorical, read_sources
from ._table.values import take_rows
from .notions import FairnessNotion, NoNotion, StatisticalParity, get_notion

__all__ = ["ParityBoostClassifier"]

MAX_BAGS = 1000
# Of few rows each training is quick, and its choice noisy.
FEW_ROWS, MANY_BAGS, USUAL_BAGS = 10_000, 8, 4
_PARTS = "the rows that a bag trains on", "the rows that a bag holds out"
HOW_TO_HOLD_OUT = (
    "merge groups, give more rows or splits of your own as n_bags, or use AdaFairClassifier, which can choose on the "
    "rows that it trains on"
)
WISHES = ("maximize", "limit", "min_ratio", "capacity", "max_false_positive_rate", "min_group_share", "confidence")
DEFAULT_METHOD = OUT_OF_BAG  # benchmarks/promise.py
AS_IT_IS: Any = "as it is"  # of a wish that is not named
MOST_DISTORTED = 1e3  # a mistake that costs nothing is still learnt from
OLD_PARAMETERS = {
    "c": "maximize='balanced_accuracy' or 'accuracy', or the costs of the two mistakes",
    "keep": "nothing: half of the balanced accuracy over chance is always kept",
    "max_violation": "limit, the largest of the gaps, where max_violation was their sum",
}
OF_ONE_TRAINING = {
    *("set_theta", "estimators_", "estimator_weights_", "staged_decision_function"),
    *("staged_predict", "staged_predict_proba", "staged_score"),
}


def _has_dial(model: Any) -> bool:
    """Whether the plain model was trained as well, or will be."""
    trained = model.glass_box_.dial is not None if model.__sklearn_is_fitted__() else model.dial
    if not trained:
        raise AttributeError(
            "only a model that was fitted with dial=True has blends of the plain and the fair one: choose(threshold=…) "
            "moves this model, and alternatives() lists the choices"
        )
    return True


@dataclass(eq=False, repr=False)
class ParityBoostClassifier(FairClassifier):
    """The recommended fair classifier: AdaFair's boosting, averaged over several splits of the data.

    Each of ``n_bags`` trainings sees its own part of the rows, and chooses its number of trees and its threshold on the
    rest. Their scores are averaged, and the final threshold is chosen by what they say about rows that they were not
    trained on. The average of sums of step functions is one again, so the model is still a glass box, and it needs no
    sensitive attribute to predict.

    What is chosen is a wish: by default the highest balanced accuracy after the gap between the groups is taken off.
    Say what to ``maximize`` and under which ``limit``, before training or afterwards with :meth:`choose`. No choice
    gives up more than half of the balanced accuracy over chance that there is: else one answer for everybody would be
    best.

    Parameters
    ----------
    notion : str or FairnessNotion, default="disparate_mistreatment"
        What should be equal across groups, as in :class:`AdaFairClassifier`. For ``"statistical_parity"`` the false
        positives of the group that is selected more pay as well, so that the outcome hardly depends on which label is
        called positive; ``StatisticalParity(boost="positives")`` is the paper's. ``"none"`` needs no groups.
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
    epsilon : float, default=0.0
        Tolerance: differences between groups up to this cost nothing.
    update : {"confidence", "discrete", "real"}, default="real"
        How leaves vote and whose weight grows where groups fare worse: with ``"real"`` that of all instances of a class
        and group that pay, else that of the misclassified ones, as in :class:`AdaFairClassifier`.
    learning_rate : float, default=0.3
        What the votes of every tree are multiplied by.
    class_weight : {"auto", "balanced", "balanced_groups"}, dict or None, default="auto"
        The starting weights. ``"auto"`` suits them to what is wished: as they are to ``maximize="accuracy"``, by what
        the mistakes cost if that was given, and else equal for both classes of every group, or if nothing is compared
        or ``groups`` of several attributes are, for both classes.
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
        How many pairs of features may have a table in each training. The strongest are chosen in 50 rounds before (100
        from 100,000 rows on); none are if functions of one feature each do as well on the rows that the first training
        holds out. None lets every pair occur that ``interaction_cst`` allows.
    max_bins : int, default=255
        Largest number of bins of a numeric column, and of codes of a column of categories (254 at most).
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns to split by category.
    validation_fraction : float, default=0.33
        Share of the rows, stratified by class and group, that each training holds out.
    n_iter_no_change : int or None, default=100
        Stop a training after so many rounds without a better choice; None goes on to ``n_estimators``. With ``dial``
        and at least 10,000 rows the plain training decides, and the fair one makes as many rounds.
    maximize : {"balanced_accuracy", "accuracy"}, dict or None, default=None
        What the choice shall make as high as possible: the share of right answers, in the mean over both classes or in
        all; or as low, the costs of the two mistakes, ``{"false_positive": 1, "false_negative": 5}``. None is balanced
        accuracy, from which without a ``limit`` the violation of the notion is taken off.
    limit : float or None, default=None
        The largest gap between any two groups, in each rate that the notion compares, on the rows that are chosen on:
        for ``"disparate_mistreatment"`` the larger of two, as fairlearn's equalized odds difference has it.
    min_ratio : float or None, default=None
        The smallest ratio between two groups of what the notion compares, how often people get a yes: for
        ``"statistical_parity"`` 0.8 is the four-fifths rule. A yes is the ``favourable`` label, or the positive one.
    capacity : float or None, default=None
        The largest share of people who may get a yes. :meth:`select` gives an exact number of places.
    max_false_positive_rate : float or None, default=None
        The largest share of the negatives who may be predicted positive.
    min_group_share : float, default=0.0
        Groups of a smaller share of the rows are not compared by ``limit`` and ``min_ratio``.
    confidence : float or None, default=None
        How sure ``limit`` and ``min_ratio`` are to be kept on people who are not known yet: with 0.95, at most 5 % of
        all samples lead to a model whose limit is broken in the population that they are from. The model then has a
        certificate; if the rows cannot support one, ``fit`` says what they can. See *What we promise, and what not*.
    certify_on : {"auto", "out_of_bag", "held_out"}, default="auto"
        The rows that a promise is made on. ``"out_of_bag"``: those that each training holds out, by a bound that holds
        for all choices at once. ``"held_out"``: rows that take no part in training or choice, those of ``validation``
        or a quarter of X. ``"auto"`` is out of bag, unless there is ``validation``.
    dial : bool, default=True
        Also train the plain model, which knows nothing of the groups: the choice is among blends of the two. False
        takes half the time. Blends keep ``monotonic_cst``, and have importances and bands of their own.
    positive : label or None, default=None
        The label that the model predicts as positive; None takes the larger one, or the later one in the alphabet.
    favourable : label or None, default=None
        The label that is favourable to the person, which reports compare the groups' shares of. None is not stated.
    sensitive_feature : str, int, list or None, default=None
        The column(s) of X that hold the sensitive attribute.
    blind : bool, default=False
        Whether these columns are no features of the model; X may then come without them when it predicts. Positions in
        other parameters count the columns that are left.
    groups : {"crossed", "each", "both"}, default="crossed"
        Which groups of several sensitive columns are compared: all combinations, the values of each column by itself,
        or both.
    bands : dict or None, default=None
        Where to cut numeric sensitive columns.
    missing_group : str or None, default=None
        The group of rows whose sensitive value is missing; ``"ignore"`` for none.
    n_jobs : int or None, default=None
        Number of threads at most, one for each training; a small table is trained faster by one. The model does not
        depend on it.
    device : {"cpu", "cuda"}, default="cpu"
        Where to train and predict: on the processor, or on an NVIDIA graphics card. The model does not depend on it.
    verbose : int, default=0
        Whether to show progress: the training, its round, and the best so far.
    random_state : int, RandomState or None, default=None
        Decides the splits.
    c, keep, max_violation :
        Old names, which warn: ``maximize`` instead of ``c``, ``limit`` (of each gap) instead of ``max_violation`` (of
        their sum, missed with a warning), and nothing instead of ``keep``.

    Attributes
    ----------
    glass_box_ : GlassBox
        The fitted model as one immutable value, see :class:`GlassBox`.
    classes_, positive_, favourable_, groups_, views_, threshold_, warnings_, feature_importances_, n_samples_fit_ :
        As in :class:`AdaFairClassifier`.
    n_features_in_, feature_names_in_ :
        As in :class:`AdaFairClassifier`.
    fairness_ : float
        Where the model stands between the plain one (0) and the fair one (1).
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
        "maximize": [StrOptions({"balanced_accuracy", "accuracy"}), dict, None],
        "limit": [Interval(Real, 0, 1, closed="both"), None],
        "min_ratio": [Interval(Real, 0, 1, closed="right"), None],
        "capacity": [Interval(Real, 0, 1, closed="right"), None],
        "max_false_positive_rate": [Interval(Real, 0, 1, closed="both"), None],
        "min_group_share": [Interval(Real, 0, 1, closed="left")],
        "class_weight": [StrOptions({"auto", "balanced", "balanced_groups"}), dict, None],
        "confidence": [Interval(Real, 0, 1, closed="neither"), None],
        "certify_on": [StrOptions({"auto", OUT_OF_BAG, HELD_OUT})],
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
    epsilon: float = 0.0
    update: str = "real"
    learning_rate: float = 0.3
    class_weight: Any = "auto"
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
    maximize: Any = None
    limit: float | None = None
    min_ratio: float | None = None
    capacity: float | None = None
    max_false_positive_rate: float | None = None
    min_group_share: float = 0.0
    confidence: float | None = None
    certify_on: str = "auto"
    dial: bool = True
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
    c: float = 1.0
    keep: float = 0.5
    max_violation: float | None = None

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        validation: Any = None,
        cluster: Any = None,
    ) -> Self:
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
            Data to choose the final threshold on, instead of rows of X that are held out; with ``confidence`` data to
            test on instead: ``(X, y)``, ``(X, y, sensitive_features)``, ``(X, y, sensitive_features, sample_weight)``
            or ``(X, y, sensitive_features, sample_weight, cluster)``.
        cluster : array-like of shape (n_samples,), optional
            Who each row is one of, if rows belong together, as those of one person or household do. They are trained on
            or held out together, and a promise counts people, not rows.

        Returns
        -------
        self
        """
        clusters: Any = cluster, None
        if isinstance(validation, (tuple, list)) and len(validation) == 5:
            validation, clusters = validation[:4], (cluster, validation[4])
        elif cluster is not None and validation is not None:
            raise ValueError(
                "cluster says which rows of X belong together, and nothing of those of validation: give "
                "validation=(X, y, sensitive_features, sample_weight, cluster)"
            )
        return self._fit(X, y, sensitive_features, sample_weight, validation, clusters)

    def _fit_rows(self, about: About, data: Data, held: Data | None, sensitive_features: Any) -> None:
        from ._fit.bags import CodeTable
        from ._fit.samples import counted_rows
        from ._table.binning import Binner, Bundles, Ranking

        self._check_wishes(about.settings.notion)
        X, names, rng = data.X, data.rows.sensitive_names, check_random_state(self.random_state)
        data, held, test = self._set_aside(data, held, rng)
        rows = counted_rows(data.rows)
        cluster = None if data.cluster is None else data.cluster[rows.positions]
        folds = self._folds(about, rows, X, rng, names, data.unit, cluster)
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
            bundles = Bundles.of(binner, [codes])
            table = CodeTable(bundles, bundles.consume(codes))
        column = None
        if len(about.groups) > 1:
            source = self._group_source(about, X, rows, sensitive_features)
            pairs = source.code_pairs(binner, X, rows.positions, rows.cell % len(about.groups))
            about, column = self._find_groups(about, source.with_pairs(binner, pairs), binner)
        trained = self._train(about, folds, rows, table, data.unit)
        if held is None:
            selection = held_out(trained, rows, len(about.groups))
        else:
            given = held.rows
            weight = np.empty(0)
            if given.weights is not None:  # on a grid, so that sums are exact, and in a file the same
                exact = counted_rows(given).masses
                weight = exact.values.astype(np.float64) * exact.unit
            margins = [end.effects.predict(binner, held.X, n_jobs)[given.positions] for end in trained.ends]
            selection = SelectionData(given.cell, weight, len(about.groups), trained.blends(margins))
        own = None if cluster is None else cluster[trained.ends[-1].rows]
        self._keep(about, trained, selection, (held or data).unit, binner, column, own, len(rows.cell), test)

    def _set_aside(
        self, data: Data, held: Data | None, rng: np.random.RandomState
    ) -> tuple[Data, Data | None, Data | None]:
        """The rows to train on, those to choose on if they are others, and those that a promise is tested on."""
        if self.confidence is None:
            return data, held, None
        if held is not None:
            if self.certify_on == OUT_OF_BAG:
                raise ValueError(
                    "certify_on='out_of_bag' makes its promise on rows that the trainings hold out; with validation=… "
                    "it is 'held_out'"
                )
            return data, None, held
        if (DEFAULT_METHOD if self.certify_on == "auto" else self.certify_on) == OUT_OF_BAG:
            return data, None, None
        from ._fit.bags import draw_folds

        own = None if data.cluster is None else data.cluster[data.rows.positions]
        fold = draw_folds(data.rows.cell, own, TEST_SHARE, 1, rng)[0]
        return data.at(fold.train), None, data.at(fold.held)

    def _find_groups(self, about: About, source: GroupSource, binner: Any) -> tuple[About, GroupSource | None]:
        """Where prediction finds the groups, if each has its own threshold; otherwise the column that tells them.

        What such a column adds to the score can be chosen as well, unless it is told what to rise with.
        """
        from ._fit.trees import read_orders

        if about.settings.threshold == "per_group":
            return replace(about, source=source), None
        orders = read_orders(self.monotonic_cst, [column.name for column in binner.columns], binner)
        is_free = source.codes is not None and (orders is None or not orders[source.columns[0]])
        return about, source if is_free else None

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

    def _train(self, about: About, folds: list[Any], rows: Any, table: Any, unit: float) -> Any:
        """Train all bags, and average them; with a dial the plain ones too, which know nothing of groups.

        What is wished has no part in it: a limit on the few rows that one bag holds out would mostly act on noise.
        """
        from ._fit.bags import Trained, combine, dial_between, same_cells, train_bags
        from ._fit.loop import starting_factors
        from ._fit.pairs import choose_pairs
        from ._fit.trees import read_orders, read_shape

        settings = replace(about.settings, max_violation=None)
        outcomes, views = about.labels.outcomes, settings.notion.views
        start = read_class_weight(self.starting_weights(outcomes, len(views)), outcomes)
        names = [column.name for column in table.bundles.binner.columns]
        shape = read_shape(self.max_depth, self.interaction_cst, names)

        def make_learner(train: Any, selection: Any, other: Any = None, start: Any = start) -> Any:
            factors = starting_factors(train.sample.totals, start, views)
            return self._native_learner(table.bundles, train, selection, factors, unit, other or shape)

        @contextmanager
        def learner_of(other: Any) -> Iterator[Any]:
            with Team(1, self.device) as team, table.samples(rows, folds[0], len(about.groups), team) as samples:
                yield make_learner(samples[0], samples[1], other)

        if self.max_depth > 1 and self.max_pairs is not None:
            shape = choose_pairs(learner_of, shape, settings, self.max_pairs, _n_rows(rows, unit))
        progress = None
        if self.verbose:
            n_trainings = len(folds) * (2 if self._has_plain_end(settings) else 1)
            n_rows = sum(len(fold.train) for fold in folds) // len(folds)
            progress = self._progress(n_trainings, n_rows)
        how = len(about.groups), make_learner, unit, effective_n_jobs(self.n_jobs), self.device, progress
        plain, lengths = [], None
        if self._has_plain_end(settings):
            as_plain = how[0], partial(make_learner, start=None), *how[2:]
            plain = train_bags(folds, rows, table, replace(settings, notion=NoNotion()), *as_plain)
            # The lowest gap of many rounds is mostly chance, and an early one: the fair training goes as far as the
            # plain one on the same rows. Of few rows that is chance as well.
            if settings.notion.gaps and _n_rows(rows, unit) >= FEW_ROWS:
                lengths = [bag.boosted.choice.theta for bag in plain]
        bags = train_bags(folds, rows, table, settings, *how, lengths)
        ends, dial = [combine(bags, rows, table)], None
        if plain:
            ends = same_cells([combine(plain, rows, table), *ends], rows, table)
            binner = table.bundles.binner
            orders = read_orders(self.monotonic_cst, [column.name for column in binner.columns], binner)
            dial = dial_between(plain, bags, ends, orders, table)
        paced = plain if lengths else bags
        if progress is not None:
            progress.close(sum(bag.boosted.choice.theta for bag in bags), [bag.boosted.stopped for bag in paced])
        return Trained(bags, ends, dial, paced)

    def _has_plain_end(self, settings: Settings) -> bool:
        """Whether a plain model is trained as well: it would be the same one without a notion and weights."""
        return self.dial and (bool(settings.notion.gaps) or self.starting_weights() is not None)

    def starting_weights(self, outcomes: Any = (0, 1), n_views: int = 1) -> Any:
        """The starting weights that ``class_weight`` means: a name, a factor for each label, or None.

        Parameters
        ----------
        outcomes : array-like of two labels
            The negative and the positive one.
        n_views : int
            How many views of the groups are compared: no weights make the groups of all of them equal.
        """
        if not (isinstance(self.class_weight, str) and self.class_weight == "auto"):
            return self.class_weight
        aim = self._wishes().maximize
        if isinstance(aim, tuple):
            least = max(aim) / MOST_DISTORTED
            return {label: max(cost, least) for label, cost in zip(list(outcomes), aim, strict=True)}
        if aim == "accuracy":
            return None
        return "balanced_groups" if get_notion(self.notion).gaps and n_views < 2 else "balanced"

    def _folds(
        self,
        about: About,
        rows: Any,
        X: Any,
        rng: np.random.RandomState,
        names: list[str],
        unit: float,
        cluster: Any = None,
    ) -> list[Any]:
        """Which rows each bag trains on and which it holds out; for a promise each row is held out by some."""
        from ._fit.bags import Fold, draw_folds, read_folds
        from ._fit.samples import none_held_out

        n_bags = self.n_bags
        if isinstance(n_bags, str) and n_bags == "auto":
            n_bags = MANY_BAGS if _n_rows(rows, unit) < FEW_ROWS else USUAL_BAGS
        if isinstance(n_bags, Integral):
            share = float(self.validation_fraction or 0)
            if self.confidence is not None or cluster is not None:
                return draw_folds(rows.cell, cluster, share, int(n_bags), rng)
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

    def _wishes(self) -> Wishes:
        """The parameters that say what is wished, read."""
        return Wishes.of(self.get_params(deep=False))

    def _check_wishes(self, notion: FairnessNotion) -> None:
        """Whether the notion has what is limited; and what old names are called now."""
        self._wishes().check(notion)
        for name, instead in OLD_PARAMETERS.items():
            if getattr(self, name) != getattr(type(self), name):
                warn_old(f"{name}={getattr(self, name)!r}", instead)

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
        column: GroupSource | None,
        cluster: Any = None,
        n_rows: int = 0,
        test: Data | None = None,
    ) -> None:
        """List all that the averaged margins can be, choose what is wished, keep the model and say what is wrong."""
        from ._choice.menu import make_menu
        from ._choice.rule import Choice
        from ._choice.thresholds import first_minimum, measure
        from ._fit.advice import Fitted, at_cap
        from ._fit.loop import Boosted, history

        settings, bags, columns = about.settings, trained.bags, [column.name for column in binner.columns]
        weights = (1.0,) if trained.dial is None else trained.dial.weights
        may_shift = column is not None and bool(settings.notion.gaps)
        of_groups = {"per_group": about.source is not None, "may_shift": may_shift}
        menu = make_menu(selection, weights, settings, unit, **of_groups)
        column = column if len(menu.shifts) > 1 else None
        fair, wishes = trained.ends[-1], self._wishes()
        tables = fair.effects, fair.importances, fair.spread
        box = GlassBox(about, 0.0, binner, *tables, None, trained.dial, menu, 0, wishes, column)
        menu = menu.refined(box.best(wishes), selection)
        box = replace(box, menu=menu)
        if wishes.confidence is None:
            place = box.best(wishes)
            chosen = box.at_option(place)
        else:
            people = People(selection.cell, selection.weight, cluster, selection.n_groups)
            chosen = self._promised(box, selection, people, n_rows or len(selection), test)
            assert chosen.place is not None
            place = chosen.place
        stage = int(menu.stage[place])

        def choice_at(place: int) -> Choice:
            counts, of_stage = menu.counts([place]), menu.counts(menu.of_stage(int(menu.stage[place])))
            lowest = first_minimum(balanced_error_rate(of_stage))
            measures = [measure(each, settings, unit) for each in (counts, of_stage[[lowest]])]
            return Choice(1, menu.thresholds[[place]], counts, counts[0], measures[0].at(0), measures[1].at(0))

        def again(changes: dict[str, Any]) -> Choice | None:
            try:
                return choice_at(box.best(replace(wishes, **changes)))
            except LimitNotMet:
                return None

        boosted = Boosted([], choice_at(place), "n_estimators")
        rows = replace(selection, margins=lambda: iter([menu.shifted(stage, selection)]))
        fitted = Fitted(boosted, about, rows, unit, None, again, wishes)
        messages = fitted.messages()
        if settings.n_estimators >= type(self).n_estimators:  # whoever asks for fewer has a reason
            messages += at_cap([bag.boosted for bag in trained.paced], settings)
        about = replace(about, warnings=self._speak(about, messages))
        self._about, self._box = about, replace(chosen, about=about)
        if self.verbose:
            print(f"{type(self).__name__.removesuffix('Classifier')}: {self._box.summary}", file=sys.stderr, flush=True)
        self.thetas_ = np.array([bag.boosted.choice.theta for bag in bags])
        self._bag_sizes = [len(bag.boosted.rounds) for bag in bags]
        tables_of_rounds = [history(bag.boosted, about, columns, self.max_depth, True) for bag in bags]
        self._history = {}
        for name in tables_of_rounds[0]:
            parts = [table[name] for table in tables_of_rounds]
            self._history[name] = list(chain(*parts)) if isinstance(parts[0], list) else np.concatenate(parts)

    def _promised(
        self, box: GlassBox, selection: SelectionData, people: People, n_rows: int, test: Data | None
    ) -> GlassBox:
        """The best model that a promise can be made of, with its certificate."""
        menu, wishes = box.menu, box.wishes
        assert menu is not None
        assert wishes.confidence is not None
        question = box.question(wishes)
        if test is None:
            given = selection, people, len(selection) / n_rows, wishes.confidence
            return replace(box, evidence=gather(menu, question, box.best(wishes), *given)).choose(wishes)
        places = candidates_with_margins(menu, people.effective, question, box.best)
        boxes = [box.at_option(place) for place in places]
        X, rows, n_groups = take_rows(test.X, test.rows.positions), test.rows, len(box.about.groups)
        weight = np.empty(0) if rows.weights is None else rows.weights
        own = None if test.cluster is None else test.cluster[rows.positions]
        tested = SelectionData(rows.cell, weight, n_groups, lambda: iter(()))
        group, counts = rows.cell % n_groups, []
        for candidate in boxes:
            margin = candidate.margin(X, effective_n_jobs(self.n_jobs), self.device)
            counts.append(tested.counts(margin > np.broadcast_to(candidate.threshold, n_groups)[group]))
        people = People(rows.cell, weight, own, n_groups)
        share = len(rows.cell) / (n_rows + len(rows.cell)) if test.is_part else 1.0
        k, bounds = passed(question, np.array(counts), people, wishes.confidence, share)
        of_rows = people.table().astype(np.int64), people.effective
        return boxes[k].certified(HELD_OUT, question, counts[k], bounds, *of_rows)

    def __getattr__(self, name: str) -> Any:
        """Say what there is instead of what only one training has."""
        if name == "set_fairness":
            _has_dial(self)
        if name in OF_ONE_TRAINING:
            raise AttributeError(
                f"this {type(self).__name__} is an average of several trainings, each with rounds and a θ of its own: "
                "alternatives() lists its choices, plot.frontier draws them, choose(…) takes one, and history_ has the "
                "rounds of each training"
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
        if self._box.certificate is not None:
            self._box = replace(self._box, certificate=replace(self._box.certificate, model=self._box.fingerprint))

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
        """An old name: ``choose(fairness=…)``, or better what is wished, in a copy."""
        check_is_fitted(self)
        warn_old("set_fairness", "choose(limit=…), or choose(fairness=…) for a blend by its number")
        self._box = self._box.at_fairness(fairness)
        return self

    def set_threshold(self, threshold: Any) -> Self:
        """An old name: ``choose(threshold=…)``, which returns a copy."""
        warn_old("set_threshold", "choose(threshold=…), which returns a copy")
        return super().set_threshold(threshold)

    # Choosing again

    def choose(
        self,
        *,
        maximize: Any = AS_IT_IS,
        limit: Any = AS_IT_IS,
        min_ratio: Any = AS_IT_IS,
        capacity: Any = AS_IT_IS,
        max_false_positive_rate: Any = AS_IT_IS,
        min_group_share: Any = AS_IT_IS,
        confidence: Any = AS_IT_IS,
        fairness: float | None = None,
        threshold: Any = None,
    ) -> Self:
        """The model for other wishes, without training again: a copy, which this one does not change.

        Of everything that the model can be, which was counted on rows that were held out, the best is taken. It works
        for a model that was loaded, too. :meth:`alternatives` lists what there is to choose from.

        Parameters
        ----------
        maximize, limit, min_ratio, capacity, max_false_positive_rate, min_group_share, confidence : optional
            As the parameters of these names. A wish that is not named stays as it is; None removes it. A promise that
            was made on out-of-bag rows is made again of what is chosen now: all such promises hold together, however
            often one chooses. One that was tested on rows that took no part is dropped with a warning.
        fairness : float, optional
            Instead of wishes a blend by its number: 0.0 is the plain model, 1.0 the fair one, and up to 2.0 the plain
            one is taken off. Its threshold is the best for it, unless it is given as well.
        threshold : float, mapping or array-like, optional
            Instead of wishes a threshold on the margin; a mapping from every group to its own, or an array of them in
            the order of ``groups_``, if the model was fitted with ``threshold="per_group"``.

        Returns
        -------
        ParityBoostClassifier
            With its parameters as wished, so that a clone of it is trained for the same.

        Raises
        ------
        LimitNotMet
            If nothing keeps what is wished; it says what is possible.

        Examples
        --------
        >>> from parityboost import ParityBoostClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = ParityBoostClassifier(
        ...     "equal_opportunity", n_bags=2, n_estimators=20, random_state=0
        ... )
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> accurate = model.choose(maximize="accuracy", limit=0.05)
        >>> accurate.score(adult.data, adult.target) > model.score(adult.data, adult.target)
        True
        """
        check_is_fitted(self)
        named = {name: value for name, value in locals().items() if name in WISHES and value is not AS_IT_IS}
        if fairness is not None or threshold is not None:
            if named:
                raise ValueError(f"choose takes wishes ({', '.join(named)}), or fairness and threshold, not both")
            return self._at_point(fairness, threshold)
        self._has_menu("choose")
        given = wishes_as_parameters(self._box.wishes) | named
        if given["min_group_share"] is None:
            given["min_group_share"] = 0.0
        wishes = Wishes.of(given)
        wishes.check(self._about.settings.notion)
        if wishes.confidence is not None and "confidence" not in named and self._box.evidence is None:
            warn_caller(
                "the certificate is of the choice that was tested on rows that took no part; they tell nothing of "
                "another choice made afterwards, so this one has no certificate. Fit again with these wishes for one, "
                "or with certify_on='out_of_bag', which promises any choice"
            )
            given["confidence"] = None
            wishes = replace(wishes, confidence=None)
        found = copy(self)
        found.set_params(**{name: value for name, value in given.items() if name in WISHES})
        found._box = self._box.choose(wishes)
        return found

    def _at_point(self, fairness: float | None, threshold: Any) -> Self:
        """A copy at a blend and a threshold that were given, which no wish is to be read from."""
        found = copy(self)
        found.set_params(**{name: 0.0 if name == "min_group_share" else None for name in WISHES})
        box = replace(self._box, wishes=Wishes())
        if fairness is not None:
            _has_dial(self)
            box = box.at_fairness(fairness)
        if threshold is not None:
            box = box.with_threshold(self._read_threshold(threshold))
        found._box = box
        return found

    def select(self, X: Any, n: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Labels for a batch of people with an exact number of places: the ``n`` with the best scores get a yes.

        A yes is the favourable label, or the positive one if none was stated. Of people with the same score at the last
        places, those who come first in X get one, and a warning says how many these are.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            The people.
        n : int
            The number of places, at most that of the people.
        sensitive_features : array-like, optional
            Their groups, if each group has its own threshold and they are no columns of X.

        Returns
        -------
        ndarray of shape (n_samples,)
            Their labels.

        Examples
        --------
        >>> from parityboost import ParityBoostClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = ParityBoostClassifier(
        ...     "equal_opportunity", n_bags=2, n_estimators=20, random_state=0
        ... )
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> int((model.select(adult.data[:1000], n=201) == model.positive_).sum())
        201
        """
        decision = self.decision_function(X, sensitive_features=sensitive_features)
        if isinstance(n, (bool, np.bool_)) or not isinstance(n, (int, np.integer)) or not 0 <= n <= len(decision):
            raise ValueError(f"n must be a whole number from 0 to {len(decision)}, the number of people, got {n!r}")
        labels = self._about.labels
        score = labels.signed(decision) * (-1 if labels.favours_negative else 1)
        n, order = int(n), np.argsort(-score, kind="stable")
        if 0 < n < len(order) and score[order[n - 1]] == score[order[n]]:
            same = score == score[order[n]]
            places = int(same[order[:n]].sum())
            warn_caller(
                f"{int(same.sum())} people have the same score, and there are {places} places left for them: those who "
                "come first in X get them. Order X by what should decide between equals, or draw lots"
            )
        is_no = np.ones(len(order), dtype=np.intp)
        is_no[order[:n]] = 0
        yes, no = labels.outcomes if labels.favours_negative else labels.outcomes[::-1]
        return np.array([yes, no], dtype=labels.outcomes.dtype)[is_no]

    def alternatives(self, *, confidence: float = 0.95) -> pd.DataFrame:
        """The record of alternatives: what else the model could be, and what was taken for which wish.

        The choice that was taken, the default, plain boosting with the threshold that makes it most accurate, and for
        each limit from 0.01 to 0.2 the best by balanced accuracy and by accuracy, all on the rows that were held out.
        ``choose(maximize=row.maximize, limit=row.limit)`` takes one.

        Parameters
        ----------
        confidence : float, default=0.95
            Level of the intervals.

        Returns
        -------
        DataFrame
            What was taken first, then by the largest gap: ``what`` it is, ``maximize`` and ``limit`` that it is the
            best for, ``share_of_yes``, ``accuracy``, ``balanced_accuracy``, the ``largest_gap`` that the notion
            compares and the ``lowest_ratio`` between groups, each with its interval.

        Examples
        --------
        >>> from parityboost import ParityBoostClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = ParityBoostClassifier(
        ...     "equal_opportunity", n_bags=2, n_estimators=20, random_state=0
        ... )
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> table = model.alternatives()
        >>> table["what"].tolist()[0]
        'taken, default'
        """
        check_is_fitted(self)
        self._has_menu("alternatives")
        table = pd.DataFrame(self._box.alternatives(confidence))
        for name in ("maximize", "limit"):  # None instead of NaN, which choose takes as no such wish
            table[name] = table[name].astype(object).where(table[name].notna(), None)
        return table

    def _has_menu(self, what: str) -> None:
        if self._box.menu is None:
            raise ValueError(
                f"{what} needs what was counted at fit, and this model was loaded from a file of a version that did "
                "not keep it: fit again"
            )

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Probabilities per class, calibrated on rows that were held out: of 100 rows with 0.8, about 80 are positive.

        They rise with the score. The decision, :meth:`predict`, is where :meth:`decision_function` is above 0, which
        is at a probability of one half only by chance: what was wished moved it.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            The rows.
        sensitive_features : array-like, optional
            Not needed: probabilities depend on no threshold.

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
        >>> probability = model.predict_proba(adult.data)[:, 1]
        >>> bool(abs(probability.mean() - adult.target.mean()) < 0.02)
        True
        """
        given = self._read_new(X), effective_n_jobs(self.n_jobs), self.device
        return self._box.calibrated(self._box.margin(*given))

    def predict_log_proba(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Logarithms of :meth:`predict_proba`, finite also where a probability is 0."""
        found: Floats = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        return found

    def predict_calibrated(self, X: Any) -> Floats:
        """An old name of :meth:`predict_proba`."""
        warn_old("predict_calibrated", "predict_proba, which gives calibrated probabilities now")
        return self.predict_proba(X)

    @property
    def _chosen(self) -> Chosen:
        return self._box.blend + 1, self._box.threshold

    @property
    def _group_thresholds(self) -> Floats | None:
        """Of each blend the best thresholds per group, if there are any."""
        return self._box.group_thresholds

    def _own_frontier(self) -> Points:
        self._has_menu("frontier without data")
        return self._box.frontier()

    def _frontier_table(self, points: pd.DataFrame) -> pd.DataFrame:
        """With the weight of each blend instead of θ."""
        dial = self._box.dial
        weights = np.array([1.0] if dial is None else dial.weights)
        points.insert(0, "fairness", weights[points.pop("theta").to_numpy() - 1])
        return points


def _n_rows(rows: Any, unit: float) -> float:
    """How many people the rows stand for, if a weight of one stands for ``unit`` of them."""
    masses = rows.masses
    weight: float = float(masses.values.sum()) * masses.unit if len(masses.values) else len(rows.cell)
    return weight * unit


def wishes_as_parameters(wishes: Wishes) -> dict[str, Any]:
    """Wishes as the estimator's parameters say them."""
    given = dict(vars(wishes))
    if isinstance(wishes.maximize, tuple):
        given["maximize"] = dict(zip(COSTS, wishes.maximize, strict=True))
    return given


def held_out(trained: Any, rows: Any, n_groups: int) -> SelectionData:
    """What the bags say about rows that they held out."""
    held = rows.at(trained.ends[-1].rows)
    weight = held.masses.values.astype(np.float64) * held.masses.unit
    return SelectionData(held.cell, weight, n_groups, trained.blends([end.margins for end in trained.ends]))
