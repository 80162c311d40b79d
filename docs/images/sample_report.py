"""The sample report of the site, and its thumbnail.

``python docs/images/sample_report.py sample-report.html`` writes the report, as ``make docs`` does;
``python docs/images/sample_report.py`` draws the thumbnail anew, which needs Chromium.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from sklearn.model_selection import train_test_split

from parityboost import ParityBoostClassifier, report
from parityboost.datasets import load_adult

WIDTH, HEIGHT = (
    1000,
    790,
)  # of the part of the page that the thumbnail shows, each pixel twice as fine


def write(path: Path) -> None:
    """The recommended model on Adult, judged on the half that it has not seen, beside a plain model."""
    adult = load_adult()
    income = adult.target.map({0: "<=50K", 1: ">50K"})
    X, X_test, y, y_test = train_test_split(
        adult.data, income, test_size=0.5, random_state=0
    )
    model = ParityBoostClassifier(
        "equal_opportunity", positive=">50K", favourable=">50K", random_state=0
    )
    model.fit(X, y, sensitive_features=X[["sex"]])
    report.write_report(
        path,
        model,
        X_test,
        y_test,
        sensitive_features=X_test[["sex"]],
        train=(X, y),
        title="Who earns over 50K?",
        limit=0.05,
    )


def draw(path: Path) -> None:
    """The top of the report as a small picture."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file, shot = Path(folder) / "report.html", Path(folder) / "shot.png"
        write(page_file)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=2
        )
        page.goto(page_file.as_uri())
        page.screenshot(path=shot)
        browser.close()
        Image.open(shot).convert("RGB").quantize(24).save(path, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(Path(sys.argv[1]))
    else:
        draw(Path(__file__).with_name("sample-report.png"))
