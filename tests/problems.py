"""Random training problems and options, for tests with hypothesis."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import reference
from parityboost.notions import StatisticalParity

SYMMETRIC = StatisticalParity(boost="both")
CHOICES = {
    "notion": st.sampled_from([SYMMETRIC if name == "symmetric_parity" else name for name in reference.NOTIONS]),
    "n_estimators": st.integers(1, 12),
    "c": st.sampled_from([0.0, 0.3, 1.0]),
    "epsilon": st.sampled_from([0.0, 0.05, 0.3]),
    "cumulative": st.booleans(),
    "update": st.sampled_from(["confidence", "discrete", "real"]),
    "learning_rate": st.sampled_from([1.0, 1.0, 0.3]),
    "learner_weight": st.sampled_from(["error", "cost"]),
    "class_weight": st.sampled_from([None, "balanced", "balanced_groups"]),
    "threshold": st.sampled_from([0.0, 0.125, "auto"]),
    "criterion": st.sampled_from(["gini", "error"]),
    "category_splits": st.sampled_from(["one", "sets"]),
    "max_depth": st.sampled_from([1, 2]),
    "n_iter_no_change": st.sampled_from([None, 2]),
    "keep": st.sampled_from([0.0, 0.0, 0.5, 0.9]),
    "max_violation": st.sampled_from([None, None, 0.1, 0.4]),
}


def _sound(options):
    """Votes of any size have no weight of their own."""
    return options | {"learner_weight": "error"} if options["update"] == "real" else options


OPTIONS = st.fixed_dictionaries(CHOICES).map(_sound)
TWIN_OPTIONS = st.fixed_dictionaries(CHOICES | {"costs_from": st.sampled_from(["training", "validation"])}).map(_sound)


def draw_rows(rng, n_rows, n_groups, kinds, weighted, known=None):
    """Random rows in which every (group, class) cell occurs."""
    n_rows = max(n_rows, 2 * n_groups)
    cells = np.concatenate([np.arange(2 * n_groups), rng.integers(2 * n_groups, size=n_rows - 2 * n_groups)])
    rng.shuffle(cells)
    y, group = cells % 2, cells // 2
    columns = []
    for kind in kinds:
        signal = y * rng.integers(0, 3, n_rows) + rng.integers(0, 4, n_rows) + (group == 0)
        if kind.startswith("category"):
            column = np.array([f"v{value % 5}" for value in signal], dtype=object)
        else:
            column = signal.astype(float) if "integer" in kind else np.round(signal + rng.normal(size=n_rows), 1)
        if "missing" in kind:
            hole = rng.random(n_rows) < 0.25
            column = np.where(hole, None if column.dtype == object else np.nan, column)
        columns.append(column)
    weights = None
    if weighted:
        weights = rng.integers(1, 4, n_rows) / 2 if rng.random() < 0.5 else rng.gamma(1.0, 1.0, n_rows) + 1e-3
    return columns, y, group, weights


def frame_of(columns):
    return pd.DataFrame({f"x{j}": pd.Series(column) for j, column in enumerate(columns)})


@st.composite
def problems(draw, few_values=False, categories_only=False):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_groups = draw(st.integers(2, 4))
    kinds = draw(
        st.lists(
            st.sampled_from(
                ["category", "category missing"]
                + ([] if categories_only else ["integer", "integer missing"])
                + ([] if categories_only or few_values else ["float", "float missing"])
            ),
            min_size=1,
            max_size=2 if few_values else 4,
        )
    )
    train = draw_rows(rng, draw(st.integers(8, 40)), n_groups, kinds, draw(st.booleans()))
    validation = None
    if draw(st.booleans()):
        validation = draw_rows(rng, draw(st.integers(8, 30)), n_groups, kinds, draw(st.booleans()))
    return kinds, train, validation


def group_labels(group):
    return np.array(["a", "b", "c", "d"])[group]
