"""The fitted model as one immutable value: whatever is predicted, explained, drawn or saved is read off it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from .._arrays import Floats, on_grid
from .._choice.alternatives import list_alternatives
from .._choice.frontier import Points, chosen_point
from .._choice.menu import Menu
from .._choice.promise import OUT_OF_BAG, Bounds, Certificate, Evidence, Question, best_promised
from .._choice.wishes import Settings, Wishes
from .._stats.rates import accuracy, balanced_error_rate
from .._table.binning import Binner, Column, NumericColumn
from .._table.grouping import (
    AS_GIVEN,
    LEAST_CROSSED,
    Grouping,
    first_few,
    group_name,
    group_names,
    leave_out,
    viewed,
    views_of,
)
from .._table.reading import Labels
from .._table.sources import read_table
from ..notions import Viewed
from .calibration import Calibrator, calibrator_of
from .dial import Dial, blend
from .groups import GroupSource
from .tables import Effects, plain_state

NO_WISHES = Wishes()


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
    blind: bool = False  # whether the sensitive columns of X are no features

    def unseen(self, table: Any) -> Any:
        """A table without the sensitive columns, with which it may come, if the model is blind to them."""
        return leave_out(table, self.sensitive_feature, self.n_features) if self.blind else table

    @property
    def chosen_for(self) -> Wishes | None:
        """What one training chose its round and its threshold for; None if it chose neither."""
        settings = self.settings
        is_given = not settings.choose_theta and not isinstance(settings.threshold, str)
        return None if is_given else Wishes(max_violation=settings.max_violation)

    def notes(self, stated: Any) -> list[str]:
        """What was decided where nobody said so: of labels that are text, if the positive one was not ``stated``, the
        alphabet decides; and crossed groups that are too small are not compared beside each attribute.
        """
        negative, positive = self.labels.outcomes.tolist()
        found = []
        if stated is None and isinstance(positive, str):
            found.append(
                f"{positive!r} is taken as the positive label, because it comes after {negative!r} in the alphabet: "
                f"positive={positive!r} or positive={negative!r} says which one is meant"
            )
        crossed = next((view for view in self.settings.notion.views if len(view.positions) > 1), None)
        if self.grouping.groups == "both" and crossed is None:
            found.append(
                f"no two crossed groups have {LEAST_CROSSED} rows of either class: each attribute is compared by itself"
            )
        elif self.grouping.groups == "both" and crossed is not None and -1 in crossed.group_of:
            small = [group for group, of in zip(self.groups, crossed.group_of, strict=True) if of < 0]
            found.append(
                f"{crossed.name!r} compares {first_few(group_names(crossed.groups))}; left out are "
                f"{first_few(group_names(small))}, which are unknown or have fewer than {LEAST_CROSSED} rows of a class"
            )
        return found

    def with_groups(self, groups: NDArray[Any]) -> About:
        """With others behind the groups: combinations of known values, of which views are compared."""
        notion, n = self.settings.notion, len(self.groups)
        if len(groups) == n:
            return self
        if self.settings.threshold == "per_group":
            raise ValueError(
                f"group {group_name(groups[n])!r} does not occur in the training data: it has no threshold"
            )
        views = notion.views or (replace(views_of(notion, self.groups)[0], name="groups"),)
        settings = replace(self.settings, notion=viewed(Viewed(notion.each, views), groups))
        return replace(self, groups=groups, settings=settings)


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
        The plain and the fair model, if both were trained.
    menu : Menu or None
        Of an average: all that it can be without training again, counted on rows that were held out.
    stage : int
        The blend and the shift that this one is, of the menu's.
    wishes : Wishes
        What it was chosen for.
    column : GroupSource or None
        The column of X whose groups the menu shifts against each other.
    evidence : Evidence or None
        What promises about other options are made of, if it was fitted with ``confidence``.
    certificate : Certificate or None
        What was promised of this one.

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
    menu: Menu | None = None
    stage: int = 0
    wishes: Wishes = NO_WISHES
    column: GroupSource | None = None
    evidence: Evidence | None = None
    certificate: Certificate | None = None

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
        """Probabilities per class, calibrated if it has a calibrator; else scores that agree with :meth:`predict`."""
        if self.calibrator is not None:
            return self.calibrated(self.margin(self.read(X)))
        return probabilities(self.decision_function(X, sensitive_features=sensitive_features))

    def read(self, X: Any) -> Any:
        """X as a table of the columns that the model knows."""
        table, names = self.about.unseen(read_table(X)), self.about.names
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

    @property
    def fairness(self) -> float:
        """Where it stands between the plain model (0) and the fair one (1)."""
        return 1.0 if self.menu is None else self.menu.weight(self.stage)

    def at_stage(self, stage: int, threshold: float) -> GlassBox:
        """Another blend and shift of the menu's, with a threshold."""
        menu, dial = self.menu, self.dial
        assert menu is not None
        found: GlassBox = self
        thresholds: Any = threshold
        if dial is not None:
            w = menu.weight(stage)
            found = replace(self, spread=dial.spread(w), importances=dial.importances(w))
        if self.about.source is not None:
            shift = menu.shift(stage)
            thresholds = threshold + (np.zeros(len(self.about.groups)) if shift is None else shift)
        calibrator = calibrator_of(menu, stage - stage % len(menu.shifts) if menu.per_group else stage)
        found = replace(found, effects=self.effects_at(stage), threshold=thresholds, calibrator=calibrator, stage=stage)
        return replace(found, certificate=None)

    def effects_at(self, stage: int) -> Effects:
        """The tables of another stage of the menu's, with the steps of the sensitive column that it has."""
        assert self.menu is not None
        effects = (
            self.unshifted if self.dial is None else blend(self.dial.plain, self.dial.fair, self.menu.weight(stage))
        )
        return self._shifted(effects, stage, 1.0)

    @property
    def unshifted(self) -> Effects:
        """The tables without the steps of the sensitive column that were chosen."""
        return self._shifted(self.effects, self.stage, -1.0)

    def _shifted(self, effects: Effects, stage: int, sign: float) -> Effects:
        shift = None if self.menu is None or self.column is None else self.menu.shift(stage)
        if shift is None or self.column is None:
            return effects
        tables = effects.tables.copy()
        tables[self.column.columns[0]] -= sign * on_grid(self.column.by_code(shift))
        return replace(effects, tables=tables)

    def at_option(self, place: int) -> GlassBox:
        """One of the menu's options."""
        assert self.menu is not None
        return self.at_stage(int(self.menu.stage[place]), float(self.menu.thresholds[place]))

    @property
    def place(self) -> int | None:
        """Which of the menu's options it is; None if its threshold is another."""
        if self.menu is None:
            return None
        shift = self.menu.shift(self.stage) if np.ndim(self.threshold) else None
        common = np.asarray(self.threshold if shift is None else self.threshold - shift).ravel()
        at = self.menu.of_stage(self.stage)
        found = np.flatnonzero(self.menu.thresholds[at] == common[0])
        return at.start + int(found[0]) if len(found) and (common == common[0]).all() else None

    @property
    def chosen_for(self) -> Wishes | None:
        """What it was chosen for; None if its blend and its threshold were given."""
        if self.menu is None:
            return self.about.chosen_for
        is_given = self.wishes == NO_WISHES and self.place != self.best(NO_WISHES)
        return None if is_given else self.wishes

    @property
    def held_out_counts(self) -> Floats | None:
        """``counts[group, y_true, y_pred]`` on the rows that it was chosen on, if its threshold was measured there."""
        place = self.place
        return None if self.menu is None or place is None else self.menu.counts([place])[0]

    @property
    def summary(self) -> str:
        """What it was chosen for, and what that means on the rows that it was chosen on."""
        settings, counts, wishes = self.about.settings, self.held_out_counts, self.chosen_for
        said = "set" if wishes is None else f"chosen for {wishes.said(settings.notion, settings.c)}"
        if counts is None:
            return said
        share = f"accuracy {accuracy(counts.sum(axis=0)):.3f}, balanced accuracy {1 - balanced_error_rate(counts):.3f}"
        gap = f", largest gap {settings.notion.largest_gap(counts):.3f}" if settings.notion.gaps else ""
        return f"{said}; on the rows that it was chosen on {share}{gap}"

    @property
    def blend(self) -> int:
        """Which of the menu's blends it is."""
        return 0 if self.menu is None else self.stage // len(self.menu.shifts)

    @property
    def group_thresholds(self) -> Floats | None:
        """Of each blend the best thresholds per group; None if all groups have the same."""
        if self.about.source is None:
            return None
        if self.menu is None:
            return np.asarray(self.threshold)[None]
        return self.menu.best_shifts

    def frontier(self) -> Points:
        """The menu's options that no other beats in error and unfairness, and the one that it is."""
        assert self.menu is not None
        settings, counts = self.about.settings, self.held_out_counts
        own = None
        if counts is not None:
            own = chosen_point((self.blend + 1, self.threshold), counts, settings.notion, settings.c)
        return self.menu.frontier(settings.notion, settings.c, self.stage % len(self.menu.shifts), own)

    def best(self, wishes: Wishes, among: NDArray[np.bool_] | None = None) -> int:
        """The menu's best option for some wishes."""
        assert self.menu is not None
        settings, labels = self.about.settings, self.about.labels
        given = settings.notion, settings.c, settings.keep, int(not labels.favours_negative)
        return self.menu.best(wishes, *given, among)

    def choose(self, wishes: Wishes) -> GlassBox:
        """The best for some wishes; if they are to be promised, with a certificate."""
        if wishes.confidence is None:
            return replace(self.at_option(self.best(wishes)), wishes=wishes)
        assert self.menu is not None
        if self.evidence is None:
            raise ValueError(
                f"confidence={wishes.confidence:g} needs what fit counts for a promise: fit again with confidence, and "
                "certify_on='out_of_bag' if other choices are to be promised afterwards"
            )
        self.evidence.check(wishes)
        question = self.question(wishes)
        place, bounds = best_promised(self.menu, self.evidence, question, self.best)
        counts, of_rows = self.menu.counts([place])[0], (self.evidence.rows, self.evidence.effective)
        found = replace(self.at_option(place), wishes=wishes)
        return found.certified(OUT_OF_BAG, question, counts, bounds, *of_rows)

    def question(self, wishes: Wishes) -> Question:
        """What wishes ask of options."""
        settings, labels = self.about.settings, self.about.labels
        favourable = int(not labels.favours_negative)
        return Question(settings.notion, favourable, wishes, group_names(self.about.groups), labels.shown)

    def certified(
        self, method: str, question: Question, counts: Floats, bounds: Bounds, rows: Any, effective: Floats
    ) -> GlassBox:
        """With the certificate of what was found on some rows."""
        wishes, notion = question.wishes, question.notion
        assert wishes.confidence is not None
        limits = replace(wishes, limit=1.0, min_ratio=1.0).limits(counts, notion, question.favourable)
        certificate = Certificate(
            notion.name,
            wishes.limit,
            wishes.min_ratio,
            wishes.confidence,
            method,
            float(limits["limit"][0]),
            float(limits["min_ratio"][0]),
            float(bounds.gap[0]),
            float(bounds.ratio[0]),
            tuple((int(negative), int(positive)) for negative, positive in rows),
            tuple((float(negative), float(positive)) for negative, positive in effective),
            wishes.min_group_share,
            self.fingerprint,
        )
        return replace(self, certificate=certificate)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that it decides by: labels, groups, columns in use, tables and thresholds."""
        found = hashlib.sha256()

        def add(*values: Any) -> None:
            for value in values:
                array = isinstance(value, np.ndarray) and value.dtype != object
                found.update((np.ascontiguousarray(value).tobytes() if array else repr(value).encode()) + b"\n")

        labels, source, effects = self.about.labels, self.about.source, self.effects
        add(labels.shown, [str(group) for group in self.about.groups], np.asarray(self.threshold, dtype=np.float64))
        if source is not None:
            add(source.columns, None if source.codes is None else source.codes, source.shares)
        for f in sorted(effects.used_features()):
            column = self.columns[f]
            add(f, column.name, effects.tables[f, : column.n_codes])
            if isinstance(column, NumericColumn):
                add(column.edges)
            else:
                shared = None if column.shared is None else list(column.shared)
                add([str(value) for value in column.categories], shared, column.mixed, column.others_are_missing)
        for pair in effects.pairs:
            sides = ((pair.row_of, pair.features[0]), (pair.column_of, pair.features[1]))
            add(pair.features, *(of[: self.columns[f].n_codes] for of, f in sides), pair.scores)
        return found.hexdigest()

    def with_threshold(self, threshold: Any) -> GlassBox:
        """The same model with another threshold, or one per group; nothing is promised of it."""
        return replace(self, threshold=threshold, certificate=None)

    def alternatives(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """What else it could be, and what it is: see :meth:`ParityBoostClassifier.alternatives`."""
        assert self.menu is not None
        about = self.about
        favourable = int(not about.labels.favours_negative)
        of_choice = about.settings.notion, self.place, self.wishes, favourable
        return list_alternatives(self.menu, self.best, *of_choice, confidence)

    def at_fairness(self, fairness: float) -> GlassBox:
        """Another blend of the plain and the fair model, with the same shift and the threshold that is best for it."""
        dial, menu = self.dial, self.menu
        assert dial is not None
        assert menu is not None
        n_shifts = len(menu.shifts)
        # The plain model knows nothing of the groups; but if each shall have its own threshold, it has.
        shift = 0 if fairness == 0 and not menu.per_group else self.stage % n_shifts
        stage = dial.place(fairness, self.binner) * n_shifts + shift
        among = menu.stage == stage
        if menu.only is not None:
            among &= menu.thresholds == menu.only
        return self.at_option(self.best(Wishes(self.wishes.maximize), among))

    def blends(self) -> list[GlassBox]:
        """Every blend that there is, with the same shift; without a dial the only model."""
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
