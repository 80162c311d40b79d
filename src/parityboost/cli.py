"""The command line: parses, then calls the library. Needs the extra ``cli``."""

# No postponed annotations here: typer reads them, and typer is imported only when the application is made.
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ._cli._files import check_files, check_report
from ._cli._options import as_number, read_bands, read_format
from ._cli._reproduce import run_reproduction, show_datasets
from ._cli._running import list_options, one_sentence, say, show_version, stop_if
from ._cli._streams import is_standard
from ._table.grouping import Grouping

if TYPE_CHECKING:
    import typer

TABLE = "CSV, TSV, text, JSON lines, Parquet, Excel or a folder of these; - is standard input"


def _make_app() -> "typer.Typer":
    import typer

    several = list_options()
    app = typer.Typer(
        name="parityboost",
        help="Fairness-aware boosting: train, audit, explain, and reproduce the paper behind it.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        add_completion=False,
    )

    # What says how text files are written, in several commands.
    encoding_option = Annotated[
        str | None, typer.Option(help="Encoding of text files, such as latin-1.", show_default="utf-8")
    ]
    sep_option = Annotated[
        str | None,
        typer.Option(
            help="What separates fields: a character, tab, or ', ' to skip spaces.", show_default="as in the header"
        ),
    ]
    decimal_option = Annotated[
        str | None, typer.Option(help="Decimal sign of text files, . or ,", show_default="the point")
    ]
    bands_option = Annotated[
        list[str] | None, typer.Option(help="Cut sensitive numbers into groups: --bands age=25,40,60.")
    ]
    missing_option = Annotated[
        str | None, typer.Option(help="Name of the group of missing sensitive values.", show_default="an error")
    ]

    favourable_option = Annotated[
        str | None,
        typer.Option(
            help="Which of them is favourable to the person: ratios are of this one.", show_default="not stated"
        ),
    ]
    title_option = Annotated[str | None, typer.Option(help="Heading of the report.", show_default="the file's name")]
    about_option = Annotated[
        Path | None, typer.Option(help="TOML file for the model card: purpose, owner, intended_use and so on.")
    ]
    fail_option = Annotated[
        float | None,
        typer.Option(help="Exit with 1 if the gap trained for is undefined or its whole interval lies above this."),
    ]

    dask_option = Annotated[
        str | None,
        typer.Option(
            help="Parquet files on a Dask cluster, at an address such as tcp://host:8786, or on this machine.",
            show_default="one process",
        ),
    ]

    @app.callback()
    def options(
        version: Annotated[
            bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
        ] = False,
    ) -> None:
        pass

    @app.command()
    def demo() -> None:
        """AdaBoost and AdaFair on the bundled Adult data, in one table."""
        from . import demo as module

        module.main()

    @app.command()
    def datasets(
        name: Annotated[
            list[str] | None, typer.Argument(help="adult, bank, compas, kdd; all if none is given.")
        ] = None,
        download: Annotated[bool, typer.Option("--download", help="Fetch what is not on this machine.")] = False,
    ) -> None:
        """The paper's datasets: which are here, and its Table 1 of those."""
        with one_sentence():
            show_datasets(name or None, download)

    @app.command(cls=several)
    def train(
        data: Annotated[Path, typer.Argument(help=f"{TABLE}.")],
        target: Annotated[str, typer.Option(help="Column to predict; it has two values.")],
        positive: Annotated[str, typer.Option(help="Which of them is the positive class.")],
        sensitive: Annotated[list[str], typer.Option(help="Sensitive column or columns; several are crossed.")],
        favourable: favourable_option = None,
        model: Annotated[Path, typer.Option(help="Where to save the model; - is standard output.")] = Path(
            "model.json"
        ),
        report: Annotated[Path | None, typer.Option(help="Also write a report (.html, .md or .json).")] = None,
        title: title_option = None,
        about: about_option = None,
        fail_above: fail_option = None,
        notion: Annotated[
            str,
            typer.Option(
                help="What should be equal: disparate_mistreatment, equal_opportunity, statistical_parity, "
                "predictive_equality or none."
            ),
        ] = "disparate_mistreatment",
        c: Annotated[float, typer.Option(help="1: balanced error, 0: error.", min=0, max=1)] = 1.0,
        epsilon: Annotated[float, typer.Option(help="Tolerated difference between groups.", min=0)] = 0.0,
        method: Annotated[
            str, typer.Option(help="parityboost, the recommended model, or adafair, the paper's.")
        ] = "parityboost",
        rounds: Annotated[
            int | None,
            typer.Option(help="Largest number of boosting rounds.", min=1, show_default="the method's own, 200"),
        ] = None,
        depth: Annotated[
            int | None,
            typer.Option(
                help="1: each tree looks at one column, 2: at two.", min=1, max=2, show_default="the method's own"
            ),
        ] = None,
        dial: Annotated[
            bool,
            typer.Option("--dial", help="Also train the plain model, for a report that moves between the two."),
        ] = False,
        threshold: Annotated[
            str | None, typer.Option(help='A number, "auto" or "per_group".', show_default="the method's own")
        ] = None,
        class_weight: Annotated[
            str | None, typer.Option(help='"balanced" or "balanced_groups".', show_default="the method's own")
        ] = None,
        keep: Annotated[
            float | None,
            typer.Option(
                help="Share of the balanced accuracy above one half to keep, 0.5 say.",
                min=0,
                max=1,
                show_default="the method's own",
            ),
        ] = None,
        max_violation: Annotated[
            float | None,
            typer.Option(help="Choose only among models with a difference up to this.", min=0),
        ] = None,
        drop: Annotated[list[str] | None, typer.Option(help="Columns to leave out, such as identifiers.")] = None,
        exclude_sensitive: Annotated[
            bool, typer.Option("--exclude-sensitive", help="Train without the sensitive columns as features.")
        ] = False,
        holdout: Annotated[
            float | None,
            typer.Option(
                help="Share of the rows to measure on.",
                min=0,
                max=0.9,
                show_default="0.3 with --report or --fail-above, else 0",
            ),
        ] = None,
        seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
        jobs: Annotated[int, typer.Option(help="Threads; the model does not depend on it.")] = 1,
        device: Annotated[str, typer.Option(help="cpu or cuda; the model does not depend on it.")] = "cpu",
        bands: bands_option = None,
        missing_group: missing_option = None,
        encoding: encoding_option = None,
        sep: sep_option = None,
        decimal: decimal_option = None,
        dask: dask_option = None,
    ) -> None:
        """Train on a table, save the model, write a report."""
        from ._cli import _dask, _models

        with one_sentence():
            words = (None, "auto", "per_group")
            cut = threshold if threshold in words else as_number("--threshold", str(threshold))
            chosen: dict[str, Any] = {"n_estimators": rounds, "max_depth": depth, "dial": dial or None}
            chosen |= {"threshold": cut, "class_weight": class_weight, "keep": keep}
            parameters = {"method": method, "notion": notion, "c": c, "epsilon": epsilon, "n_jobs": jobs}
            parameters |= {"max_violation": max_violation, "random_state": seed, "device": device}
            parameters |= {"bands": read_bands(bands), "missing_group": missing_group, "favourable": favourable}
            parameters |= {name: value for name, value in chosen.items() if value is not None}
            if dask is not None:
                _dask.refuse(report=report, title=title, about=about, fail_above=fail_above, holdout=holdout)
                _dask.refuse(encoding=encoding, sep=sep, decimal=decimal)
                told = _dask.train(data, target, positive, sensitive, parameters, model, dask, drop, exclude_sensitive)
                return say(told)
            text_format = read_format(encoding, sep, decimal)
            told, too_far = _models.train(
                data,
                target,
                positive,
                sensitive,
                parameters,
                model,
                _models.Page(report, title, about, fail_above),
                drop,
                exclude_sensitive,
                holdout,
                text_format,
            )
            say(told, err=is_standard(model))
        stop_if(too_far)

    @app.command(cls=several)
    def predict(
        model: Annotated[Path, typer.Argument(help="A model file.")],
        data: Annotated[Path, typer.Argument(help=f"Table with the columns of the training data: {TABLE}.")],
        out: Annotated[
            Path, typer.Option(help="Where to write the table with prediction and probability; - is standard output.")
        ],
        sensitive: Annotated[
            list[str] | None, typer.Option(help="Group column(s), if the model needs them to predict.")
        ] = None,
        encoding: encoding_option = None,
        sep: sep_option = None,
        decimal: decimal_option = None,
        dask: dask_option = None,
    ) -> None:
        """Predict a table of any size, piece by piece."""
        from ._cli import _dask, _models

        with one_sentence():
            if dask is not None:
                _dask.refuse(encoding=encoding, sep=sep, decimal=decimal)
                return say(_dask.predict(model, data, out, sensitive or [], dask))
            told = _models.predict(model, data, out, sensitive or [], read_format(encoding, sep, decimal))
            say(told, err=is_standard(out))

    @app.command(cls=several)
    def audit(
        data: Annotated[Path, typer.Argument(help=f"Table with labels and predictions of any model: {TABLE}.")],
        target: Annotated[str, typer.Option(help="Column of the true labels.")],
        prediction: Annotated[str, typer.Option(help="Column of the predicted labels.")],
        sensitive: Annotated[list[str], typer.Option(help="Sensitive column or columns.")],
        positive: Annotated[str | None, typer.Option(help="The positive class.", show_default="larger label")] = None,
        favourable: favourable_option = None,
        scores: Annotated[str | None, typer.Option(help="Column of predicted probabilities.")] = None,
        weights: Annotated[str | None, typer.Option(help="Column of sampling weights.")] = None,
        confidence: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
        fail_above: Annotated[
            float | None,
            typer.Option(help="Exit with 1 if a measure is undefined or its whole interval lies above this."),
        ] = None,
        measure: Annotated[
            list[str] | None,
            typer.Option(help="Measures that --fail-above looks at.", show_default="the four notions'"),
        ] = None,
        report: Annotated[Path | None, typer.Option(help="Also write a report (.html, .md or .json).")] = None,
        title: title_option = None,
        about: about_option = None,
        bands: bands_option = None,
        missing_group: missing_option = None,
        encoding: encoding_option = None,
        sep: sep_option = None,
        decimal: decimal_option = None,
    ) -> None:
        """Audit predictions: rates per group and differences between groups, with confidence intervals."""
        from ._cli import _models

        with one_sentence():
            check_files({"the data": data, "--about": about}, {"--report": report})
            check_report("--report", report)
            found = _models.audit(
                data,
                target,
                prediction,
                sensitive,
                positive,
                favourable,
                scores,
                weights,
                confidence,
                read_format(encoding, sep, decimal),
                Grouping(read_bands(bands), missing_group),
            )
            too_far = _models.exceeding(found.measures, fail_above, measure)
            say(str(found))
            if report is not None:
                page = _models.Page(report, title, about, fail_above)
                _models.write_audit(found, page, data, measure)
                say(f"Report: {report}")
        stop_if(too_far)

    @app.command(cls=several)
    def report(
        model: Annotated[Path, typer.Argument(help="A model file.")],
        data: Annotated[Path, typer.Argument(help=f"Rows that it was not trained on, with their labels: {TABLE}.")],
        target: Annotated[str, typer.Option(help="Column of the true labels.")],
        sensitive: Annotated[list[str], typer.Option(help="Sensitive column or columns, as in training.")],
        out: Annotated[Path, typer.Option(help="Where to write the report (.html, .md or .json).")] = Path(
            "report.html"
        ),
        title: title_option = None,
        about: about_option = None,
        fail_above: fail_option = None,
        against: Annotated[Path | None, typer.Option(help="Model file to compare with.")] = None,
        favourable: favourable_option = None,
        person: Annotated[
            int | None, typer.Option(help="Number of a row, from 1, to explain step by step.", min=1)
        ] = None,
        encoding: encoding_option = None,
        sep: sep_option = None,
        decimal: decimal_option = None,
    ) -> None:
        """Report on a saved model: what it does to the groups of other rows, as a page or a model card."""
        from ._cli import _models, _report

        with one_sentence():
            page = _models.Page(out, title, about, fail_above)
            text_format = read_format(encoding, sep, decimal)
            told, too_far = _report.report(
                model, data, target, sensitive, page, against, person, favourable, text_format
            )
            say(told)
        stop_if(too_far)

    @app.command()
    def explain(
        model: Annotated[Path, typer.Argument(help="A model file.")],
        row: Annotated[
            str | None, typer.Option(help="Number of a row of --data, from 1, or a JSON object of values.")
        ] = None,
        data: Annotated[Path | None, typer.Option(help="Table to take the row from.")] = None,
        feature: Annotated[str | None, typer.Option(help="Show what this feature's values add.")] = None,
        top: Annotated[int, typer.Option(help="How many features to show.", min=1)] = 15,
        encoding: encoding_option = None,
        sep: sep_option = None,
        decimal: decimal_option = None,
    ) -> None:
        """What the model has learnt: importances, a feature's step function, or one row's score in parts."""
        from ._cli import _explain

        with one_sentence():
            say(_explain.explain(model, row, data, feature, top, read_format(encoding, sep, decimal)))

    @app.command(cls=several)
    def reproduce(
        figure: Annotated[
            list[int] | None, typer.Option(help="Only these figures of the paper, 1 to 13.", show_default="all")
        ] = None,
        dataset: Annotated[
            list[str] | None, typer.Option(help="Only these of adult, bank, compas, kdd.", show_default="all")
        ] = None,
        setting: Annotated[
            list[str] | None,
            typer.Option(
                help="Only these of text (the paper's), authors (their scripts'), ours (the defaults).",
                show_default="all",
            ),
        ] = None,
        splits: Annotated[
            int | None, typer.Option(min=1, help="Number of random 50/50 splits.", show_default="10")
        ] = None,
        jobs: Annotated[int, typer.Option(help="Processes; 0: one per core.", min=0)] = 0,
        out: Annotated[Path, typer.Option(help="Folder of the results; running again goes on with it.")] = Path(
            "reproduction"
        ),
        quick: Annotated[
            bool, typer.Option("--quick", help="The bundled Adult, our defaults, 2 splits: about a minute.")
        ] = False,
        retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Repeat runs that failed before.")] = False,
    ) -> None:
        """Every table and figure of the paper, and a verdict on each of its claims."""
        names = dataset or (["adult"] if quick else None)
        n_splits = splits or (2 if quick else 10)
        with one_sentence():
            settings = setting or (["ours"] if quick else None)
            n_jobs = jobs or os.cpu_count() or 1
            run_reproduction(figure or None, names, settings, n_splits, n_jobs, out, retry_failed)

    return app


def __getattr__(name: str) -> Any:
    if name == "app":  # made when asked for, so that importing this module needs none of the extras
        return _make_app()
    raise AttributeError(name)
