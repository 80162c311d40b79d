"""Sphinx settings. Nothing is downloaded, neither while building nor while reading."""

from __future__ import annotations

import html
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml

import parityboost

ROOT = Path(__file__).parents[1]
# The address of the repository stands in pyproject.toml, [project.urls]. Empty: the pages have no link to it.
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
REPOSITORY = PROJECT.get("urls", {}).get("Repository", "")


def theme_options(repository: str) -> dict[str, Any]:
    """Links to the source of every page, and to the repository itself."""
    if not repository:
        return {}
    return {
        "source_repository": repository,
        "source_branch": "main",
        "source_directory": "docs/",
        "footer_icons": [
            {"name": "Repository", "url": repository, "html": "Repository", "class": ""}
        ],
    }


project = "parityboost"
author = "The parityboost developers"
project_copyright = author
version = release = parityboost.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.json"]
templates_path = ["_templates"]
nitpicky = True
# Names that docstrings mention and that are not public, or not told in full.
nitpick_ignore = [
    ("py:func", "culep_weights"),
    ("py:data", "DATASETS"),
    ("py:meth", "AdaFairClassifier.frontier"),
]

html_theme = "furo"
html_title = f"parityboost {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = True  # llms.txt leads to the pages as they are written
html_sourcelink_suffix = ""
html_show_sourcelink = False
html_logo = html_favicon = "_static/logo.svg"
html_theme_options = theme_options(REPOSITORY)

# GitHub and Sphinx read the same pages, with the same anchors.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template of a class lists them
add_module_names = False
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": "parityboost",
    "reference_url": {"parityboost": None},
    "backreferences_dir": "gallery/used",
    "remove_config_comments": True,
    "ignore_repr_types": r"matplotlib\.axes",
    "show_memory": False,
    "write_computation_times": False,  # its page fetches scripts from the web
    "show_signature": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
}


def skip_member(
    app: Any, what: str, name: str, value: Any, skip: bool, options: Any
) -> bool | None:
    """scikit-learn makes these for every estimator; its own pages explain them."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def escape(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """In docstrings, |x| is an absolute value and not a substitution, and (n_groups_,) a shape and not a link."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(``.*?``|`.*?`)", line)
            parts[::2] = [
                re.sub(r"(?<=\w)_(?=[,)])", r"\_", part).replace("|", r"\|")
                for part in parts[::2]
            ]
            lines[i] = "".join(parts)


def results_stand_alone(app: Any, docname: str, source: list[str]) -> None:
    """The pages of single figures are reached from that of all results, and need no place in the menu."""
    if docname.startswith("results/") and docname != "results/README":
        source[0] = f"---\norphan: true\n---\n{source[0]}"


def describe(
    app: Any,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """A page's first paragraph is what search engines and previews of links show."""
    paragraph = (
        None if doctree is None else next(doctree.findall(nodes.paragraph), None)
    )
    words = (
        " ".join(paragraph.astext().split())
        if paragraph is not None
        else PROJECT["description"]
    )
    if len(words) > 160:
        words = words[:160].rpartition(" ")[0] + " …"
    text = html.escape(words)
    context["metatags"] = (
        context.get("metatags", "")
        + f'<meta name="description" content="{text}" /><meta property="og:description" content="{text}" />'
    )


def live_pages(app: Any, exception: Exception | None) -> None:
    """The explorer that is on the home page, and the report that it links to; what an agent reads first."""
    if exception is None and app.builder.format == "html":
        out = Path(app.outdir)
        for script, page in (("hero", "explorer"), ("sample_report", "sample-report")):
            path = ROOT / "docs" / "images" / f"{script}.py"
            subprocess.run(
                [sys.executable, str(path), str(out / f"{page}.html")], check=True
            )
        (out / "llms.txt").write_text(llms(), encoding="utf8")


def llms() -> str:
    """The pages in plain Markdown, with a sentence about each: https://llmstxt.org."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf8")
    guide = (ROOT / "docs" / "guide" / "index.md").read_text(encoding="utf8")
    cards = (
        r":::\{grid-item-card\} (.+)\n:link: (\S+)\n:link-type: doc\n((?:.+\n)+?):::"
    )
    lines = [f"# {project}", "", f"> {PROJECT['description']}", ""]
    lines += [
        "Start with `ParityBoostClassifier`: `fit(X, y, sensitive_features=…)`, then `predict(X)`.",
        "`model.explore(X, y, sensitive_features=…)` compares models at equal numbers of yeses.",
        "",
    ]
    for title, text, folder in (("Pages", index, ""), ("Guide", guide, "guide/")):
        lines += [f"## {title}", ""]
        for name, link, words in re.findall(cards, text):
            page = (ROOT / "docs" / folder / link).resolve()
            where = page.relative_to(ROOT / "docs").as_posix()
            lines.append(f"- [{name}](_sources/{where}.md): {' '.join(words.split())}")
        lines.append("")
    return "\n".join(lines)


def visit_math(self: Any, node: nodes.Element) -> None:
    """Formulas as MathML, which browsers draw themselves: MathJax would be fetched from the web."""
    block = isinstance(node, nodes.math_block)
    mathml = latex2mathml.tex2mathml(node.astext(), as_block=block)
    self.body.append(f'<div class="formula">{mathml}</div>' if block else mathml)
    raise nodes.SkipNode


def short_warning(message: Any, category: type, *_: Any, **__: Any) -> str:
    """A warning in the gallery without its place, a path of the machine that builds the pages."""
    return f"{category.__name__}: {message}\n"


def setup(app: Any) -> None:
    warnings.formatwarning = short_warning
    app.connect("autodoc-process-docstring", escape, priority=400)  # before numpydoc
    app.connect("autodoc-skip-member", skip_member)
    app.connect("source-read", results_stand_alone)
    app.connect("html-page-context", describe)
    app.connect("build-finished", live_pages)
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(visit_math, None),
        block_renderers=(visit_math, None),
    )


html_math_renderer = "mathml"
