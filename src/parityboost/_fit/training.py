"""The steps of `fit` once its input is read: the split, the learner, the loop, and what is kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from .._arrays import Floats
from .._caller import warn_caller
from .._choice.frontier import Chosen, SelectionData
from .._choice.settings import Settings
from .._model.groups import GroupSource, sensitive_positions
from .._model.warning import FitWarning
from .._table.inputs import check_groups, group_names, shown
from .._table.reading import ReadingMixin
from .._table.weights import read_class_weight
from ..notions import FairnessNotion
from .constraints import read_orders, read_partners
from .progress import Progress

if TYPE_CHECKING:
    from .._table.bundles import Bundles
    from .loop import Boosted
    from .preparation import CodedTables, Part, Split
    from .samples import CodedSample, Sample


class TrainingMixin(ReadingMixin):
    """The steps of training; a mixin of the classifier. What needs numba is imported when it is called."""

    n_estimators: int
    update: str
    learning_rate: float = 1.0
    class_weight: Any
    estimator: Any
    criterion: str
    max_depth: int
    interaction_cst: Any
    monotonic_cst: Any
    max_bins: int
    categorical_features: Any
    validation_fraction: float | None
    sensitive_feature: Any
    verbose: int
    _group_source: GroupSource | None
    _selection: SelectionData | None
    _chosen: Chosen | None
    _group_thresholds: Floats | None

    def _split(self, X: Any, rows: Part, validation: Any, rng: np.random.RandomState) -> Split:
        """Which rows to train on, and which to choose θ on: those given, some of the training rows, or all of these."""
        from .preparation import Split, hold_out  # numba is needed only now

        if validation is None:
            return hold_out(X, rows, self.validation_fraction, rng)
        X_selection, positions, cell, weights = self._read_validation(validation)
        return Split(X, rows, X_selection, self._counted_rows(positions, cell, weights).on_host())

    def _counted_rows(self, positions: NDArray[Any], cell: NDArray[Any], weights: Floats | None) -> Part:
        from .preparation import Part
        from .samples import to_masses

        return Part(positions, cell, to_masses(weights))

    def _check_samples(self, train: Sample, selection: Sample, notion: FairnessNotion) -> None:
        self._check_totals(train.totals, None if selection is train else selection.totals, notion)

    def _check_totals(self, train: Floats, selection: Floats | None, notion: FairnessNotion) -> None:
        """Whether the rates of the notion are defined; of other rows to choose θ on as well."""
        labels = [shown(label) for label in self._outcomes]
        parts = [("training data", train), *([] if selection is None else [("validation data", selection)])]
        check_groups(parts, self.groups_, labels, notion, self._sensitive_names)

    def _check_settings(self, settings: Settings, has_validation: bool) -> None:
        if settings.update == "real" and settings.learner_weight == "cost":
            raise ValueError(
                'learner_weight="cost" weighs votes of -1 and 1, and those of update="real" are their own weights: use '
                'learner_weight="error" or another update'
            )
        if settings.costs_from == "validation" and not has_validation:
            raise ValueError(
                'costs_from="validation" needs a validation set: pass validation=… to fit, or set '
                f"validation_fraction to a share between 0 and 1, got {self.validation_fraction!r}"
            )

    def _find_group_source(self, X: Any, rows: Part, split: Split, sensitive_features: Any) -> GroupSource:
        """Where prediction will find the group of a row."""
        n_groups = len(self.groups_)
        columns = sensitive_positions(X, sensitive_features, self.sensitive_feature)
        shares = np.bincount(rows.cell % n_groups, weights=rows.masses.values_or_none, minlength=n_groups)
        source = GroupSource(self.groups_, shares / shares.sum(), columns, grouping=self._grouping)
        if split.selection is not None:
            source = source.agreeing_with(split.X_selection, split.selection.positions, split.selection.cell % n_groups)
        return source

    def _learner(self, rows: Part, split: Split, train: Sample, selection: Sample, rng: np.random.RandomState) -> Any:
        """The weak learner: the native one on columns turned into codes, or any classifier on tables as they are."""
        from .estimator import EstimatorLearner
        from .loop import starting_factors
        from .preparation import code_tables

        start = starting_factors(train.totals, read_class_weight(self.class_weight, self._outcomes))
        if self.estimator is not None:
            self._refuse_tree_options()
            if not has_fit_parameter(self.estimator, "sample_weight"):
                raise ValueError(f"estimator {type(self.estimator).__name__} does not take sample_weight in fit")
            chosen = self.categorical_features
            if chosen is not None and not isinstance(chosen, str) and len(chosen):
                raise ValueError(
                    f"categorical_features is for the native stump, and {type(self.estimator).__name__} would take "
                    f"these columns as they are: encode them before, or leave it out, got {chosen!r}"
                )
            return EstimatorLearner(
                self.estimator, self._outcomes, split.X, train, split.X_selection, selection, start, rng
            )
        coded = code_tables(split, train, selection, self.max_bins, self.categorical_features)
        if self._group_source is not None:
            group = rows.cell % len(self.groups_)
            self._group_source = self._group_source.with_codes(coded.bundles.binner, split.X, rows.positions, group)
        return self._stump_learner(coded, start, rng)

    def _refuse_tree_options(self) -> None:
        """An estimator of the user's own has its own parameters."""
        for name, default in (("max_depth", 1), ("interaction_cst", None), ("monotonic_cst", None)):
            value = getattr(self, name)
            if value is not default and value != default:
                raise ValueError(
                    f"{name}={value!r} is for the native trees: with estimator={type(self.estimator).__name__} set it "
                    "there"
                )
        if self.update == "real":
            raise ValueError(
                f'update="real" needs the leaves of the native trees: with estimator={type(self.estimator).__name__} '
                'use update="discrete" or "confidence"'
            )

    def _stump_learner(self, coded: CodedTables, start: Floats, rng: np.random.RandomState) -> Any:
        """The native weak learner; SMOTEBoost has one of its own."""
        return self._native_learner(coded.bundles, coded.train, coded.selection, start)

    def _native_learner(self, bundles: Bundles, train: CodedSample, selection: CodedSample, start: Floats) -> Any:
        """Stumps or trees of depth two."""
        from .trees import Growing, TreeLearner

        names = [column.name for column in bundles.binner.columns]
        orders = read_orders(self.monotonic_cst, names, bundles.binner)
        partners = read_partners(self.interaction_cst, names)
        rate = float(self.learning_rate) if self.update == "real" else None
        growing = Growing(self.max_depth, self.criterion, orders, partners, rate)
        return TreeLearner(bundles, train, selection, start, growing)

    def _boost(self, learner: Any, settings: Settings, unit: float) -> Boosted:
        from . import loop

        progress = self._progress(learner) if self.verbose else None
        boosted = loop.boost(learner, settings, progress, unit)
        if progress is not None:
            progress.close(boosted.choice.theta, boosted.stopped)
        return boosted

    def _progress(self, learner: Any) -> Progress:
        return self._bar(self.n_estimators, 0)

    def _bar(self, n_rounds: int, n_rows: int) -> Progress:
        return Progress(type(self).__name__, n_rounds)

    def _keep(self, boosted: Boosted, learner: Any, settings: Settings, columns: list[str] | None) -> None:
        """What remains of training."""
        from .history import history

        self._fitted = settings
        self._ensemble = learner.ensemble([r.model for r in boosted.rounds], boosted.alphas)
        self.theta_ = boosted.choice.theta
        thresholds = boosted.choice.thresholds
        self.threshold_ = thresholds[self.theta_ - 1] if thresholds.ndim > 1 else float(thresholds[self.theta_ - 1])
        if self._group_source is not None:
            self._group_thresholds = thresholds
        if settings.choose_theta:
            self._selection = self._selection_data(learner)
            self._chosen = self.theta_, self.threshold_
        self.n_estimators_ = len(boosted.rounds)
        self._history = history(
            boosted,
            settings,
            group_names(self.groups_),
            [shown(label) for label in self._outcomes],
            columns,
            learner.selection is not learner.train,
        )

    def _selection_data(self, learner: Any) -> SelectionData:
        """The rows that θ was chosen on."""
        selection, n_cells = learner.selection, 2 * len(self.groups_)
        cell = np.repeat(np.arange(n_cells, dtype=np.min_scalar_type(n_cells)), selection.sizes)
        margins = learner.selection_margins(self._ensemble)
        return SelectionData(cell, selection.sample_weight, len(self.groups_), margins)

    def _speak(self, boosted: Boosted, settings: Settings, unit: float, columns: list[str] | None) -> None:
        """Warn of a model that may be of no use, and keep the words."""
        from .advice import Fitted

        self.warnings_: list[str] = []
        if self._selection is not None:
            names, labels = group_names(self.groups_), [shown(label) for label in self._outcomes]
            self.warnings_ = Fitted(boosted, settings, self._selection, unit, names, labels, columns).messages()
        for message in self.warnings_:
            warn_caller(message, FitWarning)
        self.warnings_ += self._said_positive()

    def _said_positive(self) -> list[str]:
        """Which of two texts is positive, if only the alphabet says so: kept, and shown by ``verbose``.

        No warning of Python's. Taking the last label is what scikit-learn's classifiers do, so most fits would warn.
        """
        told = self._say_positive()
        if self.verbose:
            print(*told, sep="\n", end="\n" if told else "", file=sys.stderr, flush=True)
        return told
