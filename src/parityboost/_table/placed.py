"""What the user hands over on the graphics card: arrays of CuPy's."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from .._arrays import on_card

# Labels and groups with more distinct values are read by the processor, row by row.
MAX_FEW = 1 << 10


def check_placed(X: Any) -> NDArray[Any]:
    """An array on the graphics card, which stays there."""
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must have two dimensions and at least one row and column, got the shape {X.shape}")
    if X.dtype.kind not in "biuf":
        raise TypeError(f"an array X on the graphics card must hold real numbers, got dtype {X.dtype}")
    placed: NDArray[Any] = X
    return placed


class FewValues(NamedTuple):
    """A column of few distinct values on the graphics card: what is said of each of them holds for its rows."""

    distinct: NDArray[Any]
    inverse: Any  # of each row, on the card

    def spread(self, codes: NDArray[Any]) -> Any:
        """The rows' codes, from those of the distinct values."""
        from .._engine.cuda.tables import place

        return place(codes)[self.inverse]


def few_values(values: Any) -> FewValues | None:
    """Labels or groups on the graphics card that need not be read row by row; None for all others."""
    if not on_card(values) or values.ndim != 1 or values.dtype.kind not in "biu" or len(values) == 0:
        return None
    from .._engine.cuda.tables import find_inverse

    found = find_inverse(values, MAX_FEW)
    return None if found is None else FewValues(*found)
