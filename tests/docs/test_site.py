"""The site: what it is made of, and that the look at its pages (``.ci/site.py``) finds what it is there to find."""

import importlib
import importlib.util
import inspect
import re
import sys
from types import SimpleNamespace

import pytest
from docutils import nodes
from test_docs import DOCS, PAGES, ROOT, read_blocks

PICTURES = sorted(path for folder in ("images", "_static") for path in (DOCS / folder).glob("*.[sp][vn]g"))


def load(name, path):
    """A script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


site = load("site_look", ROOT / ".ci" / "site.py")
conf = load("site_conf", DOCS / "conf.py")

GOOD = "<!doctype html><body style='margin: 0'><div class='content'><p>All is well.</p></div>"
BAD = {
    "wider than the window": "<p style='width: 3000px'>far too wide",
    "no picture at gone.png": "<img src='gone.png' loading='lazy'>",
    "logo.svg is drawn for the dark": "<img src='logo.svg' style='filter: invert(1)'>",
    "code is cut": "<div class='highlight'><pre style='overflow: auto; width: 9em'>all_code(of_the_page)</pre></div>",
    "a table is cut without a hint": "<div class='table-wrapper' style='overflow: auto; width: 2em'>everything</div>",
    "a table is cut on the laptop": "<div class='table-wrapper' style='overflow: auto; width: 3em'>everything</div>",
    "text on text": "<p style='position: absolute; top: 20px'>One.<p style='position: absolute; top: 25px'>Other.",
    "the contents of the page are hidden": "<div class='toc-drawer' style='position: fixed; right: -9em'>Menu</div>",
    "an example that draws nothing": "<p class='sphx-glr-footer'>Made by an example.</p>",
    "it went wrong": "<script>console.error('it went wrong')</script>",
    "undefined_name": "<script>undefined_name</script>",
    "http://127.0.0.1:9/": "<script src='http://127.0.0.1:9/nothing.js'></script>",
}


@pytest.mark.slow
@pytest.mark.skipif(site.browser_path() is None, reason=f"no browser is installed: none of {', '.join(site.BROWSERS)}")
def test_the_look_at_the_pages_finds_every_fault_and_no_other(tmp_path):
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    (tmp_path / "good.html").write_text(GOOD)
    (tmp_path / "logo.svg").write_bytes((DOCS / "_static" / "logo.svg").read_bytes())
    for i, part in enumerate(BAD.values()):
        (tmp_path / f"bad{i}.html").write_text(f"{GOOD}{part}")
    found = list(site.look(tmp_path, tmp_path / "pictures"))
    for i, fault in enumerate(BAD):
        assert any(line.startswith(f"bad{i}.html") and fault in line for line in found), (fault, found)
    assert [line for line in found if line.startswith("good.html")] == []
    assert {path.name for path in (tmp_path / "pictures").glob("*/good.png")} == {"good.png"}


def test_the_look_at_the_pages_says_so_where_there_is_no_browser(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(site, "browser_path", lambda: None)
    assert site.main(str(tmp_path), str(tmp_path / "pictures")) == 0
    assert "no browser is installed" in capsys.readouterr().out


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
def test_code_on_a_page_is_at_most_88_letters_wide(page):
    for block in read_blocks(page):
        if block.kind == "python":
            printed = block.body.startswith(">>>")  # lines without a prompt are what it prints
            lines = [line for line in block.body.splitlines() if not printed or line.startswith((">>>", "..."))]
            assert [line for line in lines if len(line) > 88] == []


def test_the_readme_is_short_and_its_two_commands_are_there():
    lines = (ROOT / "README.md").read_text(encoding="utf8").splitlines()
    assert len(lines) <= 110
    assert any(line.startswith("make demo") for line in lines[:20])
    assert any("`make test`" in line for line in lines)


@pytest.mark.no_cover
@pytest.mark.slow
def test_the_first_picture_and_the_readme_show_what_the_models_do():
    hero = load("hero", DOCS / "images" / "hero.py")
    models = dict(hero.measured(hero.explored()))
    picture, readme = ((ROOT / name).read_text(encoding="utf8") for name in ("docs/images/hero.svg", "README.md"))
    said = re.search(r"<title>(.*)</title>", picture)[1]
    for name in hero.NAMES:
        women, men, right = models[name]
        assert f"{name} {women} women and {men} men ({right:.1f} % right)" in said
    women, men, _ = models[hero.ALONE]
    assert f"finds {women} women and {men} men" in " ".join(readme.split())
    price = round(models["gradient boosting"][2], 1) - round(models["ParityBoost"][2], 1)  # of the numbers shown
    assert f"The price is {price:.1f} points of accuracy against gradient boosting." in readme
    assert said in readme and said in (DOCS / "index.md").read_text(encoding="utf8")
    women, men, right = dict(hero.measured(hero.explored(without="sex")))["ParityBoost"]
    assert f"finds {women} % of the women and {men} % of the men, with an accuracy of {right:.0f} %" in readme


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_small(path):
    assert path.stat().st_size < 100_000


@pytest.mark.parametrize(
    "page", ["start", "guide/theta", "guide/explaining", "guide/thresholds", "guide/auditing", "guide/report"]
)
def test_a_page_that_is_about_something_to_see_shows_it(page):
    assert re.search(r"^!\[[^\]]+\]\(\S+\.(svg|png)\)$", (DOCS / f"{page}.md").read_text(encoding="utf8"), re.M)


def test_every_page_of_the_guide_has_a_card_with_a_sentence():
    text = (DOCS / "guide" / "index.md").read_text(encoding="utf8")
    cards = re.findall(r":::\{grid-item-card\} .+\n:link: (\S+)\n:link-type: doc\n(.+\.)\n:::", text)
    listed = [
        name for tree in re.findall(r"```\{toctree\}\n(?::[^\n]*\n)+\n(.*?)```", text, re.S) for name in tree.split()
    ]
    assert [link for link, _ in cards] == listed
    assert {path.stem for path in (DOCS / "guide").glob("*.md")} - {"index"} <= set(listed)


def test_summaries_in_the_api_reference_end_where_the_sentence_does():
    text = (DOCS / "api" / "index.rst").read_text(encoding="utf8")
    for name, body in re.findall(r"^\.\. currentmodule:: (\S+)$(.*?)(?=^\.\. currentmodule::|\Z)", text, re.M | re.S):
        for member in re.findall(r"^   (\w+)$", body, re.M):
            first = inspect.getdoc(getattr(importlib.import_module(name), member)).split("\n\n")[0]
            summary = re.split(r"(?<!et al\.)(?<=\.)\s", first)[0]  # as Sphinx does
            assert summary.count("(") == summary.count(")"), f"{name}.{member}: {summary}"
            assert not re.search(r"\b(Eqs?|D\.M|Eq\.Op|Figs?)\.$", summary), f"{name}.{member}: {summary}"


def test_an_agent_finds_every_page_of_the_guide_in_plain_text():
    told = conf.llms()
    guide = re.search(r"## Guide\n\n(.*)", told, re.S)[1]
    for path in (DOCS / "guide").glob("*.md"):
        assert path.stem == "index" or f"](_sources/guide/{path.name}): " in guide, path
    for link in re.findall(r"\]\(_sources/(\S+?)\)", told):
        assert (DOCS / link).is_file() or link == "gallery/index.md", link


def described(text):
    document = SimpleNamespace(findall=lambda kind: iter([nodes.paragraph(text=text)]))
    context = {}
    conf.describe(None, "page", "page.html", context, document)
    return re.findall(r'content="(.*?)"', context["metatags"])


def test_a_page_is_described_by_its_first_paragraph():
    assert described('Less than "all"\nis  enough.') == ["Less than &quot;all&quot; is enough."] * 2
    long = described("word " * 100)[0]
    assert 120 < len(long) <= 162 and long.endswith("word …")


def test_pages_link_to_the_repository_where_the_project_names_one():
    assert conf.theme_options("") == {}
    options = conf.theme_options("https://example.org/parityboost")
    assert options["source_repository"] == options["footer_icons"][0]["url"] == "https://example.org/parityboost"


def test_the_comparison_is_about_this_version():
    row = re.search(r"^\| version looked at.*$", (DOCS / "comparison.md").read_text(encoding="utf8"), re.M)[0]
    assert row.split(" | ")[1] == conf.release


def test_compas_is_spelt_compas_except_in_the_papers_table_1():
    for path in [*PAGES, *(ROOT / "benchmarks" / "results").glob("*.md")]:
        for line in path.read_text(encoding="utf8").splitlines():
            assert "Compass" not in line or "Adult census" in line, f"{path.name}: {line}"
