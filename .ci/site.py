"""Looks at the built site in a browser: ``python .ci/site.py docs/_build/html docs/_build/screenshots``.

Every page is opened at the width of a laptop and of a phone; pictures are kept, but not of the API's. A page is at
fault if it is wider than the window, if text lies on text, if code or a table is cut or the contents are hidden on the
laptop, if a table that is wide for the phone gives no hint that it goes on, if a picture is missing, if the console
shows an error, if it asks for anything outside the site, or if an example of the gallery draws nothing. Where no
browser is installed, it says so.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SIZES = {"laptop": (1280, 800), "phone": (390, 844)}
# Their pictures are also taken in dark colours.
SHOWN_DARK = ("index.html", "start.html", "guide/index.html", "results/README.html")

FAULTS_SEEN = r"""async () => {
  await Promise.all([...document.images].map(x => { x.loading = 'eager'; return x.decode().catch(() => {}) }))
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
  const words_of = new Set(['P', 'LI', 'UL', 'OL', 'DL', 'DIV', 'TABLE', 'H1', 'H2', 'H3', 'H4', 'BUTTON', 'LABEL'])
  const faults = [], scrolls = x => x.scrollWidth > x.clientWidth + 1, laptop = innerWidth > 1000
  for (const part of [document.documentElement, ...document.querySelectorAll('.content')])
    if (scrolls(part)) faults.push(`${part.scrollWidth - part.clientWidth} px wider than the window`)
  const drawn = document.querySelector('.sphx-glr-single-img, .sphx-glr-multi-img')
  if (document.querySelector('.sphx-glr-footer') && !drawn)
    faults.push('an example that draws nothing')
  const light = matchMedia('(prefers-color-scheme: light)').matches
  for (const picture of document.images) {
    const name = picture.getAttribute('src')
    if (!picture.naturalWidth) faults.push(`no picture at ${name}`)
    else if (light && getComputedStyle(picture).filter !== 'none') faults.push(`${name} is drawn for the dark`)
  }
  if (laptop)
    for (const code of document.querySelectorAll('.highlight pre'))
      if (scrolls(code)) faults.push(`code is cut: ${code.innerText.slice(0, 60)}`)
  for (const table of document.querySelectorAll('.table-wrapper, .scroll'))
    if (scrolls(table) && laptop && table.matches('.table-wrapper')) faults.push('a table is cut on the laptop')
    else if (scrolls(table) && !getComputedStyle(table).backgroundImage.includes('gradient'))
      faults.push('a table is cut without a hint')
  const leans = x => /rotate\((?!0|-?90)/.test(x.getAttribute('transform') ?? '')
  const beside = '.sidebar-drawer, .toc-drawer, .screen, header'
  const words = [...document.querySelectorAll('h1, h2, h3, h4, p, li, dt, dd, td, th, figcaption, label, button, text')]
    .filter(x => x.textContent.trim() && x.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
    .filter(x => ![...x.children].some(y => words_of.has(y.tagName)) && !x.closest(beside) && !leans(x))
    .map(x => [x, x.getBoundingClientRect()]).filter(([x, a]) => a.width > 1 && a.height > 1)
  words.sort(([, a], [, b]) => a.top - b.top)
  const met = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 4
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4
  for (let i = 0; i < words.length; i += 1)
    for (let j = i + 1; j < words.length && words[j][1].top < words[i][1].bottom; j += 1)
    {
      const [[one, a], [other, b]] = [words[i], words[j]], cut = x => x.textContent.trim().slice(0, 30)
      if (met(a, b) && !one.contains(other) && !other.contains(one))
        faults.push(`text on text: ${cut(one)} | ${cut(other)}`)
    }
  const contents = document.querySelector('.toc-drawer:not(.no-toc)')
  if (laptop && contents && contents.getBoundingClientRect().right > innerWidth + 1)
    faults.push('the contents of the page are hidden')
  return faults
}"""


def browser_path() -> str | None:
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def look(site: Path, pictures: Path | None = None) -> Iterator[str]:
    """What is wrong with the pages of a site, as one line each."""
    from playwright.sync_api import sync_playwright

    pages = sorted(path for path in site.rglob("*.html") if not path.relative_to(site).parts[0].startswith("_"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(color_scheme="light")
        heard = listen(page)
        for path in pages:
            name = path.relative_to(site)
            heard.clear()
            page.goto(path.as_uri())
            for size, (width, height) in SIZES.items():
                page.set_viewport_size({"width": width, "height": height})
                yield from (f"{name}, {size}: {fault}" for fault in page.evaluate(FAULTS_SEEN))
                if pictures is not None and not name.match("generated/*"):
                    take(page, pictures / size / name)
                    if str(name) in SHOWN_DARK:
                        page.emulate_media(color_scheme="dark")
                        take(page, pictures / f"{size}-dark" / name)
                        page.emulate_media(color_scheme="light")
            yield from (f"{name}: {error}" for error in heard)
        browser.close()


def listen(page: Any) -> list[str]:
    """A list that fills with the errors of a page, and with what it asks of the network."""
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else heard.append(asked.url))
    return heard


def take(page: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path.with_suffix(".png"), full_page=page.evaluate("document.body.scrollHeight") < 12_000)


def main(site: str, pictures: str) -> int:
    if browser_path() is None:
        print(f"no browser is installed (none of {', '.join(BROWSERS)}): nobody has looked at the pages")
        return 0
    shutil.rmtree(pictures, ignore_errors=True)
    faults = list(look(Path(site).resolve(), Path(pictures)))
    print("\n".join([*faults, f"{len(faults)} faults; pictures of the pages in {pictures}"]))
    return min(1, len(faults))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
