"""Docstrings of public functions: parameters that many of them share are described here, once."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import cleandoc, signature
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

# The type and what it is. The docstring gets "optional" behind the type where None is the default.
PARAMETERS = {
    "model": ("AdaFairClassifier", "A fitted model of stumps or native trees."),
    "feature": ("str or int", "Name or position of the feature."),
    "first": ("str or int", "Name or position of a feature."),
    "second": ("str or int", "Name or position of another one; the order does not matter."),
    "X": ("DataFrame or array-like of shape (n_samples, n_features)", "The instances."),
    "y_true": ("array-like of shape (n_samples,)", "True labels, at most two different ones."),
    "y_pred": ("array-like of shape (n_samples,)", "Predicted labels, of the same two."),
    "sensitive_features": (
        "array-like, Series or DataFrame",
        "The group of each instance; several columns are crossed, and groups are then tuples.",
    ),
    "groups": (
        "tuple of two groups",
        "The difference is the mean score of the second minus that of the first. By default every group is compared\n"
        "with the first one in sorted order.",
    ),
    "sample_weight": ("array-like of shape (n_samples,)", "Weight of each instance."),
    "pos_label": ("label", "The positive class. By default the larger of the two labels."),
    "ax": ("Axes", "Where to draw; a new figure by default."),
    "report": ("dict", "What :func:`build` or :func:`build_audit` returns."),
    "title": ("str", "Heading of the page."),
    "created": ("str", "Date to show; by default now, in UTC."),
}
RETURNS = {"Axes": "Returns\n-------\nAxes\n    What was drawn on."}
ONE_TRAINING = (
    "AdaFairClassifier",
    "A fitted model of one training; a :class:`~parityboost.ParityBoostClassifier` averages several.",
)


def documented(**described: tuple[str, str]) -> Callable[[Function], Function]:
    """Describe the parameters that a docstring leaves out, each as given here or else as in ``PARAMETERS``."""

    def describe(function: Function) -> Function:
        if function.__doc__ is None:  # python -OO
            return function
        summary, *sections = re.split(r"\n\n(?=\w+\n-+\n)", cleandoc(function.__doc__))
        entries: dict[str, str] = {}
        if sections and sections[0].startswith("Parameters\n"):
            for entry in re.split(r"\n(?=\S)", sections.pop(0))[2:]:
                entries |= dict.fromkeys(entry.partition(" :")[0].split(", "), entry)
        shared = PARAMETERS | described
        found = signature(function)
        for name, parameter in found.parameters.items():
            if name not in entries:
                kind, text = shared[name]
                optional = ", optional" if parameter.default is None else ""
                entries[name] = f"{name} : {kind}{optional}\n    " + text.replace("\n", "\n    ")
        in_order = dict.fromkeys(entries[name] for name in found.parameters)
        parts = [summary, "\n".join(["Parameters", "----------", *in_order]), RETURNS.get(found.return_annotation, "")]
        function.__doc__ = "\n\n".join([*filter(None, parts), *sections])
        return function

    return describe
