"""Draws the first picture of README and home page, from what the models predict: ``python docs/images/hero.py``."""

from pathlib import Path

from sklearn.model_selection import train_test_split

from parityboost import AdaBoostClassifier, ParityBoostClassifier
from parityboost.datasets import load_adult
from parityboost.metrics import group_table

WIDTH, HEIGHT = 640, 352
STEP = 12.5  # from one of a hundred dots to the next
GREY, BLUE, WORDS, QUIET, MISSED = "#7f7f7f", "#0072b2", "#1a1c20", "#5c6370", "#e2e5ea"


def measured(without=None):
    """Per model, in per cent: which women and men it finds, and its accuracy; then how many people it met."""
    adult = load_adult()
    X, X_test, y, y_test = train_test_split(
        adult.data, adult.target, test_size=0.5, random_state=0
    )
    sex, sex_test = X["sex"], X_test["sex"]
    columns = [name for name in X if name != without]
    fair = ParityBoostClassifier("equal_opportunity", random_state=0)
    fair.fit(X[columns], y, sensitive_features=sex)
    for model in (AdaBoostClassifier().fit(X[columns], y), fair):
        predicted = model.predict(X_test[columns])
        table = group_table(y_test, predicted, sensitive_features=sex_test)
        percent = (100 * table).round().astype(int)
        found = percent["tpr"]
        yield found["Female"], found["Male"], percent["accuracy"]["all"], len(y_test)


def text(x, y, words, size=15, colour=WORDS, weight=400):
    style = f'font-size="{size}" font-weight="{weight}" fill="{colour}"'
    return f'<text x="{x}" y="{y}" {style}>{words}</text>'


def dots(x, y, colour, numbers):
    """Those of a hundred dots, in rows of ten, as one path of points."""
    at = [f"M{x + i % 10 * STEP:g} {y + i // 10 * STEP:g}h0" for i in numbers]
    style = f'stroke="{colour}" stroke-width="9.5" stroke-linecap="round"'
    return f'<path d="{"".join(at)}" {style}/>'


def panel(x, name, colour, women, men, accuracy):
    """One model: a hundred women and a hundred men, and how often it is right."""
    parts = [text(x, 74, name, 17, colour, 700)]
    for left, people, found in ((x, "women", women), (x + 148, "men", men)):
        parts.append(text(left, 106, found, 24, colour, 700))
        parts.append(text(left + 38, 106, people, 17))
        parts.append(dots(left + 6, 124, colour, range(found)))
        parts.append(dots(left + 6, 124, MISSED, range(found, 100)))
    fewer, more = ("women", "men") if women < men else ("men", "women")
    gap = (
        f"{abs(men - women)} fewer {fewer} than {more}"
        if men != women
        else "as many women as men"
    )
    parts.append(text(x, 276, gap, 15, WORDS, 700))
    parts.append(text(x, 298, f"{accuracy} of 100 answers are right"))
    return "\n".join(parts)


def draw():
    (women, men, right, n), (women_now, men_now, right_now, _) = measured()
    said = (
        f"Plain boosting finds {women} of 100 women and {men} of 100 men who earn over 50K, "
        f"parityboost {women_now} and {men_now}. Accuracy falls from {right} % to {right_now} %."
    )
    question = "Of 100 women and 100 men who earn over 50K, the model finds"
    price = f"The price is {right - right_now} points of accuracy."
    people = f"Adult census, {n:,} people who are new to both models."
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="-apple-system, Segoe UI, Helvetica, Arial, DejaVu Sans, sans-serif" role="img">',
        f"<title>{said}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#ffffff"/>',
        text(24, 38, question, 16, WORDS, 700),
        panel(24, "Plain boosting", GREY, women, men, right),
        panel(344, "parityboost", BLUE, women_now, men_now, right_now),
        f'<path d="M322 60V300" stroke="{MISSED}"/>',
        text(24, 322, price, 13, QUIET),
        text(24, 338, people, 13, QUIET),
        "</svg>\n",
    ]
    Path(__file__).with_suffix(".svg").write_text("\n".join(parts), encoding="utf8")


if __name__ == "__main__":
    draw()
