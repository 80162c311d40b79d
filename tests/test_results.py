"""The committed results of the full evaluation, and what the README says about them."""

import re
from pathlib import Path

import pandas as pd

from parityboost.experiments import CLAIMS, FIGURES, plan

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"


def test_every_run_of_the_plan_is_in_the_rows():
    rows = pd.read_csv(RESULTS / "rows.csv", keep_default_na=False)
    assert set(rows["status"]) == {"ok"}
    found = set(rows[["dataset", "method", "notion", "protocol", "split"]].itertuples(index=False, name=None))
    assert found == {(run.dataset, run.method, run.notion or "", run.protocol, run.split) for run in plan()}


def test_every_figure_and_table_is_there():
    for figure in FIGURES:
        for kind in ("svg", "csv", "md"):
            assert (RESULTS / f"{figure.name}.{kind}").stat().st_size > 500
    assert sum(path.stat().st_size for path in RESULTS.glob("*.*") if path.suffix != ".png") < 6e6


def test_the_claims_are_those_of_the_code_and_every_difference_has_a_sentence():
    claims = pd.read_csv(RESULTS / "claims.csv")
    assert claims["claim"].tolist() == [claim.says for claim in CLAIMS]
    assert set(claims["verdict"]) == {"holds", "differs"}
    assert claims.loc[claims["verdict"] == "differs", "why"].str.len().min() > 20


def test_the_readme_states_how_many_claims_hold():
    claims = pd.read_csv(RESULTS / "claims.csv")
    holds = int((claims["verdict"] == "holds").sum())
    text = (ROOT / "README.md").read_text(encoding="utf8")
    stated = re.search(r"(\d+) of the paper's (\d+) claims hold", " ".join(text.split()))
    assert stated
    assert [int(number) for number in stated.groups()] == [holds, len(claims)]
