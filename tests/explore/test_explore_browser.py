"""The explorer's page in a real browser: its numbers are those of the rows, it asks for nothing, and all can use it."""

import os
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from conftest import needs_browser
from parityboost._stats.intervals import critical_z, wilson
from parityboost.explore import explore

# The file axe.min.js of the npm package axe-core, which finds what screen readers and keyboards cannot use.
AXE = Path(os.environ.get("AXE_CORE") or "/nonexistent")
pytestmark = [pytest.mark.slow, needs_browser]
LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u2028"


@pytest.fixture
def opened(browser):
    """Opens the page of a file as nobody has before. At the end there must have been no error and no request."""

    @contextmanager
    def opened(path, fragment="", **options):
        trouble = []
        with browser.new_context(permissions=["clipboard-read", "clipboard-write"], **options) as context:
            page = context.new_page()
            page.on("console", lambda message: trouble.append(message.text))
            page.on("pageerror", lambda error: trouble.append(str(error)))
            page.on("dialog", lambda dialog: trouble.append(dialog.message))
            page.on("request", lambda request: trouble.append(request.url))
            page.goto(path.as_uri() + fragment)
            yield page
        assert [each for each in trouble if not each.startswith(("data:", "blob:"))] == [path.as_uri()]

    return opened


def make(n_groups, n=3000, names=None, n_models=2, **options):
    rng = np.random.default_rng(n_groups)
    group = rng.integers(0, n_groups, n)
    y = (rng.random(n) < 0.3 + 0.03 * group % 5).astype(int)
    names = [f"group {k}" for k in range(n_groups)] if names is None else names
    scores = {f"model {k}": np.round(rng.normal(size=n) + (1 + k) * y - 0.05 * group, 3) for k in range(n_models)}
    s = np.array(names, dtype=object)[group]
    cutoffs = {"model 0": 0.7, "model 1": 0.4} if n_models > 1 else None
    return y, scores, s, explore(y, scores, sensitive_features=s, cutoffs=cutoffs, **options)


def stop_at(page, k):
    page.locator("input[type=range]").fill(str(k))


@pytest.mark.no_cover
@pytest.mark.parametrize("n_groups", [2, 3, 13])
def test_the_numbers_of_the_page_are_those_of_the_rows(tmp_path, n_groups, opened):
    y, scores, group, explorer = make(n_groups)
    explorer.save(tmp_path / "page.html")
    record, names = explorer.record, [each["name"] for each in explorer.record["groups"]]
    with opened(tmp_path / "page.html", viewport=LAPTOP) as page:
        for k in range(0, len(record["stops"]), 11):
            stop_at(page, k)
            yeses = round(record["stops"][k])
            assert page.locator("output").inner_text() == f"{yeses} of 100"
            assert page.get_by_text(f"With {yeses} yes").count() == 1
            facts = [
                [part.inner_text() for part in side.locator("dt, dd").all()] for side in page.locator(".pb-model").all()
            ]
            for m, (name, values) in enumerate(scores.items()):
                yes = values > record["models"][m]["cuts"][k]
                told = dict(zip(facts[m][::2], facts[m][1::2], strict=True))
                assert told["Right answers"] == f"{100 * np.mean(yes == y):.1f} of 100"
                for title, rows in (("people found", y == 1), ("wrong yeses", y == 0), ("yeses", y >= 0)):
                    shares = [100 * yes[rows & (group == g)].mean() for g in names]
                    gap = float(told[f"Gap in {title}"].split()[0])
                    assert gap == pytest.approx(max(shares) - min(shares), abs=0.0501)
                found = [100 * yes[(y == 1) & (group == g)].mean() for g in names]
                if n_groups <= 3:
                    shown = page.locator(".pb-model").nth(m).locator(".pb-groups strong").all_inner_texts()
                    dots = page.locator(".pb-model").nth(m).locator(".pb-groups svg").all()
                    assert [each.locator(".on").count() for each in dots] == [int(text) for text in shown]
                else:
                    rows = page.locator(".pb-rows li").all()
                    shown = [row.locator("div > span").nth(m).locator("strong").inner_text() for row in rows]
                    limits = page.locator(".pb-rows li").first.locator("div > span").nth(m).inner_text()
                    n = int(((y == 1) & (group == names[0])).sum())
                    low, high = (100 * float(end) for end in wilson(found[0] / 100, n, critical_z(0.95)))
                    assert f"({low:.0f} to {high:.0f})" in limits
                assert [int(text) for text in shown] == pytest.approx(found, abs=0.5001)
                assert f"{name} finds" in page.locator("[data-part=say]").inner_text()


