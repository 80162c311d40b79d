"""Measures of decisions, and their intervals, from how many rows each group, class and answer has.

`counts[..., group, y, answer]` is all that is kept of a model's decisions. Where an answer is drawn at random, both
answers count with their chances, so that nothing is drawn here.
"""

from __future__ import annotations

import numpy as np

DRAWS = 2000


def count(y, s, yes, n_groups):
    """Counts of answers that are yes with these chances."""
    cell = s * 2 + y
    all_of, of_yes = (np.bincount(cell, weights, 2 * n_groups).reshape(-1, 2) for weights in (np.ones(len(y)), yes))
    return np.stack([all_of - of_yes, of_yes], axis=-1)


def count_thresholds(y, s, scores, thresholds, n_groups):
    """Counts for every threshold: yes where the score is above it."""
    found = np.empty((len(thresholds), n_groups, 2, 2))
    for group in range(n_groups):
        for label in (0, 1):
            ranked = np.sort(scores[(s == group) & (y == label)])
            found[:, group, label, 0] = np.searchsorted(ranked, thresholds, side="right")
            found[:, group, label, 1] = len(ranked) - found[:, group, label, 0]
    return found


def accuracy(counts):
    return (counts[..., 0, 0] + counts[..., 1, 1]).sum(axis=-1) / counts.sum(axis=(-3, -2, -1))


def rates(counts, label):
    """The share of a class that gets a yes, per group."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return counts[..., label, 1] / counts[..., label, :].sum(axis=-1)


def large(counts, share=0.01):
    """Which groups have at least this share of the rows."""
    size = counts.reshape(-1, *counts.shape[-3:])[0].sum(axis=(-2, -1))
    return size >= share * size.sum()


def tpr_ratio(counts):
    """The lowest rate of true positives over the highest."""
    found = rates(counts, 1)
    highest = np.nanmax(found, axis=-1)
    return np.where(highest > 0, np.nanmin(found, axis=-1) / np.where(highest > 0, highest, 1), 0)


def gap(counts, label):
    """How far the groups' rates of true (label 1) or false positives are apart."""
    return np.nanmax(rates(counts, label), axis=-1) - np.nanmin(rates(counts, label), axis=-1)


def larger_gap(counts):
    """The larger of the two, as Cruz and Hardt draw it."""
    return np.maximum(gap(counts, 0), gap(counts, 1))


def selection_gap(counts):
    selected = counts[..., 1].sum(axis=-1) / counts.sum(axis=(-2, -1))
    return np.nanmax(selected, axis=-1) - np.nanmin(selected, axis=-1)


def drawn(counts, seed=0):
    """What the counts would be on other rows: the rows drawn again, with replacement."""
    found = np.random.default_rng(seed).multinomial(round(counts.sum()), counts.ravel() / counts.sum(), DRAWS)
    return found.reshape(DRAWS, *counts.shape)


def interval(values):
    """Where 95 % of them are."""
    return tuple(np.nanquantile(values, (0.025, 0.975)))
