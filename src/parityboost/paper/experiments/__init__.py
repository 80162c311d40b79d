"""The paper's evaluation: its runs, its figures and tables, and a verdict on what it says about them."""

from ._claim_list import ADDED_CLAIMS, FIRST_CLAIMS
from ._claims import Check, Claim, compare, judge
from ._plan import C_VALUES, FIGURES, RECIPES, SETTINGS, Figure, Run, Setting, plan
from ._rows import NotMeasuredError, Results
from ._runner import perform
from ._store import Store

CLAIMS: tuple[Claim, ...] = (*FIRST_CLAIMS, *ADDED_CLAIMS)

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
