"""The committed results of the full evaluation, and what the README and the guides say about them."""

import re
from pathlib import Path

import pandas as pd
import pytest

from parityboost.paper.baselines import DATASETS, DM, EO, SP
from parityboost.paper.experiments import CLAIMS, FIGURES, FIRST_CLAIMS, SETTINGS, plan
from parityboost.paper.experiments._claims import OPEN
from parityboost.paper.experiments._pages import count_claims, first_count, markdown, parts_table, summary
from parityboost.paper.experiments._plan import Scope

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "docs" / "results"
VERDICTS = ["holds", "same direction, other size", "differs"]
KEYS = ["dataset", "attributes", "method", "recipe", "notion", "protocol", "split"]


@pytest.fixture(scope="module")
def claims():
    return pd.read_csv(RESULTS / "claims.csv", keep_default_na=False, na_values=dict.fromkeys(("logged",), ""))


@pytest.fixture(scope="module")
def rows():
    return pd.read_csv(RESULTS / "rows.csv", keep_default_na=False)


def flat(path):
    return " ".join((ROOT / path).read_text(encoding="utf8").split())


def of(rows, setting, dataset, method, notion, measure):
    """A measure on the ten splits, looked up in the rows as a reader would."""
    run = SETTINGS[setting].run(dataset, method, notion, 0)
    found = rows[
        (rows["dataset"] == dataset)
        & (rows["attributes"] == run.attributes)
        & (rows["method"] == method)
        & (rows["recipe"] == run.recipe)
        & (rows["notion"] == (run.notion or ""))
        & (rows["protocol"] == "halves")
        & (rows["c"].astype(float) == 1)
    ]
    assert len(found) == 10
    assert all(setting in settings.split() for settings in found["settings"])
    return found[measure].astype(float)


def test_every_run_of_the_plan_is_in_the_rows_with_the_settings_that_use_it(rows):
    assert set(rows["status"]) == {"ok"}
    expected = {}
    for name in SETTINGS:
        for run in plan(settings=[name]):
            expected.setdefault(run, []).append(name)
    found = rows.drop_duplicates(KEYS).set_index(KEYS)["settings"].to_dict()
    assert found == {
        (run.dataset, run.attributes, run.method, run.recipe, run.notion or "", run.protocol, run.split): " ".join(
            names
        )
        for run, names in expected.items()
    }


def test_every_figure_and_table_is_there():
    for figure in FIGURES:
        assert (RESULTS / f"{figure.name}.csv").stat().st_size > 500
        assert (RESULTS / f"{figure.name}.md").stat().st_size > 500
        for dataset in DATASETS:
            for setting in SETTINGS:
                assert (RESULTS / "figures" / f"{figure.name}-{dataset}-{setting}.svg").stat().st_size > 500
    files = [path for path in RESULTS.rglob("*.*") if path.suffix in (".svg", ".csv", ".md", ".json")]
    assert sum(path.stat().st_size for path in files if "runs" not in path.parts) < 9e6
    assert Scope.read(RESULTS) == Scope.of({f.number for f in FIGURES}, set(DATASETS), set(SETTINGS), 10)


def test_the_claims_are_those_of_the_code_and_every_difference_has_a_sentence(claims):
    assert claims["claim"].tolist() == [claim.says for claim in CLAIMS]
    assert claims["first"].sum() == len(FIRST_CLAIMS)
    verdicts = claims[[f"{name}_verdict" for name in SETTINGS]]
    assert set(verdicts.to_numpy().ravel()) == set(VERDICTS)
    differ = (verdicts != "holds").any(axis=1)
    assert (claims.loc[differ, "why"].str.len() >= len(OPEN)).all()
    assert (claims.loc[~differ, "why"] == "").all()


def test_more_claims_hold_in_the_authors_setting(claims):
    counts = {name: first_count(claims, name)[0] for name in SETTINGS}
    assert counts["authors"] >= 125
    assert counts["authors"] > max(counts["text"], counts["ours"])


def test_the_verdicts_follow_from_the_rows(rows, claims):
    """Some of them, computed by hand."""
    at = claims.set_index(["where", "claim"])
    row = at.loc["5.6 KDD census", "D.M. of NoCumul against AdaFair"]
    for name in SETTINGS:
        values = (
            of(rows, name, "kdd", "AdaFair NoCumul", DM, DM).mean() - of(rows, name, "kdd", "AdaFair", DM, DM).mean()
        )
        assert 100 * values == pytest.approx(float(row[name]), abs=0.01)
    assert list(row[[f"{name}_verdict" for name in SETTINGS]]) == [VERDICTS[1], VERDICTS[0], VERDICTS[1]]


