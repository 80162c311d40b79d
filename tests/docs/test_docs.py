"""The documentation: what its pages show is what happens, its examples run, its links lead somewhere.

A page's ``python`` blocks run in order, in one namespace and in an empty folder. A ``text`` block shows what the block
before it printed. A ``console`` block shows commands and what they print. Blocks of other kinds (``bash``) are not run.
A comment ``<!-- needs fairlearn -->`` before a block: it runs where the package is installed.

After a change that is meant to alter what is printed, ``python tests/docs/test_docs.py docs/start.md`` writes it anew.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import importlib.util
import io
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

import parityboost
from parityboost import cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GENERATED = {"_build", "api", "gallery"}
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    if path.name != "CHANGELOG.md" and not GENERATED & set(path.relative_to(DOCS.parent).parts)
)
HAS_DATA = Path(os.environ.get("PARITYBOOST_DATA") or "/nonexistent").is_dir()
# Seconds on a two-core machine; the others take at most a few.
SLOW_PAGES = {"coming-from.md", "command-line.md", "groups.md", "scikit-learn.md"}

BLOCK = re.compile(
    r"^(?:<!-- needs (?P<needs>[\w, ]+) -->\n)?```(?P<kind>python|text|console)\n(?P<body>.*?)^```$", re.M | re.S
)


@dataclass
class Block:
    """A piece of code on a page, and what stands below it as its output."""

    kind: str
    body: str
    needs: list[str]
    shown: str | None = None

    @property
    def can_run(self) -> bool:
        return all(importlib.util.find_spec(name) for name in self.needs)


def read_blocks(page: Path) -> list[Block]:
    blocks: list[Block] = []
    for found in BLOCK.finditer(page.read_text(encoding="utf8")):
        if found["kind"] == "text":
            assert blocks and blocks[-1].shown is None, f"{page.name}: output that no code prints: {found['body'][:80]}"
            blocks[-1].shown = found["body"]
        else:
            needs = [name.strip() for name in (found["needs"] or "").split(",") if name.strip()]
            blocks.append(Block(found["kind"], found["body"], needs))
    return blocks


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> str:
    """What the block prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore", parityboost.FitWarning)  # pages that are about them print warnings_
        if block.needs:  # what other packages warn about is theirs to mend
            warnings.simplefilter("ignore")
        exec(compile(block.body, page.name, "exec"), namespace)
    return tidy(printed.getvalue())


def run_doctest(block: Block, page: Path, namespace: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.body, namespace, page.name, str(page), 0)
    if not HAS_DATA:
        test.examples = [example for example in test.examples if "fetch_" not in example.source]
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
    namespace.update(test.globs)
    assert not report, "".join(report)


TERMINAL = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}


def run_console(body: str) -> str:
    """The commands of a console block, each with what it prints now."""
    lines = []
    for command in re.findall(r"^\$ (.*)$", body, re.M):
        words = shlex.split(command)
        alone = words[0] == "parityboost" and not {"|", "2>", ">"} & set(words)
        lines += [f"$ {command}", run_here(words[1:]) if alone else run_in_a_shell(command)]
    return tidy("\n".join(lines))


def run_here(arguments: list[str]) -> str:
    """What a command of ours prints, without starting a process that imports everything anew."""
    result = CliRunner(env=TERMINAL).invoke(cli.app, arguments)
    return result.stdout + result.stderr


def run_in_a_shell(command: str) -> str:
    program = f'"{sys.executable}" -m parityboost'
    result = subprocess.run(
        re.sub(r"(^|\| )parityboost\b", lambda found: found[1] + program, command),
        shell=True,
        capture_output=True,
        text=True,
        env={**os.environ, **TERMINAL},
    )
    return result.stdout + result.stderr


def tidy(text: str) -> str:
    """Without blank ends of lines, and blank lines at the ends."""
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=[pytest.mark.slow] * (page.name in SLOW_PAGES))
        for page in PAGES
        if read_blocks(page)
    ],
)
def test_the_code_on_a_page_runs_and_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace: dict[str, object] = {"__name__": "page"}
    for block in read_blocks(page):
        if not block.can_run:
            continue
        if block.kind == "console":
            assert run_console(block.body) == tidy(block.body)
        elif block.body.startswith(">>>"):
            run_doctest(block, page, namespace)
        else:
            printed = run_python(block, page, namespace)
            assert block.shown is None or printed == tidy(block.shown)
    close_figures()


def test_the_gallery_has_its_examples():
    """`make docs` runs them and ends if one fails; .ci/site.py looks at the pictures."""
    assert len(EXAMPLES) >= 8
    for path in EXAMPLES:
        title = ast.get_docstring(ast.parse(path.read_text(encoding="utf8"))).splitlines()
        assert set(title[1]) == {"="} and len(title[1]) >= len(title[0]), path.name
        assert "fetch_" not in path.read_text(encoding="utf8"), f"{path.name} needs a download"


