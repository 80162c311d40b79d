"""The fitted model as one immutable value: whatever is predicted, explained, drawn or saved is read off it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from .._arrays import Floats
from .._choice.settings import Settings
from .._table.binning import Binner, Column
from .._table.grouping import AS_GIVEN, Grouping
from .._table.reading import Labels
from .._table.sources import read_table
from .calibration import Calibrator
from .dial import Dial
from .groups import GroupSource
from .tables import Effects, plain_state


class FitWarning(UserWarning):
    """The model that was fitted may be of no use; the message names the culprit and what helps.

    Examples
    --------
    >>> import warnings
    >>> from parityboost import FitWarning
    >>> warnings.simplefilter(
    ...     "error", FitWarning
    ... )  # an exception instead of a model that may be of no use
    >>> warnings.simplefilter("default", FitWarning)
    """


@dataclass(frozen=True)
class About:
    """What a fitted model knows besides its scores: labels, groups, columns, and what ``fit`` was asked for."""

    labels: Labels
    groups: NDArray[Any]
    n_features: int
    names: NDArray[Any] | None  # of the columns of X, if they had names
    settings: Settings
    sensitive_feature: Any = None
    grouping: Grouping = AS_GIVEN
    source: GroupSource | None = None  # where the group of a row is found, if each group has its own threshold
    n_rows: int | None = None  # that `fit` was given; files of 0.1 do not say
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class FittedModel:
    """What predicts: margins, and the threshold above which they are for the positive label."""

    about: About
    threshold: Any  # one, or an array with one per group

    def margin(self, X: Any, n_threads: int = 1, device: str = "cpu") -> Floats:
        """What the learners say about each row of a table that was read."""
        raise NotImplementedError

    def score(self, X: Any, sensitive_features: Any = None, n_threads: int = 1, device: str = "cpu") -> Floats:
        """The margin minus the threshold: above 0 for the positive label, whichever of the classes it is."""
        margin = self.margin(X, n_threads, device)
        margin -= self.thresholds(X, sensitive_features)
        return margin

    def thresholds(self, X: Any, sensitive_features: Any = None) -> Any:
        """The threshold of each row, or the one for all."""
        source = self.about.source
        if source is None:
            return self.threshold
        return source.by_row(X, sensitive_features, self.threshold, getattr(self, "binner", None))

    def with_threshold(self, threshold: Any) -> Self:
        """The same model with another threshold, or one per group."""
        return replace(self, threshold=threshold)


@dataclass(frozen=True)
class Committee(FittedModel):
    """Classifiers of scikit-learn's that vote with their weights α: what ``estimator=`` leaves. No glass box."""

    learners: list[Any]
    alphas: Floats

    def margin(self, X: Any, n_threads: int = 1, device: str = "cpu") -> Floats:
        margin, positive = np.zeros(len(X)), self.about.labels.outcomes[1]
        for learner, alpha in zip(self.learners, self.alphas, strict=True):
            margin += np.where(learner.predict(X) == positive, alpha, -alpha)
        return margin

    @property
    def importances(self) -> Floats:
        """The learners' own, weighted."""
        if not all(hasattr(learner, "feature_importances_") for learner in self.learners):
            name = type(self.learners[0]).__name__
            raise AttributeError(f"feature_importances_ needs base estimators that have it; {name} has none")
        weighted = [a * learner.feature_importances_ for learner, a in zip(self.learners, self.alphas, strict=True)]
        total: Floats = np.sum(weighted, axis=0) / self.alphas.sum()
        return total


