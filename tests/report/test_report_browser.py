"""The report's page in a real browser: no errors, no requests, a slider whose numbers are Python's."""

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from conftest import DATA, make_people, needs_browser, needs_data
from parityboost import AdaFairClassifier, metrics, report
from parityboost.audit import audit
from parityboost.datasets import fetch_bank, fetch_compas, load_adult

pytestmark = [pytest.mark.slow, needs_browser]

PHONE = {"width": 390, "height": 844}
LONG = "a category with a name that is far too long to stand beside a bar </script>"


@pytest.fixture
def opened(browser):
    """Opens the page of a file as nobody has before. At the end there must have been no error and no request."""

    @contextmanager
    def opened(path, **options):
        trouble = []
        with browser.new_context(**options) as context:
            page = context.new_page()
            page.on("console", lambda message: trouble.append(message.text))
            page.on("pageerror", lambda error: trouble.append(str(error)))
            page.on("request", lambda request: trouble.append(request.url))
            page.goto(path.as_uri())
            assert page.locator("[data-chart]:has(svg)").count() == page.locator("[data-chart]").count() > 0
            yield page
        assert trouble == [path.as_uri()]  # the one request is the file itself

    return opened


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A report with every section: several groups, long names, a baseline."""
    X, y, group = make_people(600)
    X["job"] = np.where(np.arange(600) % 3 == 0, "cook", np.where(y == 1, LONG, "<b>smith</b>"))  # tells a lot
    group = pd.Series(np.where(np.arange(600) % 5 == 0, "a third group", group), name="team")
    model = AdaFairClassifier(n_estimators=30, random_state=0).fit(X, y, sensitive_features=group)
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.write_report(path, model, X, y, sensitive_features=group, train=(X, y))
    return path, model, X, y, group


def shown(page, cell):
    """A number of the page, in its own unit."""
    return float(page.locator(f'[data-cell="{cell}"]').inner_text().removesuffix("%"))


def check_round(page, theta, example):
    _, model, X, y, group = example
    predicted = list(model.staged_predict(X))[theta - 1]
    assert page.locator("#theta-now").inner_text() == f"{theta} rule{'s' if theta > 1 else ''}"
    expected = {
        "accuracy": np.mean(y == predicted),
        "balanced_accuracy": 1 - metrics.balanced_error_rate(y, predicted),
        "statistical_parity": metrics.statistical_parity_difference(y, predicted, sensitive_features=group),
        "equal_opportunity": metrics.equal_opportunity_difference(y, predicted, sensitive_features=group),
        "predictive_equality": metrics.predictive_equality_difference(y, predicted, sensitive_features=group),
        "disparate_mistreatment": metrics.disparate_mistreatment(y, predicted, sensitive_features=group),
    }
    table = metrics.group_table(y, predicted, sensitive_features=group).iloc[:-1]
    for g in range(len(table)):
        expected |= {f"tpr-{g}": table["tpr"].iloc[g], f"fpr-{g}": 1 - table["tnr"].iloc[g]}
        for rate in ("selection_rate", "accuracy"):
            expected[f"{rate}-{g}"] = table[rate].iloc[g]
    for cell, value in expected.items():
        assert shown(page, cell) == pytest.approx(100 * value, abs=0.0501), (theta, cell)
    marker = page.evaluate("document.querySelector('[data-chart=history]').data.at(-1).x")
    assert marker == [theta, theta]


@pytest.mark.no_cover
def test_the_slider_shows_the_measures_of_any_round(example, opened):
    path, model, *_ = example
    with opened(path) as page:
        check_round(page, model.theta_, example)
        slider = page.get_by_label("Number of rules")
        slider.focus()
        page.keyboard.press("Home")
        check_round(page, 1, example)
        page.keyboard.press("ArrowRight")
        check_round(page, 2, example)
        page.keyboard.press("End")
        check_round(page, model.n_estimators_, example)
        slider.fill("17")
        check_round(page, 17, example)
        assert slider.get_attribute("aria-valuetext") == "17 rules"
        page.get_by_role("button", name="Back to the model").click()
        check_round(page, model.theta_, example)


def test_the_theme_follows_the_system_and_the_button(example, opened):
    path, *_ = example
    colour = "getComputedStyle(document.querySelector('[data-chart=history] .xtick text')).fill"
    paper = "getComputedStyle(document.body).backgroundColor"
    with opened(path, color_scheme="dark") as page:
        dark = page.evaluate(f"[{colour}, {paper}]")
        page.get_by_role("button", name="Light theme").click()
        light = page.evaluate(f"[{colour}, {paper}]")
        assert page.get_by_role("button", name="Dark theme").is_visible()
        page.emulate_media(color_scheme="light")  # the reader has chosen: the system's wish no longer counts
        page.get_by_role("button", name="Dark theme").click()
        page.emulate_media(color_scheme="light")
        assert page.evaluate(f"[{colour}, {paper}]") == dark
    assert light[1] == "rgb(255, 255, 255)"
    assert all(one != other for one, other in zip(dark, light, strict=True))


def test_on_a_phone_parts_open_one_by_one_and_all_of_them_on_paper(example, opened):
    path, *_ = example
    open_ones = "[...document.querySelectorAll('main > section:not(.closed)')].map(section => section.id)"
    with opened(path, viewport=PHONE) as page:
        assert page.evaluate(open_ones) == ["summary"]
        assert page.evaluate("document.documentElement.scrollHeight") <= 8 * PHONE["height"]
        page.get_by_role("button", name="The model", exact=True).click()
        assert page.evaluate(open_ones) == ["summary", "model"]
        assert page.locator("[data-chart=importances] svg").first.is_visible()
        assert page.evaluate("document.querySelector('[data-chart=importances]')._fullLayout.width") <= PHONE["width"]
        page.get_by_role("link", name="Groups", exact=True).click()
        page.locator("#groups:not(.closed)").wait_for()
        page.emulate_media(media="print")
        page.locator("#data:not(.closed)").wait_for()
        assert page.get_by_text("The groups side by side").first.is_visible()
    with opened(path, viewport={"width": 1280, "height": 800}) as page:
        assert page.locator("section.closed").count() == page.locator("h2 > button").count() == 0


def test_a_phone_scrolls_down_only_and_the_keyboard_gets_everywhere(example, opened):
    path, *_ = example
    with opened(path, viewport=PHONE, has_touch=True) as page:
        page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "summary"
        unreachable = "[...document.querySelectorAll('.scroll')].filter(e => e.tabIndex < 0).length"
        assert page.evaluate(unreachable) == 0
        labels = page.evaluate("[...document.querySelectorAll('.ytick text')].map(e => e.textContent)")
        assert "<b>smith</b>" in labels  # the letters, not bold type
        narrow = "[...document.querySelectorAll('[data-chart]')].filter(e => e._fullLayout.width > innerWidth).length"
        assert page.evaluate(narrow) == 0


def test_the_model_is_a_dashed_line_until_the_slider_leaves_it(example, opened):
    shapes = "document.querySelector('[data-chart=history]').layout.shapes.map(e => [e.line.dash, e.visible])"
    with opened(example[0]) as page:
        assert page.evaluate(shapes) == [["dash", None], ["solid", False]]
        page.get_by_label("Number of rules").focus()
        page.keyboard.press("Home")
        assert page.evaluate(shapes)[1] == ["solid", True]


@pytest.mark.parametrize("width", [390, 1280])
def test_names_and_cells_of_a_chart_do_not_overprint_each_other(tmp_path, width, opened):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": rng.normal(size=3000), "a name that is too long for any screen " * 3: rng.integers(0, 9, 3000)}
    )
    y = ((X.iloc[:, 0] > 0) ^ (X.iloc[:, 1] % 2 == 0)).astype(int)
    group = rng.choice(["x", "y"], 3000)
    model = AdaFairClassifier("none", max_depth=2, n_estimators=60, random_state=0).fit(X, y, sensitive_features=group)
    report.write_report(tmp_path / "pairs.html", model, X, y, sensitive_features=group)
    overprinted = """(chart) => {
      const texts = [...document.querySelectorAll(`[data-chart=${chart}] :is(.heatmap-label, .ytick text, .ytitle)`)];
      const boxes = texts.map((text) => text.getBoundingClientRect()).filter((box) => box.width);
      const apart = (a, b) => a.right < b.left + 1 || a.bottom < b.top + 1;
      return boxes.filter((a, i) => boxes.some((b, j) => i < j && !apart(a, b) && !apart(b, a))).length;
    }"""
    title = "document.querySelector('[data-chart=pair-0] .xtitle').getBoundingClientRect()"
    with opened(tmp_path / "pairs.html", viewport={"width": width, "height": 800}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("[data-chart=pair-0] .heatmap-label").count() > 0 or width == 390
        for chart in ("pair-0", "importances"):
            assert page.evaluate(overprinted, chart) == 0
        assert page.evaluate(f"{title}.left") >= 0 and page.evaluate(f"{title}.right") <= width


def test_paper_is_white_and_shows_what_is_folded(example, opened):
    path, *_ = example
    with opened(path, color_scheme="dark") as page:
        folded = page.locator("details.data:not(.long) table").first
        assert not folded.is_visible()
        where = "[...document.querySelectorAll('details.data')].map(e => e.parentNode.id || e.parentNode.tagName)"
        places = page.evaluate(where)
        assert "appendix" not in places and places.count("MAIN") == 0
        assert page.pdf(format="A4").startswith(b"%PDF")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.set_viewport_size({"width": 680, "height": 960})
        page.emulate_media(media="print")
        page.locator("html[data-theme=light]").wait_for(state="attached")
        assert folded.is_visible()
        assert set(page.evaluate(where)) == {"appendix"}
        assert page.locator(".screen:visible").count() == 0
        assert not page.get_by_label("Number of rules").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 680
        page.emulate_media(media="screen")
        page.locator("html[data-theme=dark]").wait_for(state="attached")
        assert not folded.is_visible()
        assert page.evaluate(where) == places


def test_the_page_of_an_audit_works_without_a_model(tmp_path, opened):
    _, y, group = make_people(400)
    scores = np.random.default_rng(0).random(400)
    found = audit(y, (scores > 0.5).astype(int), sensitive_features={"team": group}, scores=scores)
    path = tmp_path / "audit.html"
    path.write_text(report.to_html(report.build_audit(found)), encoding="utf8")
    with opened(path, viewport=PHONE) as page:
        assert page.locator("[data-chart]").count() == 2
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert page.locator("#theta").count() == 0


DATASETS = {"adult": load_adult, "bank": fetch_bank, "compas": fetch_compas}


@pytest.fixture(
    scope="module", params=["adult", *(pytest.param(name, marks=needs_data) for name in ("bank", "compas"))]
)
def real(request, tmp_path_factory):
    """The report on a real table, with plain AdaBoost beside it."""
    data = DATASETS[request.param]()
    half = len(data.data) // 2
    model = AdaFairClassifier(n_estimators=60, random_state=0)
    model.fit(data.data[:half], data.target[:half], sensitive_features=data.sensitive[:half])
    path = tmp_path_factory.mktemp(request.param) / "report.html"
    rest = data.data[half:], data.target[half:]
    train = data.data[:half], data.target[:half]
    report.write_report(path, model, *rest, sensitive_features=data.sensitive[half:], train=train)
    return path


def ends_of(page, selector):
    """Where an element ends, in pixels from the top of the page."""
    return page.evaluate(f"document.querySelector('{selector}').getBoundingClientRect().bottom + scrollY")


@pytest.mark.no_cover
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_groups_are_seen_without_much_scrolling(real, scheme, opened):
    with opened(real, viewport={"width": 1280, "height": 800}, color_scheme=scheme) as page:
        assert ends_of(page, "[data-part=alone]") <= 400
        assert ends_of(page, ".pb-groups, .pb-rows li") <= 850  # the first screen
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        cut = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
        assert page.evaluate(cut) == 0  # no table is wider than a desktop's page


def test_printed_pages_are_full_and_the_groups_are_on_the_first_two(real, opened):
    pdfium = pytest.importorskip("pypdfium2", reason="pypdfium2 is not installed")
    with opened(real, viewport={"width": 1280, "height": 800}) as page:
        printed = page.pdf(format="A4")
    with pdfium.PdfDocument(printed) as document:
        sheets = [sheet.render(scale=0.5, grayscale=True).to_numpy() for sheet in document]
        texts = [sheet.get_textpage().get_text_range() for sheet in document]
    filled = []
    for sheet in sheets:
        margin = len(sheet) * 15 / 297
        last = int(np.flatnonzero((sheet.reshape(len(sheet), -1) < 245).any(axis=1))[-1])
        filled.append((last - margin) / (len(sheet) - 2 * margin))
    assert sum(share >= 0.5 for share in filled[:-1]) >= 0.95 * (len(filled) - 1), filled
    assert len(sheets) <= 20
    assert any("Each dot is a group of" in " ".join(text.split()) for text in texts[:2])
    assert not any("slider" in text for text in texts)
    assert "Appendix" in "".join(texts[-8:])


@pytest.mark.no_cover
@pytest.mark.filterwarnings("ignore")
@needs_data
def test_a_leak_is_told_on_the_first_screen(tmp_path, opened):
    raw = pd.read_csv(DATA / "compas-scores-two-years.csv")
    y, race = raw.pop("two_year_recid"), raw["race"]
    model = AdaFairClassifier(n_estimators=20, random_state=0).fit(raw[:4000], y[:4000], sensitive_features=race[:4000])
    path = tmp_path / "raw.html"
    report.write_report(path, model, raw[4000:], y[4000:], sensitive_features=race[4000:])
    with opened(path, viewport={"width": 1280, "height": 800}) as page:
        assert "nearly decide" in page.locator(".warning li").first.inner_text()
        assert ends_of(page, ".warning li") <= 400
        assert ends_of(page, ".pb-groups, .pb-rows li") <= 1200
    with opened(path, viewport=PHONE) as page:
        assert ends_of(page, ".warning li") <= PHONE["height"]
