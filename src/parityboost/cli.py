"""The command line: parses, then calls the library. Needs the extra ``cli``."""

# No postponed annotations here: typer reads them, and typer is imported only when the application is made.
# ruff: noqa: B008 (typer reads an option off the default that its parameter has)
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._cli._files import is_standard
from ._cli._reproduce import run_reproduction, show_datasets
from ._cli._running import as_number, command_class, read_bands, read_format, say, show_version, stop_if
from ._table.grouping import Grouping

if TYPE_CHECKING:
    import typer

TABLE = "CSV, TSV, text, JSON lines, Parquet, Excel or a folder of these; - is standard input"


def _make_app() -> "typer.Typer":
    import typer
    from typer import Argument, Option

    ours = command_class()
    app = typer.Typer(
        name="parityboost",
        help="Fairness-aware boosting: train, audit, explain, and reproduce the paper behind it.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        add_completion=False,
    )

    # Options of several commands.
    of_encoding = Option(None, help="Encoding of text files, such as latin-1.", show_default="utf-8")
    what_separates = "What separates fields: a character, tab, or ', ' to skip spaces."
    of_sep = Option(None, help=what_separates, show_default="as in the header")
    of_decimal = Option(None, help="Decimal sign of text files, . or ,", show_default="the point")
    of_bands = Option(None, help="Cut sensitive numbers into groups: --bands age=25,40,60.")
    of_missing = Option(
        None, help='Name of the group of missing sensitive values; "ignore": no group.', show_default="an error"
    )
    which_is_good = "Which of them is favourable to the person: ratios are of this one."
    of_favourable = Option(None, help=which_is_good, show_default="not stated")
    of_report = Option(None, help="Also write a report (.html, .md or .json).")
    of_title = Option(None, help="Heading of the report.", show_default="the file's name")
    whom = 'Whom a yes is right for, after "of 100 people": "who pay back".'
    of_who = Option(None, help=whom, show_default="whose TARGET is LABEL")
    of_about = Option(None, help="TOML file for the model card: purpose, owner, intended_use and so on.")
    of_limit = Option(
        None, help="Exit with 1 if the gap trained for is undefined or its whole interval lies above this."
    )
    where_dask_runs = "Parquet files on a Dask cluster, at an address such as tcp://host:8786, or on this machine."
    of_dask = Option(None, help=where_dask_runs, show_default="one process")
    own, own_rounds = "the method's own", "the method's own"
    what_to_maximize = "What to make as high as possible: balanced_accuracy or accuracy."
    of_maximize = Option(None, help=what_to_maximize, show_default="balanced accuracy, less the gap")
    cost = "Instead: what a false {} costs, where the other mistake costs 1 unless given."
    of_cost_fp = Option(None, help=cost.format("positive"), min=0, metavar="COST", show_default="no costs")
    of_cost_fn = Option(None, help=cost.format("negative"), min=0, metavar="COST", show_default="no costs")
    of_gap = Option(
        None,
        help="Largest gap between groups in each rate compared.",
        min=0,
        max=1,
        metavar="SHARE",
        show_default="none",
    )
    of_ratio = Option(
        None,
        help="Smallest ratio between groups; 0.8: four fifths.",
        min=0,
        max=1,
        metavar="SHARE",
        show_default="none",
    )
    of_capacity = Option(
        None, help="Largest share of people with a yes.", min=0, max=1, metavar="SHARE", show_default="none"
    )
    of_fpr = Option(None, help="Largest false positive rate.", min=0, max=1, metavar="SHARE", show_default="none")
    of_share = Option(
        None,
        help="Groups of a smaller share are not compared by limit and ratio.",
        min=0,
        max=1,
        metavar="SHARE",
        show_default="0",
    )
    of_confidence = Option(
        None, help="How sure --limit and --min-ratio are to be kept on people who are not known yet: 0.95, say."
    )

    @app.callback()
    def options(
        version: bool = Option(
            False, "--version", callback=show_version, is_eager=True, help="Show the version and exit."
        ),
    ) -> None:
        pass

    @app.command()
    def demo() -> None:
        """AdaBoost and AdaFair on the bundled Adult data, in one table."""
        from . import demo as module

        module.main()

    @app.command(cls=ours)
    def datasets(
        name: list[str] | None = Argument(None, help="adult, bank, compas, kdd; all if none is given."),
        download: bool = Option(False, "--download", help="Fetch what is not on this machine."),
    ) -> None:
        """The paper's datasets: which are here, and its Table 1 of those."""
        show_datasets(name or None, download)

    @app.command(cls=ours)
    def train(
        data: Path = Argument(..., help=f"{TABLE}."),
        target: str = Option(..., help="Column to predict; it has two values."),
        positive: str = Option(..., help="Which of them is the positive class."),
        sensitive: list[str] = Option(..., help="Sensitive column or columns; see --groups."),
        favourable: str | None = of_favourable,
        model: Path = Option(Path("model.json"), help="Where to save the model; - is standard output."),
        report: Path | None = of_report,
        title: str | None = of_title,
        about: Path | None = of_about,
        fail_above: float | None = of_limit,
        notion: str = Option(
            "disparate_mistreatment",
            help="What should be equal: disparate_mistreatment, equal_opportunity, statistical_parity, "
            "predictive_equality or none.",
        ),
        maximize: str | None = of_maximize,
        cost_false_positive: float | None = of_cost_fp,
        cost_false_negative: float | None = of_cost_fn,
        limit: float | None = of_gap,
        min_ratio: float | None = of_ratio,
        capacity: float | None = of_capacity,
        max_false_positive_rate: float | None = of_fpr,
        min_group_share: float | None = of_share,
        confidence: float | None = of_confidence,
        epsilon: float = Option(0.0, help="Tolerated difference between groups.", min=0),
        method: str = Option("parityboost", help="parityboost, the recommended model, or adafair, the paper's."),
        rounds: int | None = Option(None, help="Largest number of boosting rounds.", min=1, show_default=own_rounds),
        depth: int | None = Option(
            None, help="1: each tree looks at one column, 2: at two.", min=1, max=2, show_default=own
        ),
        dial: bool | None = Option(
            None,
            "--dial/--no-dial",
            help="Also train the plain model, so that blends of both can be chosen; --no-dial takes half the time.",
            show_default="--dial",
        ),
        threshold: str | None = Option(None, help='A number, "auto" or "per_group".', show_default=own),
        class_weight: str | None = Option(None, help='"auto", "balanced" or "balanced_groups".', show_default=own),
        c: float | None = Option(None, help="adafair: 1 is balanced error, 0 error.", min=0, max=1, show_default="1"),
        keep: float | None = Option(
            None,
            help="adafair: share of the balanced accuracy above one half to keep.",
            min=0,
            max=1,
            show_default="0",
        ),
        max_violation: float | None = Option(
            None, help="adafair: choose only among models with a sum of gaps up to this.", min=0
        ),
        weights: str | None = Option(None, help="Column of sample weights."),
        drop: list[str] | None = Option(None, help="Columns to leave out, such as identifiers."),
        exclude_sensitive: bool = Option(
            False, "--exclude-sensitive", "--blind", help="Train without the sensitive columns as features."
        ),
        groups: str | None = Option(
            None, help="Of several columns: crossed, each by itself, or both.", show_default="crossed"
        ),
        holdout: float | None = Option(
            None,
            help="Share of the rows to measure on.",
            min=0,
            max=0.9,
            show_default="0.3 with --report or --fail-above, else 0",
        ),
        seed: int = Option(0, help="Seed of every random choice."),
        jobs: int = Option(1, help="Threads; the model does not depend on it."),
        device: str = Option("cpu", help="cpu or cuda; the model does not depend on it."),
        bands: list[str] | None = of_bands,
        missing_group: str | None = of_missing,
        encoding: str | None = of_encoding,
        sep: str | None = of_sep,
        decimal: str | None = of_decimal,
        dask: str | None = of_dask,
    ) -> None:
        """Train on a table, save the model, write a report."""
        from ._cli import _dask, _models
        from ._cli._choices import read_wishes

        words = (None, "auto", "per_group")
        cut = threshold if threshold in words else as_number("--threshold", str(threshold))
        wishes = {"maximize": maximize, "limit": limit, "min_ratio": min_ratio, "capacity": capacity}
        wishes |= {"max_false_positive_rate": max_false_positive_rate, "min_group_share": min_group_share}
        wishes |= {"confidence": confidence}
        wishes |= {"cost_false_positive": cost_false_positive, "cost_false_negative": cost_false_negative}
        chosen: dict[str, Any] = {"n_estimators": rounds, "max_depth": depth, "dial": dial, "threshold": cut}
        chosen |= {"class_weight": class_weight, "c": c, "keep": keep, "max_violation": max_violation, "groups": groups}
        parameters = {"method": method, "notion": notion, "epsilon": epsilon, "n_jobs": jobs}
        parameters |= {"random_state": seed, "device": device, "bands": read_bands(bands)}
        parameters |= {"missing_group": missing_group, "favourable": favourable}
        parameters |= {name: value for name, value in chosen.items() if value is not None} | read_wishes(wishes)
        roles = _models.Roles(target, positive, sensitive, drop or [], exclude_sensitive, weights)
        if dask is not None:
            _dask.refuse(report=report, title=title, about=about, fail_above=fail_above, holdout=holdout)
            _dask.refuse(encoding=encoding, sep=sep, decimal=decimal)
            return say(_dask.train(data, roles, parameters, model, dask))
        page = _models.Page(report, title, about, fail_above)
        text_format = read_format(encoding, sep, decimal)
        told, too_far = _models.train(data, roles, parameters, model, page, holdout, text_format)
        say(told, err=is_standard(model))
        stop_if(too_far)

    @app.command(cls=ours)
    def predict(
        model: Path = Argument(..., help="A model file."),
        data: Path = Argument(..., help=f"Table with the columns of the training data: {TABLE}."),
        out: Path = Option(..., help="Where to write the table with prediction and probability; - is standard output."),
        sensitive: list[str] | None = Option(None, help="Group column(s), if the model needs them to predict."),
        reasons: int | None = Option(None, help="So many reasons for each unfavourable decision.", min=1),
        favourable: str | None = Option(None, help="Which decision is favourable.", show_default="the model's"),
        unnamed: list[str] | None = Option(None, help="Columns that may not be named as reasons."),
        score: bool = Option(False, "--score", help="Also the score: above 0 for the positive label."),
        encoding: str | None = of_encoding,
        sep: str | None = of_sep,
        decimal: str | None = of_decimal,
        dask: str | None = of_dask,
    ) -> None:
        """Predict a table of any size, piece by piece."""
        from ._cli import _dask, _models

        if dask is not None:
            _dask.refuse(encoding=encoding, sep=sep, decimal=decimal)
            _dask.refuse(reasons=reasons, favourable=favourable, unnamed=unnamed or None)
            return say(_dask.predict(model, data, out, sensitive or [], dask, score))
        why, text_format = _models.Why(reasons, favourable, unnamed or []), read_format(encoding, sep, decimal)
        told = _models.predict(model, data, out, sensitive or [], text_format, why, score)
        say(told, err=is_standard(out))

    @app.command(cls=ours)
    def choose(
        model: Path = Argument(..., help="A model file."),
        out: Path = Option(..., help="Where to save the model that is chosen; - is standard output."),
        maximize: str | None = of_maximize,
        cost_false_positive: float | None = of_cost_fp,
        cost_false_negative: float | None = of_cost_fn,
        limit: float | None = of_gap,
        min_ratio: float | None = of_ratio,
        capacity: float | None = of_capacity,
        max_false_positive_rate: float | None = of_fpr,
        min_group_share: float | None = of_share,
        confidence: float | None = of_confidence,
        without: list[str] | None = Option(None, help="Wishes of the model to give up, such as limit."),
        fairness: float | None = Option(None, help="Instead of wishes a blend: 0 is the plain model, 1 the fair one."),
        threshold: str | None = Option(None, help="Instead of wishes a threshold, or one for each group: 0.1,-0.2."),
    ) -> None:
        """The same model for other wishes, without training again; wishes that are not named stay."""
        from ._cli import _choices

        wishes = {"maximize": maximize, "limit": limit, "min_ratio": min_ratio, "capacity": capacity}
        wishes |= {"max_false_positive_rate": max_false_positive_rate, "min_group_share": min_group_share}
        wishes |= {"confidence": confidence}
        wishes |= {"cost_false_positive": cost_false_positive, "cost_false_negative": cost_false_negative}
        given = _choices.read_wishes(wishes), without or [], fairness, threshold
        say(_choices.choose(model, out, *given), err=is_standard(out))

    @app.command(cls=ours)
    def alternatives(
        model: Path = Argument(..., help="A model file."),
        out: Path | None = Option(None, help="Also write the table with all columns (.csv, .xlsx, …)."),
        confidence: float = Option(0.95, help="Coverage of the intervals."),
    ) -> None:
        """The record of alternatives: what else the model could be, and what it was chosen for."""
        from ._cli import _choices

        say(_choices.alternatives(model, out, confidence), err=is_standard(out))

    @app.command(cls=ours)
    def export(
        model: Path = Argument(..., help="A model file."),
        onnx: Path | None = Option(None, help="Write an ONNX graph, which runs without Python."),
        sql: Path | None = Option(None, help="Write an SQL query that scores a table; - is standard output."),
        table: list[str] | None = Option(None, help="Of SQL: the table; a schema first, if it has one."),
        dialect: str = Option(
            "duckdb", help="Of SQL: duckdb, sqlite, postgres, bigquery, snowflake, spark or databricks."
        ),
        keep: list[str] | None = Option(None, help="Of SQL: columns that the result has too, such as a key."),
        sensitive: list[str] | None = Option(None, help="Of SQL: group column(s), if the model needs them."),
        reasons: int | None = Option(None, help="Of SQL: so many reasons for unfavourable decisions.", min=1),
        unnamed: list[str] | None = Option(None, help="Of SQL: columns that may not be named as reasons."),
        contributions: bool = Option(False, "--contributions", help="Of ONNX and SQL: what each feature adds, too."),
        opset: int = Option(15, help="Of ONNX: version of its operators."),
        scorecard: Path | None = Option(None, help="Write a card of whole points to add up (.html or .csv)."),
        data: Path | None = Option(None, help=f"Of the card: rows to count changed decisions on, {TABLE}."),
        points: float = Option(600, help="Of the card: so many points stand for --odds."),
        odds: float = Option(1, help="Of the card: of the favourable label; 1 is where the decision changes."),
        double: float = Option(20, help="Of the card: so many points more double the odds."),
        favourable: str | None = Option(None, help="Of the card and reasons.", show_default="the model's"),
        encoding: str | None = of_encoding,
        sep: str | None = of_sep,
        decimal: str | None = of_decimal,
    ) -> None:
        """A saved model for use elsewhere: as an ONNX graph, an SQL query, or a card of points."""
        from ._cli import _export

        query = _export.Query(sql, table or [], dialect, keep or [], sensitive or [], reasons, unnamed or [])
        card = _export.Card(scorecard, data, points, odds, double)
        graph = _export.Graph(onnx, opset)
        text_format = read_format(encoding, sep, decimal)
        say(_export.export(model, graph, query, card, contributions, favourable, text_format), err=is_standard(sql))

    @app.command(cls=ours)
    def audit(
        data: Path = Argument(..., help=f"Table with labels and predictions of any model: {TABLE}."),
        target: str | None = Option(None, help="Column of the true labels, if there are any."),
        prediction: str | None = Option(None, help="Column of the predicted labels."),
        sensitive: list[str] = Option(..., help="Sensitive column or columns."),
        without_outcomes: bool = Option(False, "--without-outcomes", help="Who is selected how often."),
        ll144: bool = Option(False, "--ll144", help="New York's Local Law 144; --sensitive SEX RACE."),
        unknown: list[str] | None = Option(None, help="Values that stand for an unknown sex or race."),
        by: str | None = Option(None, help="Column of dates: follow the gaps over time, exit with 1 on an alarm."),
        every: str = Option("month", help="day, week, month, quarter or year."),
        reference: int | None = Option(None, help="How many periods to compare with.", show_default="a fifth", min=1),
        chart: Path | None = Option(None, help="Also draw the gaps with their control limits (.png, .svg or .pdf)."),
        positive: str | None = Option(None, help="The positive class.", show_default="larger label"),
        favourable: str | None = of_favourable,
        scores: str | None = Option(None, help="Column of predicted probabilities."),
        weights: str | None = Option(None, help="Column of sampling weights."),
        confidence: float = Option(0.95, help="Coverage of the intervals."),
        fail_above: float | None = Option(
            None, help="Exit with 1 if a measure is undefined or its whole interval lies above this."
        ),
        measure: list[str] | None = Option(
            None, help="Measures that --fail-above looks at.", show_default="the four notions'"
        ),
        certificate: Path | None = Option(
            None, help="Model file: is what it promises kept? Exit with 1 if it is broken beyond chance."
        ),
        report: Path | None = of_report,
        explorer: Path | None = Option(None, help="Also write the page that moves along the --scores (.html)."),
        title: str | None = of_title,
        about: Path | None = of_about,
        bands: list[str] | None = of_bands,
        missing_group: str | None = of_missing,
        control: list[str] | None = Option(None, help="Column(s) that people should be alike in to be compared."),
        encoding: str | None = of_encoding,
        sep: str | None = of_sep,
        decimal: str | None = of_decimal,
    ) -> None:
        """Audit predictions: rates per group and differences between groups, with confidence intervals."""
        from ._cli import _audits, _models

        grouping = Grouping(read_bands(bands), missing_group)
        named = {"scores": scores, "weights": weights}
        stated = {"positive_label": positive, "favourable": favourable, "confidence": confidence}
        page, text_format = _models.Page(report, title, about, fail_above), read_format(encoding, sep, decimal)
        wanted = _audits.Wanted(without_outcomes, ll144, tuple(unknown or ()), by, every, reference, measure, chart)
        if wanted.check(target, prediction, scores, sensitive):
            columns = {"target": target, "prediction": prediction} | named
            if certificate is not None and (ll144 or by is not None):
                raise ValueError("--certificate is of all decisions together: --ll144 and --by cannot be used")
            told, too_far = _audits.run(wanted, data, columns, sensitive, stated, grouping, page, text_format)
        else:
            roles = data, str(target), str(prediction), sensitive, control or [], named
            told, too_far = _models.audit(*roles, stated, grouping, page, measure, explorer, text_format)
        if certificate is not None:
            kept = _audits.promise(certificate, data, target, str(prediction), sensitive, weights, text_format)
            told, too_far = [*told, kept[0]], [*too_far, *kept[1]]
        say("\n".join(told))
        stop_if(too_far)

    @app.command(cls=ours)
    def report(
        model: Path = Argument(..., help="A model file."),
        data: Path = Argument(..., help=f"Rows that it was not trained on, with their labels: {TABLE}."),
        target: str = Option(..., help="Column of the true labels."),
        sensitive: list[str] = Option(..., help="Sensitive column or columns, as in training."),
        out: Path = Option(Path("report.html"), help="Where to write the report (.html, .md or .json)."),
        title: str | None = of_title,
        about: Path | None = of_about,
        fail_above: float | None = of_limit,
        against: Path | None = Option(None, help="Model file to compare with."),
        favourable: str | None = of_favourable,
        person: int | None = Option(None, help="Number of a row, from 1, to explain step by step.", min=1),
        encoding: str | None = of_encoding,
        sep: str | None = of_sep,
        decimal: str | None = of_decimal,
    ) -> None:
        """Report on a saved model: what it does to the groups of other rows, as a page or a model card."""
        from ._cli import _models, _report

        page, text_format = _models.Page(out, title, about, fail_above), read_format(encoding, sep, decimal)
        given = model, data, target, sensitive, page, against, person, favourable, text_format
        told, too_far = _report.report(*given)
        say(told)
        stop_if(too_far)

    @app.command(cls=ours)
    def explore(
        model: Path = Argument(..., help="A model file."),
        data: Path = Argument(..., help=f"Rows that it was not trained on, with their labels: {TABLE}."),
        target: str = Option(..., help="Column of the true labels."),
        sensitive: list[str] = Option(..., help="Sensitive column or columns, as in training."),
        out: Path = Option(Path("explorer.html"), help="Where to write the page."),
        against: list[Path] | None = Option(None, help="Model files to compare with."),
        favourable: str | None = of_favourable,
        who: str | None = of_who,
        title: str | None = of_title,
        encoding: str | None = of_encoding,
        sep: str | None = of_sep,
        decimal: str | None = of_decimal,
    ) -> None:
        """Whom a saved model finds at every number of yeses, as one small page to move along and to share."""
        from ._cli import _report

        words = {"favourable": favourable, "who": who, "title": title}
        text_format = read_format(encoding, sep, decimal)
        say(_report.explore(model, data, target, sensitive, out, against or [], words, text_format))

    @app.command(cls=ours)
    def explain(
        model: Path = Argument(..., help="A model file."),
        row: str | None = Option(None, help="Number of a row of --data, from 1, or a JSON object of values."),
        data: Path | None = Option(None, help="Table to take the row from."),
        feature: str | None = Option(None, help="Show what this feature's values add."),
        top: int = Option(15, help="How many features to show.", min=1),
        encoding: str | None = of_encoding,
        sep: str | None = of_sep,
        decimal: str | None = of_decimal,
    ) -> None:
        """What the model has learnt: importances, a feature's step function, or one row's score in parts."""
        from ._cli import _report

        say(_report.explain(model, row, data, feature, top, read_format(encoding, sep, decimal)))

    @app.command(cls=ours)
    def reproduce(
        figure: list[int] | None = Option(None, help="Only these figures of the paper, 1 to 13.", show_default="all"),
        dataset: list[str] | None = Option(None, help="Only these of adult, bank, compas, kdd.", show_default="all"),
        setting: list[str] | None = Option(
            None,
            help="Only these of text (the paper's), authors (their scripts'), ours (the defaults).",
            show_default="all",
        ),
        splits: int | None = Option(None, min=1, help="Number of random 50/50 splits.", show_default="10"),
        jobs: int = Option(0, help="Processes; 0: one per core.", min=0),
        out: Path = Option(Path("reproduction"), help="Folder of the results; running again goes on with it."),
        quick: bool = Option(False, "--quick", help="The bundled Adult, our defaults, 2 splits: about a minute."),
        retry_failed: bool = Option(False, "--retry-failed", help="Repeat runs that failed before."),
    ) -> None:
        """Every table and figure of the paper, and a verdict on each of its claims."""
        names = dataset or (["adult"] if quick else None)
        n_splits = splits or (2 if quick else 10)
        settings = setting or (["ours"] if quick else None)
        n_jobs = jobs or os.cpu_count() or 1
        run_reproduction(figure or None, names, settings, n_splits, n_jobs, out, retry_failed)

    return app


def __getattr__(name: str) -> Any:
    if name == "app":  # made when asked for, so that importing this module needs none of the extras
        return _make_app()
    raise AttributeError(name)