def test_the_keyboard_moves_it_and_a_link_keeps_what_is_shown(tmp_path, opened):
    *_, explorer = make(2, n_models=3)
    path = tmp_path / "page.html"
    explorer.save(path)
    with opened(path, viewport=LAPTOP) as page:
        slider = page.get_by_label("How many of 100 people get a yes?")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.type") == "range"
        before = int(slider.input_value())
        page.keyboard.press("ArrowRight")
        assert int(slider.input_value()) == before + 1
        assert slider.get_attribute("aria-valuetext") == f"{round(explorer.record['stops'][before + 1])} of 100"
        page.keyboard.press("Home")
        assert page.locator("output").inner_text() == "1 of 100"
        page.get_by_label("model 1", exact=True).check(force=True)
        page.get_by_role("button", name="model 1’s choice").click()
        assert int(slider.input_value()) == explorer.record["models"][1]["own"]
        assert "model 1’s choice" in slider.get_attribute("aria-valuetext")
        page.get_by_label("model 2", exact=True).check(force=True)
        said = page.locator("[data-part=say]").inner_text()
        assert "model 2 finds" in said and "model 1" not in said
        page.get_by_role("button", name="Copy link").click()
        page.get_by_text("is copied").wait_for()
        link = page.evaluate("navigator.clipboard.readText()")
        assert link == page.url and link.startswith(path.as_uri() + "#yes=")
        code = page.locator("code").inner_text()
        assert code.splitlines()[1].startswith("scores['model 2'] > ")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save picture").click()
        assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    with opened(path, "#" + link.split("#")[1], viewport=PHONE) as page:
        assert page.locator("[data-part=say]").inner_text() == said
        page.evaluate("location.hash = '#yes=oops&model=nobody'")
        assert page.locator("[data-part=say]").inner_text() == said


LONG = [f"a group whose name has sixty letters, and it is number {k:05}" for k in range(13)]
PAGES = {
    "two": {"n_groups": 2},
    "three": {"n_groups": 3, "names": [f"{HOSTILE} {k}" for k in range(3)], "who": HOSTILE, "title": HOSTILE},
    "thirteen": {"n_groups": 13, "names": LONG, "min_group_size": 100},
    "hostile": {"n_groups": 13, "names": [f"{HOSTILE} {k}" for k in range(13)], "who": HOSTILE},
    "one model": {"n_groups": 5, "n_models": 1},
    "everything": {
        "n_groups": 2,
        "n_models": 6,
        "alternatives": [{"label": f"at most {k} points apart, the safest of all", "cutoff": k / 5} for k in range(4)],
        "certificate": {"Promised": "a gap of at most 2 points", "Tested on": "4,000 people"},
    },
}


@pytest.mark.no_cover
@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("kind", PAGES)
def test_nothing_is_cut_or_overprinted(tmp_path, kind, viewport, opened):
    *_, explorer = make(**PAGES[kind])
    explorer.save(tmp_path / "page.html")
    overprinted = """() => {
      const words = '.pb-marks button, .pb-groups p, .pb-name, dd, dt, .pb-rows b, .pb-rows span, legend';
      const boxes = [...document.querySelectorAll(words)]
        .map((part) => [part, part.getBoundingClientRect()]).filter(([part, box]) => box.width > 1 && box.height > 1);
      const apart = (a, b) => a.right < b.left + 1 || a.bottom < b.top + 1;
      const meet = ([one, a], [other, b]) => !one.contains(other) && !apart(a, b) && !apart(b, a);
      const met = boxes.filter((one, i) => boxes.some((other, j) => i < j && meet(one, other)));
      return met.map(([part]) => part.textContent);
    }"""
    with opened(tmp_path / "page.html", viewport=viewport) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        assert page.evaluate(overprinted) == []
        if kind == "thirteen":
            small = page.locator(".pb-rows li.small")
            assert 0 < small.count() < 13
            assert "too few to say" in small.first.inner_text()
        if kind == "everything":
            page.get_by_role("button", name="at most 3 points").click()
            assert page.get_by_text("a gap of at most 2 points").is_visible()
            assert "0.6" in page.locator("code").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["two", "thirteen", "everything"])
def test_a_checker_of_accessibility_finds_nothing(tmp_path, kind, scheme, opened):
    if not AXE.is_file():
        pytest.skip("AXE_CORE names no axe.min.js: npm pack axe-core has one")
    *_, explorer = make(**PAGES[kind])
    explorer.save(tmp_path / "page.html")
    for viewport in (LAPTOP, PHONE):
        with opened(tmp_path / "page.html", viewport=viewport, color_scheme=scheme) as page:
            page.evaluate(AXE.read_text(encoding="utf8"))
            told = "axe.run().then(found => found.violations.map(each => [each.id, each.nodes.map(node => node.html)]))"
            assert page.evaluate(told) == []


def test_paper_shows_the_state_and_a_page_without_scripts_one_setting(tmp_path, opened):
    *_, explorer = make(2)
    explorer.save(tmp_path / "page.html")
    with opened(tmp_path / "page.html", color_scheme="dark") as page:
        stop_at(page, 20)
        said = page.locator("[data-part=say]").inner_text()
        page.emulate_media(media="print", color_scheme="light")
        assert page.locator("[data-part=say]").inner_text() == said
        assert not page.locator("input[type=range]").is_visible() and not page.get_by_role("button").first.is_visible()
        assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
        assert page.pdf(format="A4").startswith(b"%PDF")
    with opened(tmp_path / "page.html", java_script_enabled=False) as page:
        table = explorer.table()
        cells = page.locator("noscript tbody tr").first.locator("td").all_inner_texts()
        assert cells == [
            *table.index[0],
            *(f"{table[name].iloc[0]:.1f}" for name in ("found", "wrong", "yes", "right")),
        ]


def test_a_million_rows_take_seconds(tmp_path):
    rng = np.random.default_rng(0)
    n = 1_000_000
    y, group = rng.integers(0, 2, n), rng.integers(0, 10, n)
    scores = {f"model {k}": rng.normal(size=n) + y for k in range(4)}
    started = time.process_time()
    explore(y, scores, sensitive_features=group).save(tmp_path / "page.html")
    assert time.process_time() - started < 5
    assert (tmp_path / "page.html").stat().st_size < 100_000
