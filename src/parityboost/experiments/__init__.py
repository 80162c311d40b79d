"""The paper's evaluation: its runs, its figures and tables, and a verdict on what it says about them."""

from ._claim_list import CLAIMS
from ._claims import Claim, judge
from ._plan import C_VALUES, FIGURES, Figure, Run, plan
from ._rows import NotMeasuredError, Results
from ._runner import perform
from ._store import Store

__all__ = [
    "CLAIMS",
    "C_VALUES",
    "FIGURES",
    "Claim",
    "Figure",
    "NotMeasuredError",
    "Results",
    "Run",
    "Store",
    "judge",
    "perform",
    "plan",
]