def close_figures() -> None:
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^(```|~~~).*?^\1$", "", text, flags=re.M | re.S))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub, and Sphinx alike, give to a page's headings, and those that the page sets itself."""
    text = re.sub(r"^(```|~~~).*?^\1$", "", page.read_text(encoding="utf8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    return set(slugs) | set(re.findall(r"^\(([\w-]+)\)=$", text, re.M))


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
def test_relative_links_lead_somewhere(page):
    links = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf8")))
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if GENERATED & set(target.relative_to(ROOT).parts):
            assert built_from(target).exists(), f"{page.name} links to {link}, which nothing makes"
            continue
        assert target.exists(), f"{page.name} links to {link}, which does not exist"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page.name} links to {link}, but {target.name} has no such heading"


def included(page: Path):
    """What a page includes of the sources: the file, and the directive's options."""
    text = page.read_text(encoding="utf8")
    for name, options in re.findall(r"^```\{literalinclude\} (\S+)\n((?::.*\n)*)", text, re.M):
        yield (page.parent / name).resolve(), dict(re.findall(r"^:([\w-]+): +(.*)$", options, re.M))


def defined(source: str):
    """The names of functions and classes, those inside a class with its name."""
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef))


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
def test_sources_that_a_page_shows_or_names_exist(page):
    for path, options in included(page):
        source = path.read_text(encoding="utf8")
        if "pyobject" in options:  # sources of data have none
            assert options["pyobject"] in defined(source), f"{page.name} shows {options} of {path.name}"
        for bound in {"start-at", "start-after", "end-at", "end-before"} & set(options):
            wanted = ast.literal_eval(options[bound]) if options[bound].startswith('"') else options[bound]
            assert wanted in source, f"{page.name}: {options}"
    text = page.read_text(encoding="utf8")
    for name in re.findall(r"`((?:_\w+|dask|metrics|paper|datasets)/[\w/]+\.\w+)`", text):
        assert (ROOT / "src" / "parityboost" / name).exists(), f"{page.name} names {name}"
    for name in re.findall(r"`(test_\w+\.py)`", text):
        assert list((ROOT / "tests").rglob(name)), f"{page.name} names {name}"


def built_from(target: Path) -> Path:
    """The source of a page that Sphinx makes."""
    if target.parent.name == "gallery":
        return ROOT / "examples" / ("GALLERY_HEADER.rst" if target.stem == "index" else f"{target.stem}.py")
    return target


def test_the_api_reference_lists_every_public_name():
    text = (DOCS / "api" / "index.rst").read_text(encoding="utf8")
    sections = dict(re.findall(r"^\.\. currentmodule:: (\S+)$(.*?)(?=^\.\. currentmodule::|\Z)", text, re.M | re.S))
    names = [info.name for info in pkgutil.iter_modules(parityboost.__path__, "parityboost.") if "._" not in info.name]
    programs = {"parityboost.cli", "parityboost.demo"}
    classifiers = {f"parityboost.{name}" for name in ("estimators", "recommended", "adaboost")}  # in parityboost
    paper = {"parityboost.paper.baselines", "parityboost.paper.experiments"}
    elsewhere = {"parityboost.paper", "parityboost.baselines", "parityboost.experiments"}  # the last two have moved
    for name in {"parityboost", *names, *paper} - programs - classifiers - elsewhere:
        module = importlib.import_module(name)
        public = {x for x in module.__all__ if x != "__version__" and not isinstance(getattr(module, x), ModuleType)}
        listed = re.findall(r"^(?:   |\.\. data:: )(\w+)$", sections[name], re.M)
        assert set(listed) == public, name
        assert len(listed) == len(public), f"{name}: a name is listed twice"


def rewrite(page: Path) -> None:
    """Write what the code on a page prints now into the page."""
    page, namespace, printed = page.resolve(), {"__name__": "page"}, ""

    def output(found: re.Match[str]) -> str:
        nonlocal printed
        needs = [name.strip() for name in (found["needs"] or "").split(",") if name.strip()]
        block, whole = Block(found["kind"], found["body"], needs), found[0]
        if block.kind == "text":
            return f"```text\n{printed}```"
        if not block.can_run or block.body.startswith(">>>"):
            return whole
        if block.kind == "console":
            return whole.replace(block.body, run_console(block.body))
        printed = run_python(block, page, namespace)
        return whole

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        text = BLOCK.sub(output, page.read_text(encoding="utf8"))
    page.write_text(text, encoding="utf8")


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "Agg"
    for argument in sys.argv[1:]:
        rewrite(Path(argument))
