"""Draws the first picture of README and home page, from what the models predict: ``python docs/images/hero.py``.

``python docs/images/hero.py explorer.html`` writes the explorer of the same models, as ``make docs`` does.
"""

import sys
from pathlib import Path

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from parityboost import AdaBoostClassifier, ParityBoostClassifier
from parityboost.datasets import load_adult

WIDTH, HEIGHT = 900, 352
STEP = 11.5  # from one of a hundred dots to the next
GREY, DARK, BLUE = "#7f7f7f", "#4d4d4d", "#0072b2"
WORDS, QUIET, MISSED = "#1a1c20", "#5c6370", "#e2e5ea"
NAMES = {
    "plain boosting": GREY,
    "gradient boosting": DARK,
    "ParityBoost": BLUE,
}
ALONE = "group-balanced weights alone"


def explored(without=None):
    """The models beside each other, on people whom none of them has seen."""
    adult = load_adult()
    X, X_test, y, y_test = train_test_split(
        adult.data, adult.target, test_size=0.5, random_state=0
    )
    sex, sex_test = X["sex"], X_test["sex"]
    columns = [name for name in X if name != without]
    X, X_test = X[columns], X_test[columns]
    fair = ParityBoostClassifier("equal_opportunity", random_state=0)
    fair.fit(X, y, sensitive_features=sex)
    alone = ParityBoostClassifier(
        "none",
        class_weight="balanced_groups",
        dial=False,
        threshold=0.0,
        random_state=0,
    )
    gradient = HistGradientBoostingClassifier(random_state=0)
    others = {
        "plain boosting": AdaBoostClassifier().fit(X, y),
        "gradient boosting": gradient.fit(X, y),
        ALONE: alone.fit(X, y, sensitive_features=sex),
    }
    return fair.explore(
        X_test,
        y_test,
        sensitive_features=sex_test,
        others=others,
        favourable=1,
        who="who earn over 50K",
        title="Adult census: who gets a yes?",
    )


def measured(explorer):
    """Per model, in people of 100 at as many yeses: which women and men it finds, and how often it is right."""
    table = explorer.table()
    for name in table.index.unique("model"):
        of = table.loc[name]
        found = [round(of.loc[group, "found"]) for group in ("Female", "Male")]
        yield name, (*found, of["right"].iloc[0])


def text(x, y, words, size=15, colour=WORDS, weight=400):
    style = f'font-size="{size}" font-weight="{weight}" fill="{colour}"'
    return f'<text x="{x}" y="{y}" {style}>{words}</text>'


def dots(x, y, colour, numbers):
    """Those of a hundred dots, in rows of ten, as one path of points."""
    at = [f"M{x + i % 10 * STEP:g} {y + i // 10 * STEP:g}h0" for i in numbers]
    style = f'stroke="{colour}" stroke-width="9.5" stroke-linecap="round"'
    return f'<path d="{"".join(at)}" {style}/>'


def panel(x, name, colour, women, men, right):
    """One model: a hundred women and a hundred men, and how often it is right."""
    parts = [text(x, 74, name, 17, colour, 700)]
    for left, people, found in ((x, "women", women), (x + 132, "men", men)):
        parts.append(text(left, 106, found, 24, colour, 700))
        parts.append(text(left + 36, 106, people, 16))
        parts.append(dots(left + 6, 124, colour, range(found)))
        parts.append(dots(left + 6, 124, MISSED, range(found, 100)))
    fewer, more = ("women", "men") if women < men else ("men", "women")
    gap = (
        f"{abs(men - women)} fewer {fewer} than {more}"
        if men != women
        else "as many women as men"
    )
    parts.append(text(x, 262, gap, 15, WORDS, 700))
    parts.append(text(x, 284, f"{right:.1f} of 100 answers are right"))
    return "\n".join(parts)


def draw():
    explorer = explored()
    models, record = dict(measured(explorer)), explorer.record
    yeses = round(record["stops"][record["models"][-1]["own"]])
    told = [
        f"{name} {models[name][0]} women and {models[name][1]} men ({models[name][2]:.1f} % right)"
        for name in NAMES
    ]
    said = f"With {yeses} yeses per 100 people, of 100 who earn over 50K find: {', '.join(told)}."
    question = f"With {yeses} yeses per 100 people: of 100 women and 100 men who earn over 50K, the model finds"
    people = f"Adult census, {record['n']:,} people who are new to all three models. All give as many people a yes."
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="-apple-system, Segoe UI, Helvetica, Arial, DejaVu Sans, sans-serif" role="img">',
        f"<title>{said}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#ffffff"/>',
        text(24, 38, question, 16, WORDS, 700),
        *(
            panel(24 + 296 * k, name, colour, *models[name])
            for k, (name, colour) in enumerate(NAMES.items())
        ),
        text(24, 322, people, 13, QUIET),
        "</svg>\n",
    ]
    Path(__file__).with_suffix(".svg").write_text("\n".join(parts), encoding="utf8")
    print(said)
    print(ALONE, models[ALONE])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        explored().save(sys.argv[1])
    else:
        draw()
