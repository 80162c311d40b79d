"""The paper's evaluation: its runs, its figures and tables, and a verdict on what it says about them."""

from ._claims import CLAIMS, FIRST_CLAIMS, Check, Claim, compare, judge
from ._plan import C_VALUES, FIGURES, RECIPES, SETTINGS, Figure, Run, Setting, plan
from ._runner import perform
from ._store import NotMeasuredError, Results, Store

__all__ = [
    "CLAIMS",
    "C_VALUES",
    "FIGURES",
    "FIRST_CLAIMS",
    "RECIPES",
    "SETTINGS",
    "Check",
    "Claim",
    "Figure",
    "NotMeasuredError",
    "Results",
    "Run",
    "Setting",
    "Store",
    "compare",
    "judge",
    "perform",
    "plan",
]
