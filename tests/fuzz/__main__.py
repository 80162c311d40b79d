"""``python tests/fuzz``: many attempts, or one of them again."""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything loads OpenMP: workers would wait for each other
os.environ.setdefault("MPLBACKEND", "Agg")
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from fuzz.engine import main  # noqa: E402 (only now can it be found)

sys.exit(main(sys.argv[1:]))
