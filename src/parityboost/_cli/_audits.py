"""``parityboost audit`` of decisions without outcomes, after Local Law 144, and over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from .._io.atomic import write_atomically
from .._io.model_json import load
from .._table.grouping import Grouping
from .._table.values import listed
from ..audit import audit, audit_over_time, audit_promise, local_law_144
from ..datasets._formats import TextFormat, read_file
from ..datasets._table import check_columns
from ._files import as_files, check_files, is_standard
from ._models import Page, exceeding, read_numbers


class Wanted(NamedTuple):
    """Which of these audits is asked for, and how."""

    without_outcomes: bool = False
    ll144: bool = False
    unknown: tuple[str, ...] = ()
    by: str | None = None
    every: str = "month"
    n_reference: int | None = None
    measure: list[str] | None = None
    chart: Path | None = None

    def check(self, target: str | None, prediction: str | None, scores: str | None, sensitive: list[str]) -> bool:
        """Whether it is one of these at all; what does not go together is an error."""
        own = self.without_outcomes or self.ll144 or self.by is not None
        if self.by is None and (self.n_reference is not None or self.chart is not None or self.every != "month"):
            raise ValueError("--every, --reference and --chart are about --by, which names the column of dates")
        if self.ll144 and (self.by is not None or len(sensitive) != 2):
            raise ValueError("--ll144 needs two columns, --sensitive SEX RACE, and is of all rows: --by cannot be used")
        if self.unknown and not self.ll144:
            raise ValueError("--unknown is about --ll144; --missing-group names the group of missing values")
        if self.without_outcomes and target is not None:
            raise ValueError(f"--without-outcomes looks at no outcomes, got --target {target}")
        if not own and target is None:
            raise ValueError("--target is missing: the column of true labels, or --without-outcomes if there is none")
        if prediction is None and not (self.ll144 and scores is not None):
            raise ValueError("--prediction is missing: the column of the predicted labels")
        if own and scores is not None and not (self.ll144 and prediction is None):
            raise ValueError("--scores is for audits with outcomes, or for --ll144 without --prediction")
        return own


def run(
    wanted: Wanted,
    data: Path,
    columns: dict[str, str | None],
    sensitive: list[str],
    stated: dict[str, Any],
    grouping: Grouping,
    page: Page,
    text_format: TextFormat,
) -> tuple[list[str], list[str]]:
    """What to tell the user, and what is beyond the limit; ``columns`` are those of target, prediction and so on."""
    check_files({"the data": data}, {"--report": page.path, "--chart": wanted.chart})
    page.check("--report")
    if page.about is not None:
        raise ValueError("--about is for the model card of a report with outcomes")
    with as_files(data=data) as files:
        table = read_file(files["data"], text_format)
    roles = {role: [name] for role, name in (columns | {"by": wanted.by}).items() if name is not None}
    check_columns(table, **roles, sensitive=sensitive)
    if len(table) == 0:
        raise ValueError(f"{data} has no rows, so there is nothing to audit")
    given: dict[str, Any] = {role: table[names[0]] for role, names in roles.items()}
    labels = {name: stated[name] for name in ("positive_label", "favourable")}
    found: Any
    too_far: list[str] = []
    if wanted.ll144:
        sex, race = (table[name] for name in sensitive)
        people: dict[str, Any] = {"sex": sex, "race": race, "scores": given.get("scores"), "unknown": wanted.unknown}
        found = local_law_144(given.get("prediction"), **people, **labels)
    elif wanted.by is not None:
        if "weights" in given:
            raise ValueError("--weights cannot be used with --by: every row counts as one")
        measures = wanted.measure or ["statistical_parity"]
        if len(measures) > 1:
            raise ValueError(f"--by follows one --measure at a time, got {listed(measures)}")
        found = audit_over_time(
            given["prediction"],
            by=given["by"],
            sensitive_features=grouping.apply(table[sensitive]),
            every=wanted.every,
            y_true=given.get("target"),
            measure=measures[0],
            limit=page.fail_above,
            n_reference=wanted.n_reference,
            confidence=stated["confidence"],
            **labels,
        )
        too_far = [sentence for sentence in found.summary() if sentence.startswith("Alarm")]
        if wanted.chart is not None:
            _draw(found, wanted.chart)
    else:
        stated |= {"sensitive_features": grouping.apply(table[sensitive])}
        if "weights" in given:
            stated["sample_weight"] = read_numbers(given["weights"], "--weights")
        found = audit(None, given["prediction"], **stated)
        too_far = exceeding(found.measures.query("measure == 'statistical_parity'"), page.fail_above, wanted.measure)
    told = [str(found)]
    if page.path is not None:
        write(found, page.path, page.title)
        told.append(f"Report: {page.path}")
    return told, too_far


def promise(
    model: Path,
    data: Path,
    target: str | None,
    prediction: str,
    sensitive: list[str],
    weights: str | None,
    text_format: TextFormat,
) -> tuple[str, list[str]]:
    """What to tell of decisions and the certificate of a model file, and which promise is broken.

    Groups are made as for the model, whatever the options say.
    """
    if is_standard(data):
        raise ValueError("--certificate reads the decisions once more: give a file instead of standard input")
    found = load(model)
    table = read_file(data, text_format)
    check_columns(table, prediction=[prediction], sensitive=sensitive)
    weight = None if weights is None else read_numbers(table[weights], "--weights")
    outcome = None if target is None else table[target]
    given = {"sensitive_features": table[sensitive], "sample_weight": weight}
    judged = audit_promise(found, outcome, table[prediction], **given)
    told = "\n".join(["Promise", *(f"- {sentence}" for sentence in judged.summary())])
    return told, [sentence for sentence in judged.summary()[1:] if judged.is_broken]


def write(found: Any, path: Path, title: str | None) -> None:
    """The audit as Markdown, JSON or a plain page."""
    if path.suffix == ".json":
        text = found.to_json() + "\n"
    elif path.suffix == ".md":
        text = found.to_markdown()
    else:
        from html import escape

        head = f'<meta charset="utf-8"><title>{escape(title or "Fairness audit")}</title>'
        style = "<style>body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
        style += "td,th{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #d8dce1}</style>"
        text = f'<!doctype html>\n<html lang="en"><head>{head}{style}</head><body>{found._repr_html_()}</body></html>\n'
    write_atomically(path, text.encode("utf8", "backslashreplace"))


def _draw(found: Any, path: Path) -> None:
    """The chart with its control limits, as a picture."""
    from ..plot import over_time

    figure: Any = over_time(found).get_figure()
    figure.savefig(path, dpi=150)
