"""The command line: parses, then calls the library. Needs the extra ``cli``."""

# No postponed annotations here: typer reads them, and typer is imported only when the application is made.
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ._cli._reproduce import run_reproduction, show_datasets

if TYPE_CHECKING:
    import typer


def _make_app() -> "typer.Typer":
    import typer
    from typer.core import TyperCommand

    class ListOptions(TyperCommand):
        """Lets an option that may be repeated take several values at once: ``--dataset adult bank``."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            many = {name for p in self.params if getattr(p, "multiple", False) for name in p.opts}
            return super().parse_args(ctx, spread(args, many))

    app = typer.Typer(
        name="parityboost",
        help="Fairness-aware boosting: train, audit, explain, and reproduce the paper behind it.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        add_completion=False,
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            from . import __version__

            typer.echo(f"parityboost {__version__}")
            raise typer.Exit

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

    @app.command(cls=ListOptions)
    def reproduce(
        figure: Annotated[
            list[int] | None, typer.Option(help="Only these figures of the paper, 1 to 13.", show_default="all")
        ] = None,
        dataset: Annotated[
            list[str] | None, typer.Option(help="Only these of adult, bank, compas, kdd.", show_default="all")
        ] = None,
        splits: Annotated[
            int | None, typer.Option(min=1, help="Number of random 50/50 splits.", show_default="10")
        ] = None,
        jobs: Annotated[int, typer.Option(help="Processes; 0: one per core.", min=0)] = 0,
        out: Annotated[Path, typer.Option(help="Folder of the results; running again goes on with it.")] = Path(
            "reproduction"
        ),
        quick: Annotated[
            bool, typer.Option("--quick", help="The bundled Adult only, 2 splits: about a minute.")
        ] = False,
        retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Repeat runs that failed before.")] = False,
    ) -> None:
        """Every table and figure of the paper, and a verdict on each of its claims."""
        names = dataset or (["adult"] if quick else None)
        n_splits = splits or (2 if quick else 10)
        with one_sentence():
            run_reproduction(figure or None, names, n_splits, jobs or os.cpu_count() or 1, out, retry_failed)

    return app


def spread(args: list[str], many: set[str]) -> list[str]:
    """``--dataset a b`` as ``--dataset a --dataset b``; commas separate as well."""
    result: list[str] = []
    option: str | None = None
    for arg in args:
        if arg.startswith("-"):
            option, fresh = (arg if arg in many else None), True
            result.append(arg)
            continue
        for value in arg.split(",") if option else [arg]:
            result += [value] if option is None or fresh else [option, value]
            fresh = False
    return result


@contextmanager
def one_sentence() -> Iterator[None]:
    """Bad input ends in one sentence on standard error and exit code 2, not in a traceback."""
    import typer

    try:
        yield
    except (ValueError, LookupError, OSError, ImportError) as error:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        typer.echo(f"Error: {text}", err=True)
        raise typer.Exit(2) from error


def __getattr__(name: str) -> Any:
    if name == "app":  # made when asked for, so that importing this module needs none of the extras
        return _make_app()
    raise AttributeError(name)