def test_the_page_of_results_says_what_the_files_say(claims):
    index, page = flat("docs/results/README.md"), flat("docs/results/claims.md")
    assert " ".join(markdown(summary(claims, list(SETTINGS))).split()) in index
    for name in SETTINGS:
        assert " ".join(count_claims(claims, name).split()) in page
        count, total = first_count(claims, name)
        assert f"{count} hold with {SETTINGS[name].title}" in index
        assert f"of the {total} claims that were listed first" in index
    parts = pd.read_csv(RESULTS / "parts.csv", keep_default_na=False)
    assert " ".join(markdown(parts_table(parts)).split()) in index
    names = set(zip(claims["where"], claims["claim"], strict=True))
    assert set(zip(parts["where"], parts["claim"], strict=True)) - {("", "")} <= names


def test_the_numbers_of_readme_and_guide_are_those_of_the_results(rows, claims):
    text = flat("docs/guide/reproducing.md")
    stated = re.search(r"of (\d+) claims hold", text)
    assert int(stated[1]) == len(claims)
    holds = {name: (claims[f"{name}_verdict"] == VERDICTS[0]).sum() for name in SETTINGS}
    in_short = "of {} claims {} hold with the authors' settings and {} with our defaults"
    assert in_short.format(len(claims), holds["authors"], holds["ours"]) in flat("README.md")
    for name in SETTINGS:
        counts = claims[f"{name}_verdict"].value_counts()
        line = re.search(rf"\| `{name}` \| [^|]+ \| (\d+) \| (\d+) \| (\d+) \|", text)
        assert [int(number) for number in line.groups()] == [counts[verdict] for verdict in VERDICTS]
    mean = {
        (name, method, measure): 100 * of(rows, name, "kdd", method, DM, measure).mean()
        for name in SETTINGS
        for method in ("AdaBoost", "SMOTEBoost", "AdaFair", "AdaFair NoCumul")
        for measure in (DM, "balanced_accuracy")
    }
    stated = re.search(
        r"from AdaBoost's (\d+) % to (\d+) %, and with our defaults it has (\d+) points more balanced accuracy than "
        r"AdaBoost and (\d+) more than SMOTEBoost",
        text,
    )
    ours = {method: mean["ours", method, "balanced_accuracy"] for method in ("AdaBoost", "SMOTEBoost", "AdaFair")}
    for name in SETTINGS:  # "in every setting"
        assert round(mean[name, "AdaBoost", DM]) == int(stated[1])
        assert round(mean[name, "AdaFair", DM]) == int(stated[2])
    assert round(ours["AdaFair"] - ours["AdaBoost"]) == int(stated[3])
    assert round(ours["AdaFair"] - ours["SMOTEBoost"]) == int(stated[4])
    stated = re.search(r"Its D\.M\. of (\d+) % there is (\d+) % with our defaults", text)
    assert round(mean["authors", "AdaFair NoCumul", DM]) == int(stated[1])
    assert round(mean["ours", "AdaFair NoCumul", DM]) == int(stated[2])
    hours = rows.drop_duplicates(KEYS)["seconds"].astype(float).sum() / 3600
    assert f"{hours:.1f} hours of fits" in text


def test_the_guides_table_of_adult_is_that_of_the_rows(rows):
    names = {
        "AdaBoost": ("AdaBoost", DM),
        "AdaFair for disparate mistreatment": ("AdaFair", DM),
        "AdaFair for equal opportunity": ("AdaFair", EO),
        "AdaFair for statistical parity": ("AdaFair", SP),
    }
    text = (ROOT / "docs" / "guide" / "reproducing.md").read_text(encoding="utf8")
    for name, (method, notion) in names.items():
        line = next(line for line in text.splitlines() if line.startswith(f"| {name} | "))
        cells = [cell.strip().strip("*") for cell in line.strip("|").split("|")[1:]]
        for cell, measure in zip(cells, ("accuracy", "balanced_accuracy", DM, EO, SP), strict=True):
            values = of(rows, "ours", "adult", method, notion, measure)
            assert cell == f"{values.mean():.3f} ± {values.std(ddof=1):.3f}", (name, measure)


def test_the_changelog_counts_the_claims():
    assert f"a verdict on each of {len(CLAIMS)} claims" in flat("CHANGELOG.md")
