"""Which devices there are to test on."""

import pytest

from parityboost._engine.cuda.card import load_cupy


def why_no_card():
    """Why there is nothing to test on a graphics card, or None."""
    try:
        load_cupy()
    except (ImportError, OSError) as error:
        return str(error)
    return None


WHY_NOT = why_no_card()
needs_card = pytest.mark.skipif(WHY_NOT is not None, reason=f"no graphics card: {WHY_NOT}")
DEVICES = ["cpu", pytest.param("cuda", marks=needs_card)]