@dataclass(frozen=True)
class GlassBox(FittedModel):
    """A fitted model as one immutable value: tables that add up to a score, and a threshold.

    :attr:`~parityboost.ParityBoostClassifier.glass_box_` is one. Moving a model along its dial, its rounds or its
    thresholds makes another glass box, so nothing in it can be out of date. It predicts without the estimator.

    Attributes
    ----------
    about : About
        The labels (``classes``, ``positive``, ``favourable``), the ``groups``, the names of the columns, what ``fit``
        was asked for (``settings``) and what it warned of.
    threshold : float or ndarray of shape (n_groups,)
        Scores are margins minus this; positive scores are for the positive label.
    binner : Binner
        Every column with its bins or categories.
    effects : Effects
        ``tables[feature, code]``, and a table for each pair of features. Code 0 is a missing value, the next are the
        bins of a column, and after the last of its categories comes the one for all others.
    importances : ndarray of shape (n_features,)
        Each feature's share.
    spread : ndarray of shape (n_features, 256) or None
        Of an average of several trainings: how far these differ in what a feature does on its own.
    calibrator : Calibrator or None
        From margins to probabilities, learnt from rows that were held out.
    dial : Dial or None
        The plain and the fair model, if both were trained, with what was chosen for each blend of them.
    fairness : float
        Where on the dial this one stands: 0 is the plain model, 1 the fair one.

    Examples
    --------
    >>> from parityboost import ParityBoostClassifier
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> model = ParityBoostClassifier(
    ...     "equal_opportunity", n_bags=2, n_estimators=20, random_state=0
    ... )
    >>> box = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive).glass_box_
    >>> bool((box.predict(adult.data) == model.predict(adult.data)).all())
    True
    >>> strict = box.with_threshold(box.threshold + 1)
    >>> bool(strict.predict(adult.data).sum() < box.predict(adult.data).sum())
    True
    """

    binner: Binner
    effects: Effects
    importances: Floats
    spread: Floats | None = None
    calibrator: Calibrator | None = None
    dial: Dial | None = None
    fairness: float = 1.0

    def __getstate__(self) -> dict[str, Any]:
        return plain_state(self)

    @property
    def columns(self) -> tuple[Column, ...]:
        """What was learnt about each column of X."""
        return self.binner.columns

    def margin(self, X: Any, n_threads: int = 1, device: str = "cpu") -> Floats:
        """The sum of the tables' scores for each row of a table that was read."""
        return self.effects.predict(self.binner, X, n_threads, device)

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """The score of each row; above 0 it is for ``classes[1]``."""
        return self.about.labels.signed(self.score(self.read(X), sensitive_features))

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Class labels."""
        return self.about.labels.decided(self.decision_function(X, sensitive_features=sensitive_features))

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Scores between 0 and 1 per class that agree with :meth:`predict`."""
        return probabilities(self.decision_function(X, sensitive_features=sensitive_features))

    def read(self, X: Any) -> Any:
        """X as a table of the columns that the model knows."""
        table, names = read_table(X), self.about.names
        if table.shape[1] != self.about.n_features:
            raise ValueError(f"X has {table.shape[1]} columns, and the model knows {self.about.n_features}")
        if names is not None and hasattr(table, "columns"):
            for known, given in zip(names.tolist(), table.columns, strict=True):
                if known != given:
                    raise ValueError(f"X has the column {given!r} where the model knows {known!r}")
        return table

    def calibrated(self, margin: Floats) -> Floats:
        """Probabilities per class, in the order of ``classes``, of some margins."""
        assert self.calibrator is not None
        positive = self.calibrator.at(margin)
        shares = [1.0 - positive, positive]
        return np.column_stack(shares[::-1] if self.about.labels.positive_is_first else shares)

    def at_fairness(self, fairness: float) -> GlassBox:
        """Another blend of the plain and the fair model, with the threshold that was chosen for it."""
        dial = self.dial
        assert dial is not None
        at = dial.place(fairness, self.binner)
        w, point = dial.weights[at], dial.points[at]
        return replace(
            self,
            effects=dial.effects(w),
            spread=dial.spread(w),
            importances=dial.importances(w),
            threshold=point.threshold,
            calibrator=point.calibrator,
            fairness=w,
        )

    def blends(self) -> list[GlassBox]:
        """Every blend that there is; without a dial the only model."""
        return [self] if self.dial is None else [self.at_fairness(w) for w in self.dial.weights]

    def used_features(self) -> set[int]:
        """The features that any blend depends on."""
        ends = [self.effects] if self.dial is None else [self.dial.plain, self.dial.fair]
        spreads = [self.spread] if self.dial is None else list(self.dial.spreads)
        apart = {f for spread in spreads if spread is not None for f in np.flatnonzero(spread.any(axis=1)).tolist()}
        return apart.union(*(end.used_features() for end in ends))

    def feature_effects(self, pure: bool = True) -> Effects:
        """The tables; thresholds per group are in them if a feature tells the groups.

        If they are to be pure, what a feature does on its own is in its own table; otherwise they are as the trees'
        votes add up, which is less work.
        """
        effects, source = self.effects.pure if pure else self.effects, self.about.source
        if source is None or source.codes is None:
            return effects
        tables = effects.tables.copy()
        tables[source.columns[0]] -= source.by_code(self.threshold)
        return replace(effects, tables=tables)

    def score_effects(self, pure: bool = True) -> tuple[Effects, float]:
        """The whole model: tables, and a constant, which add up to the score for the positive label."""
        source = self.about.source
        if source is None:
            return self.feature_effects(pure), -self.threshold
        if source.codes is None:
            raise ValueError(
                "the thresholds per group are not a step function of one feature, because the groups are not a single "
                "column of X with a bin for each: name such a column with the parameter sensitive_feature"
            )
        return self.feature_effects(pure), 0.0


def probabilities(decision: Floats) -> Floats:
    """What boosting with exponential loss takes as the share of each class."""
    positive = expit(2.0 * decision)
    return np.column_stack([1.0 - positive, positive])


def log_probabilities(decision: Floats) -> Floats:
    """Their logarithms, finite also where a share rounds to 0."""
    return log_expit(np.column_stack([-2.0 * decision, 2.0 * decision]))  # type: ignore[no-any-return]
