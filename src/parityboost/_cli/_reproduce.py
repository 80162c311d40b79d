"""``parityboost reproduce`` and ``parityboost datasets``."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._running import say

if TYPE_CHECKING:
    from ..paper.experiments import Run


def show_datasets(names: list[str] | None, download: bool) -> None:
    """List the datasets, and Table 1 of those that are here."""
    from rich.console import Console
    from rich.table import Table

    from ..datasets import overview
    from ..datasets._loaders import TABLE_1

    console = Console()
    table = Table("name", "dataset", "on this machine", box=None, pad_edge=False)
    bunches = []
    for name in check_names(names or list(TABLE_1), TABLE_1, "dataset"):
        try:
            bunches.append(TABLE_1[name](download=download))
            table.add_row(name, bunches[-1].name, "yes")
        except OSError:
            if download:
                raise
            table.add_row(name, "", "no: parityboost datasets --download " + name)
    console.print(table)
    if bunches:
        console.print("\n[bold]Table 1[/bold]")
        print(overview(*bunches).to_string())


def check_names(names: list[str], known: Any, what: str) -> list[str]:
    """The names without repetition, all of them known."""
    for name in names:
        if name not in known:
            raise ValueError(f"unknown {what} {name!r}; known are {', '.join(map(str, known))}")
    return list(dict.fromkeys(names))


def run_reproduction(
    numbers: list[int] | None,
    names: list[str] | None,
    settings: list[str] | None,
    n_splits: int,
    n_jobs: int,
    out: Path,
    retry_failed: bool,
) -> None:
    """Make the runs that are missing, then write everything."""
    from rich.console import Console

    from ..datasets._loaders import TABLE_1
    from ..paper.experiments import FIGURES, SETTINGS, Store, perform
    from ..paper.experiments._pages import TITLE, count_claims, write_all
    from ..paper.experiments._plan import Scope
    from ..paper.experiments._runner import load
    from ..paper.experiments._store import widened

    check_folder(out, TITLE)
    all_numbers = [figure.number for figure in FIGURES]
    check_names([str(n) for n in numbers or []], [str(n) for n in all_numbers], "figure")
    datasets = check_names(names or list(TABLE_1), TABLE_1, "dataset")
    chosen = check_names(settings or list(SETTINGS), SETTINGS, "setting")
    asked = Scope.of(set(numbers or all_numbers), set(datasets), set(chosen), n_splits)
    store = Store(out / "runs")
    scope = widened(asked, out, store)  # before an hour of runs, not after it
    for name in scope.datasets:
        load(name)
    runs = asked.runs()
    missing = store.missing(runs, retry_failed)
    console = Console(stderr=True)
    to_do = f", {len(missing)} to be made in {min(n_jobs, len(missing))} processes" if missing else ""
    console.print(f"{len(runs)} runs on {', '.join(datasets)}: {len(runs) - len(missing)} are there{to_do}.")
    try:
        with progress(console, len(missing)) as on_done:
            perform(runs, store, n_jobs, on_done, retry_failed)
    except KeyboardInterrupt:
        left = len(store.missing(runs))
        say(f"\nStopped. {left} of {len(runs)} runs are left; go on with:\n  {command_of(asked, out)}", err=True)
        raise SystemExit(130) from None
    if scope != asked:
        console.print(f"{out} keeps what it has: it now shows {scope}.", highlight=False)
    with console.status("Writing tables and figures …"):
        claims = write_all(scope, store, out, command_of(scope, out))
    show_claims(claims, list(scope.settings))
    for name in scope.settings:
        say(count_claims(claims, name).replace("**", ""))
    say(f"Everything is in {out / 'README.md'}")
    failed = sum(record is not None and record["status"] == "failed" for record in map(store.load, runs))
    if failed:
        say(f"{failed} runs failed; rows.csv has the reasons. Repeat them with --retry-failed.", err=True)
        raise SystemExit(1)


def check_folder(out: Path, title: str) -> None:
    """The results go to a new folder or to that of an earlier reproduction, so that they replace nothing else."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out must be a folder, got the file {str(out)!r}")
    readme = out / "README.md"
    ours = (out / "runs").is_dir() or (readme.is_file() and readme.read_bytes().startswith(title.encode()))
    if out.is_dir() and any(out.iterdir()) and not ours:
        raise ValueError(
            f"--out must be a new folder or that of an earlier reproduction, got {str(out)!r}, which holds other files"
        )


def command_of(scope: Any, out: Path) -> str:
    """The command that makes what a folder covers."""
    from ..datasets._loaders import TABLE_1
    from ..paper.experiments import FIGURES, SETTINGS

    words = ["parityboost", "reproduce"]
    words += ["--figure", *map(str, scope.figures)] if len(scope.figures) < len(FIGURES) else []
    words += ["--dataset", *scope.datasets] if len(scope.datasets) < len(TABLE_1) else []
    words += ["--setting", *scope.settings] if len(scope.settings) < len(SETTINGS) else []
    words += ["--splits", str(scope.n_splits)] if scope.n_splits != 10 else []
    return shlex.join([*words, "--out", str(out)])


@contextmanager
def progress(console: Any, total: int) -> Iterator[Callable[[Run, dict[str, Any]], None]]:
    """A progress bar on a terminal, a line at every tenth of the way elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    done = 0
    with Progress(*columns, console=console) if console.is_terminal else nullcontext() as bar:
        task = None if bar is None else bar.add_task("", total=total)

        def tell(run: Run, record: dict[str, Any]) -> None:
            nonlocal done
            done += 1
            if record["status"] == "failed":
                console.print(f"{run.key} failed: {record['reason']}", highlight=False)
            if bar is not None and task is not None:
                bar.update(task, advance=1, description=f"{run.dataset} · {run.method} · split {run.split}")
            elif done % max(total // 10, 1) == 0 or done == total:
                console.print(f"{done}/{total} runs", highlight=False)

        yield tell


def show_claims(claims: Any, settings: list[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from ..paper.experiments._claims import NOT_MEASURED
    from ..paper.experiments._pages import readable_claims

    console = Console()
    if not console.is_terminal:
        console.width = 160  # nobody's window is to be kept to
    table = Table("where", "claim", "paper", *settings, box=box.SIMPLE_HEAD, pad_edge=False)
    measured = (claims[[f"{name}_verdict" for name in settings]] != NOT_MEASURED).any(axis=1)
    for row in readable_claims(claims[measured], settings).astype(str).to_dict("records"):
        table.add_row(*(escape(row[name]) for name in ("where", "claim", "paper", *settings)))
    if table.row_count:
        console.print(table)
