"""Command lines as people and accidents write them: odd tables, wrong options, outputs that are inputs or no files.

Whatever is asked for, the exit code is 0, 1 or 2, an error is one sentence that names the culprit, and nothing is lost:
inputs stay as they are, and a command that fails leaves no trace.
"""

import csv
import gzip
import json
import os
import re
import select
import stat
import tempfile
import threading
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import yaml
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from parityboost import cli, load

from .columns import objects, pick
from .engine import ACCEPTED, REFUSED
from .fitting import DATA_REFUSED
from .tables import chance

NAMES = [
    *("skill", "years", "job", "city", "a,b", "ü", "two words", "[red]", "\x1b[31mred", 'with "quotes"', "-dash", "0"),
    *("tab\tbed", "line\nbreak", "x" * 150, "prediction_", "日本", "'single'", "a;b", "=1+1", "%s", "{}"),
    *("<img src=x onerror=alert(1)>", "[a](javascript:b)", "![i](http://x/y)", "| - | # h", "\x7f"),
]
TEXTS = [
    *(["clerk", "cook", 'smith; "jr"', "", "NA"], [" Private", "Private", "  State-gov"], ["1", "2", "A", "07"]),
    *(
        ["=1+1", "+1", "@x", "-x"],
        ["00456", "null", "456", "x"],
        ["<b>bold</b>", "`c` *d* [e](f)", "|"],
        ["é", "日本", "é "],
    ),
]
CODES = [1, 2, "A", "07"]  # text where all cells are text, numbers and text where they need not be
LARGE = [2**53, 2**53 + 1, 2**53 + 2]  # which no float tells apart
# Of what may be drawn again: a file of each kind holds the same table.
KINDS = [".csv", ".tsv", ".txt", ".csv.gz", ".parquet", ".jsonl", ".xlsx", ".CSV"]
LABELS = [
    (" <=50K", " >50K"),
    ("no", "yes"),
    (0, 1),
    (1, 2),
    (False, True),
    (0.0, 1.0),
    ("<=50K", ">50K"),
    ("n o", "y,es"),
    ("-1", "1"),
]
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
RUNNER = CliRunner()
MARKDOWN = MarkdownIt("commonmark").enable("table")


class World:
    """A folder with a table, and what is to become of it."""

    def __init__(self, rng):
        self.rng = rng
        self.words = []  # of which an error must name one
        self.must_fail = False
        n_rows = int(rng.integers(20, 120))
        names = [str(name) for name in rng.permutation(NAMES)[:5]]
        at = next(j for j, name in enumerate(names) if "," not in name)  # a comma separates sensitive columns
        self.sensitive = names.pop(at)
        self.features, self.target = names[:3], names[3]
        self.labels = pick(rng, LABELS)
        group = np.arange(n_rows) % int(pick(rng, [2, 2, 3]))
        y = (np.arange(n_rows) // 3 + rng.integers(2, size=n_rows)) % 2
        skill = y + rng.normal(size=n_rows)
        groups = pick(rng, [["f", "m", "x"], [0, 1, 2], ["a b", "c,d", "é"], LARGE])
        columns = {
            names[0]: np.round(skill, 2),
            names[1]: pick(rng, [rng.integers(0, 30, n_rows), objects([pick(rng, CODES) for _ in range(n_rows)])]),
            names[2]: rng.choice(pick(rng, TEXTS), n_rows),
            self.target: [self.labels[label] for label in y],
            self.sensitive: [groups[k] for k in group],
        }
        self.may_be_missing = groups is LARGE  # some of the groups are, then
        if self.may_be_missing:
            unknown = rng.random(n_rows) < 0.1
            unknown[: 2 * len(LARGE)] = False
            columns[self.sensitive] = objects([None if unknown[j] else groups[k] for j, k in enumerate(group)])
        self.table = pd.DataFrame(columns).sample(frac=1, random_state=int(rng.integers(1000)), axis=1)

    def wrong(self, *words):
        self.words += [str(word) for word in words]
        self.must_fail = True

    def odd(self, *words):
        self.words += [str(word) for word in words]


# --- Tables ----------------------------------------------------------------------------------------------------------


def write_table(world, folder):
    """The table as a file, or as a folder of files; its path."""
    rng, table = world.rng, world.table
    suffix = pick(rng, [".csv"] * 5 + KINDS)
    if not can_be(table, suffix):
        suffix = ".csv"
    if chance(rng, 0.8):
        path = folder / (pick(rng, ["data", "some data", "d'ata", "ü"]) + suffix)
        write_file(rng, table, path)
        return path
    parts = folder / "parts"
    parts.mkdir()
    at = sorted(rng.integers(1, len(table), size=int(rng.integers(1, 3))).tolist())
    for j, (start, end) in enumerate(zip([0, *at], [*at, len(table)], strict=True)):
        write_file(rng, table.iloc[start:end], parts / f"part {j}{suffix}")
    for name in ("_SUCCESS", ".hidden.csv"):  # which are no parts
        (parts / name).write_text("x")
    if chance(rng, 0.1):
        (parts / "part 9.jsonl" if suffix != ".jsonl" else parts / "part 9.csv").write_text("{}")
        world.wrong("parts")
    elif chance(rng, 0.1):
        write_file(rng, table.iloc[:5, :2], parts / f"part 9{suffix}")
        world.wrong("part 9", "parts")
    return parts


def can_be(table, suffix):
    """Whether files of that kind can hold the table at all: a sheet has no control characters and no large numbers."""
    cells = [*table.columns, *table.to_numpy().flat]
    return suffix != ".xlsx" or not any(CONTROL.search(str(cell)) or cell in LARGE for cell in cells)


def write_file(rng, table, path):
    suffix = "".join(path.suffixes[-2:]) if path.name.endswith(".gz") else path.suffix
    if suffix in (".parquet", ".jsonl", ".xlsx"):
        table = as_read(table)
        if suffix == ".parquet":
            mixed = [name for name in table if len({type(value) for value in table[name].dropna()}) > 1]
            table.astype(dict.fromkeys(mixed, "str")).to_parquet(path, index=False)
        elif suffix == ".xlsx":
            table.to_excel(path, index=False)
            remove_formulas(path)
        else:
            table, ascii_only = table.astype(object), chance(rng, 0.5)
            rows = table.where(table.notna(), None).to_dict("records")
            path.write_text("".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows), encoding="utf8")
        return
    semicolons = not any("," in name for name in table.columns)  # else they are not recognised
    separator = "\t" if suffix == ".tsv" else pick(rng, [",", ",", ";" if semicolons else ","])
    end, mark = pick(rng, ["\n", "\r\n"]), pick(rng, ["utf8", "utf8", "utf-8-sig"])
    text = table.to_csv(index=False, sep=separator, lineterminator=end, na_rep=pick(rng, ["", "NA"]))
    data = text.encode(mark)
    path.write_bytes(gzip.compress(data) if suffix == ".csv.gz" else data)


def as_read(table):
    """What a text file says is missing, missing; whole numbers stay whole beside it."""
    read = table.astype(object).replace({"": None, "NA": None, "null": None}).infer_objects()
    for name in [name for name in table if any(value in LARGE for value in table[name])]:
        read[name] = pd.array(table[name].tolist(), dtype="Int64")
    return read


def remove_formulas(path):
    """Text that starts with = is text; openpyxl writes it as a formula."""
    book = openpyxl.load_workbook(path)
    for row in book.active.iter_rows():
        for cell in row:
            if cell.data_type == "f":
                cell.data_type = "s"
    book.save(path)


def spoil_table(world, path):
    """Make a file unreadable, or a table that nothing can be learnt from."""
    rng, table = world.rng, world.table
    if path.is_dir():  # whose files were spoilt when it was made
        return path
    kind = pick(rng, list(SPOILT))
    world.odd(path.name, path)
    if kind == "cells":
        column = pick(rng, [world.target, world.sensitive, *world.features])
        value = pick(rng, [None, "third", 1e400, "\x00", "10" * 300, " ", "-", "1e9999", "x" * 100_000])
        spoilt = table.astype(object)
        spoilt.loc[int(rng.integers(len(table))), column] = value
        spoilt.to_csv(path.with_suffix(".csv"), index=False)
        world.odd(column, repr(column), repr(column)[1:-1], "target", "sensitive", "row")
        return path.with_suffix(".csv")
    SPOILT[kind](world, path)
    return path


def rewrite(change, *more, fails=True):
    def spoil(world, path):
        plain = world.table.to_csv(index=False).encode()
        path.write_bytes(change(plain))
        # A byte in the wrong place may make one of the columns something else.
        (world.wrong if fails else world.odd)(path.name, "target must be", "sensitive must be", "column '", *more)

    return spoil


def make_folder(world, path):
    path.unlink()
    path.mkdir()
    world.wrong(path.name)


SPOILT = {
    "cells": None,
    "missing": lambda world, path: (path.unlink(), world.wrong(path.name)),
    "folder": make_folder,
    "empty": rewrite(lambda data: b""),
    "header": rewrite(lambda data: data[: data.index(b"\n") + 1], fails=False),
    "no end": rewrite(lambda data: data[: len(data) // 2], "target", "sensitive", "row", "class", fails=False),
    "ragged": rewrite(lambda data: data + b"1,2,3,4,5,6,7,8,9,10\n", fails=False),
    "latin-1": rewrite(lambda data: data + b"\xe9,\xe9,\xe9,\xe9,\xe9\n"),
    "nul": rewrite(lambda data: data.replace(b"1", b"\0"), "target", "sensitive", "class", fails=False),
    "quotes": rewrite(lambda data: data + b'"', fails=False),
    "random": rewrite(lambda data: np.random.default_rng(len(data)).bytes(500)),
    "many columns": rewrite(lambda data: b",".join(b"c%d" % i for i in range(3000)) + b"\n" + b"1," * 2999 + b"1\n"),
    "same names": rewrite(lambda data: b"a,a,a,a,a\n" + data.partition(b"\n")[2]),
    "one row": rewrite(lambda data: b"\n".join(data.split(b"\n")[:2]) + b"\n", "class", "group", "target", fails=False),
}


# --- Command lines ---------------------------------------------------------------------------------------------------

WISHES = [
    *(("--maximize", "accuracy"), ("--maximize", "balanced_accuracy"), ("--cost-false-negative", "5")),
    *(("--cost-false-positive", "0.5"), ("--limit", "0"), ("--limit", "0.2"), ("--limit", "1"), ("--min-ratio", "0.8")),
    *(("--capacity", "0.3"), ("--max-false-positive-rate", "0.1"), ("--min-group-share", "0.2")),
]
BAD_WISHES = [
    *(("--maximize", "profit"), ("--cost-false-negative", "-1"), ("--limit", "2"), ("--limit", "nan")),
    *(("--min-ratio", "0"), ("--capacity", "0"), ("--max-false-positive-rate", "x"), ("--min-group-share", "-0.1")),
]
SOUND_OPTIONS = [
    *(
        ["--c", "0.5"],
        ["--epsilon", "0.1"],
        ["--threshold", "auto"],
        ["--threshold", "per_group"],
        ["--holdout", "0.3"],
    ),
    *(["--class-weight", "balanced"], ["--notion", "none"], ["--notion", "statistical_parity"], ["--seed", "7"]),
    *(["--exclude-sensitive"], ["--jobs", "2"], ["--jobs", "-1"], ["--threshold", "-0.5"], ["--holdout", "0"]),
    *(
        ["--method", "adafair"],
        ["--method", "adafair"],
        ["--method", "parityboost"],
        ["--depth", "1"],
        ["--depth", "2"],
    ),
    *(["--dial", "--method", "parityboost"], ["--keep", "0.9"], ["--max-violation", "0.05"], ["--encoding", "utf-8"]),
    *(["--no-dial"], ["--c", "0"], *([option, value] for option, value in WISHES)),
]
BAD_OPTIONS = [
    *(
        ["--c", "2"],
        ["--c", "x"],
        ["--epsilon", "-1"],
        ["--rounds", "0"],
        ["--rounds", "many"],
        ["--threshold", "best"],
    ),
    *(["--threshold", "nan"], ["--class-weight", "even"], ["--notion", "fair"], ["--holdout", "0.99"], ["--seed", "x"]),
    *(["--drop", "no such column"], ["--jobs", "0"], ["--jobs", "x"], ["--no-such-option", "1"], ["--seed", "-1"]),
    *(["--target", "no such column"], ["--sensitive", "no such column"], ["--positive", "no such value"]),
    *(["--rounds", "1" * 5000], ["--seed", str(10**30)], ["--epsilon", "nan"], ["--c", "nan"], ["--jobs", "100000"]),
    *(["--method", "best"], ["--depth", "3"], ["--keep", "2"], ["--max-violation", "-1"], ["--bands", "no such=1,2"]),
    *(["--encoding", "no such"], ["--decimal", ";"], ["--sep", "ab"], ["--device", "gpu"]),
    *(["--weights", "no such column"], *([option, value] for option, value in BAD_WISHES)),
]
ROLES = ("target", "positive", "sensitive", "drop")
REPORTS = ["report.html", "report.json", "report.md", "report.md"]
TITLES = ["Mine", "<script>alert(1)</script>", "# a\n---\nb: c", "\x7f\x85\u2028", '"quoted": [yes](http://x)', "😀 *"]


def draw_title(rng):
    return ["--title", pick(rng, TITLES)] if chance(rng, 0.5) else []


def draw_train(world, path, model):
    rng = world.rng
    options = {"--target": world.target, "--positive": pick(rng, world.labels), "--sensitive": world.sensitive}
    if chance(rng, 0.3):
        options["--favourable"] = pick(rng, world.labels)
    options |= {"--rounds": int(rng.integers(1, 15)), "--model": model}
    if world.may_be_missing:
        if chance(rng, 0.9):
            options["--missing-group"] = "not known"
        else:
            world.odd(world.sensitive, repr(world.sensitive)[1:-1])
    flags = []
    for option in [pick(rng, SOUND_OPTIONS) for _ in range(rng.integers(3))]:
        flags += option
    if "adafair" in flags:  # has no wishes
        world.odd("--dial", "--cost-", *(option for option, _ in WISHES))
    if {"--maximize", "--cost-false-positive", "--cost-false-negative"} & {*flags}:
        world.odd("exclude each other")
    if chance(rng, 0.04):
        options["--weights"] = pick(rng, world.features)
        world.odd("--weights", repr(options["--weights"])[1:-1], "sample_weight", "class '")
    if chance(rng, 0.15):
        name, *values = pick(rng, BAD_OPTIONS)
        options.pop(name, None)
        flags += [name, *values]
        known = {"--rounds": "n_estimators", "--jobs": "n_jobs", "--seed": "random_state"}
        world.wrong(name, name.strip("-").replace("-", "_"), known.get(name, name), *values)
    if chance(rng, 0.05):
        options.pop(pick(rng, ["--target", "--positive", "--sensitive"]), None)
        world.wrong("--target", "--positive", "--sensitive")
    if chance(rng, 0.1):
        report = path.parent / pick(rng, [*REPORTS, "report.txt", "no such folder/report.html"])
        flags += ["--report", str(report), *draw_title(rng)]
        if report.suffix == ".txt" or not report.parent.exists():
            world.wrong("report", report.name, report)
    if "--report" in flags or "--holdout" in flags:
        world.odd("class and group", "--holdout", "has no example of class")
    words = [word for pair in options.items() for word in (pair[0], str(pair[1]))]
    # A folder's name could be one more of several values.
    return ["train", str(path), *words, *flags] if path.is_dir() else ["train", *words, *flags, str(path)]


def draw_other(world, path, model):
    """What comes after training."""
    rng, folder = world.rng, path.parent
    command = pick(rng, ["predict", "predict", "audit", "explain", "choose", "alternatives", "export", "version"])
    if command == "predict":
        good = ["out.csv", "out.tsv", "out.txt", "out.csv.gz", "out.parquet", "out.jsonl", "out.xlsx"]
        bad = ["out.ods", "out.zip", "no/out.csv"]
        out = folder / pick(rng, bad if chance(rng, 0.1) else good)
        if out.suffix in (".xlsx", ".parquet"):
            world.odd(out.name)  # these do not hold everything
        words = ["predict", str(model), str(path), "--out", str(output(world, out, [path, model]))]
        if out.suffix in (".ods", ".zip") or not out.parent.exists():
            world.wrong(out.name, "--out")
        if chance(rng, 0.3):
            words += ["--sensitive", pick(rng, [world.sensitive, "no such column"])]
            world.odd("sensitive", "no such column", "groups")
        world.odd("--sensitive")  # the model may need it
        return [*words, "--score"] if chance(rng, 0.3) else words
    if command in ("choose", "alternatives", "export"):
        return draw_choice(world, path, model, command)
    if command == "audit":
        prediction = pick(rng, [world.target, world.target, world.features[0], "no such column"])
        words = ["audit", str(path), "--target", world.target, "--prediction", prediction]
        words += ["--sensitive", world.sensitive]
        if world.may_be_missing:
            words += ["--missing-group", "not known"]
        extra = pick(
            rng,
            [
                [],
                ["--fail-above", "0.1"],
                ["--fail-above", "-1"],
                ["--confidence", "2"],
                ["--scores", world.features[0]],
            ],
        )
        if chance(rng, 0.1):
            words += ["--report", str(output(world, folder / pick(rng, REPORTS), [path])), *draw_title(rng)]
        world.odd(prediction, repr(prediction)[1:-1], *extra, *(word.strip("-") for word in extra), "labels", "scores")
        return [*words, *extra]
    if command == "explain":
        row = pick(
            rng,
            [
                "1",
                "0",
                "99999",
                "-1",
                "x",
                "{}",
                '{"no such column": 1}',
                "[" * 100_000,
                json.dumps({world.features[0]: "x"}),
            ],
        )
        words = ["explain", str(model)]
        world.odd("thresholds per group")  # of groups that no column of the model has a bin for
        if chance(rng, 0.6):
            words += ["--row", row]
            world.odd("--row", "row", "rows", "no such column", repr(world.features[0])[1:-1])
        if chance(rng, 0.5):
            words += ["--data", str(path)]
            world.odd("--data", "--row")
        if chance(rng, 0.3):
            words += ["--feature", pick(rng, [*world.features, "no such column"])]
            world.odd("--feature", "no such column", "feature")
        return words
    world.odd("nothing")
    return {"datasets": ["datasets", pick(rng, ["adult", "nothing"])], "version": ["--version"]}[command]


def draw_choice(world, path, model, command):
    """What else the model could be, and what it is elsewhere."""
    rng, folder = world.rng, path.parent
    world.odd("recommended method", "--confidence")  # which other models are not of
    if command == "choose":
        words = ["choose", str(model), "--out", str(output(world, folder / "new.json", [model]))]
        for option, value in {
            pick(rng, WISHES if chance(rng, 0.9) else BAD_WISHES)
            for _ in range(rng.integers(1, 3) if chance(rng, 0.9) else 0)
        }:
            words += [option, value]
            world.odd(option, option.strip("-").replace("-", "_"))
        if chance(rng, 0.2):
            words += ["--without", pick(rng, ["limit", "min-ratio", "capacity,limit", "fairness"])]
            world.odd("--without")
        if chance(rng, 0.2):
            words += pick(rng, [["--fairness", "0.5"], ["--fairness", "9"], ["--threshold", "0.1"], ["--threshold=x"]])
            world.odd("fairness", "--threshold", "dial")
        world.odd("choose needs a wish", "exclude each other", "has no example")
        return words
    if command == "alternatives":
        words = ["alternatives", str(model)]
        if chance(rng, 0.5):
            words += ["--out", str(output(world, folder / pick(rng, ["out.csv", "out.xlsx", "out.ods"]), [model]))]
            world.odd("out.ods")
        return [*words, "--confidence", pick(rng, ["0.9", "0.99", "1", "x"])] if chance(rng, 0.3) else words
    forms = {"--onnx": "m.onnx", "--sql": "q.sql", "--scorecard": pick(rng, ["card.csv", "card.html", "card.txt"])}
    words = ["export", str(model)]
    for option in rng.permutation(list(forms))[: rng.integers(1, 4)].tolist():
        words += [option, str(output(world, folder / forms[option], [model]))]
    words += ["--table", pick(rng, ["people", "a table", 'x"; DROP TABLE y'])] if chance(rng, 0.7) else []
    words += ["--data", str(path)] if chance(rng, 0.3) else []
    words += pick(rng, [[], [], ["--reasons", "2"], ["--contributions"], ["--dialect", "no such"]])
    world.odd(
        "--table", "--data", "--reasons", "--contributions", "--scorecard", "--sql", "dialect", "thresholds per group"
    )
    world.odd("column", "sensitive_features", "threshold per group", *map(str, forms.values()))
    return words


def output(world, path, inputs):
    """Where to write: as asked, or over an input, or to something that is no file."""
    rng = world.rng
    if not path.parent.exists() or chance(rng, 0.7):
        return path
    kind = pick(rng, ["same", "symlink", "hard link", "folder", "loop", "fifo", "device", "private", "dangling"])
    source = pick(rng, inputs)
    if source.is_dir():
        source = pick(rng, [*sorted(source.glob("part*")), source])
    if kind in ("same", "symlink", "hard link"):
        if not source.is_file():
            return path
        world.wrong(source.name, path.name, "same", "--out", "--model", "--report")
        if kind == "same":
            return pick(rng, [source, source.parent / "." / ".." / source.parent.name / source.name])
        path = path.with_name(f"link{''.join(source.suffixes)}" if chance(rng, 0.5) else path.name)
        path.symlink_to(source) if kind == "symlink" else path.hardlink_to(source)
    elif kind == "folder":
        path.mkdir()
        world.wrong(path.name)
    elif kind == "loop":
        path.symlink_to(path.name)
        world.wrong(path.name)
    elif kind == "private":
        path.write_bytes(b"old")
        path.chmod(0o600)
    elif kind == "dangling":
        path.symlink_to(path.with_name(f"other{''.join(path.suffixes)}"))
    else:
        try:
            os.mkfifo(path) if kind == "fifo" else os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except OSError:  # not everyone may
            return path
        world.odd(path.name)  # refused, or written through
    return path


# --- What came of it -------------------------------------------------------------------------------------------------


def look(folder):
    """Every file with its kind, mode and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else str(path.readlink()) if stat.S_ISLNK(mode) else None
        found[str(path.relative_to(folder))] = (stat.S_IFMT(mode), stat.S_IMODE(mode), content)
    return found


def bare(text):
    """Without the spaces and frames of a page."""
    return re.sub(r"[\s│╭╰─╮╯]", "", text)


def check_markdown(text):
    """A card is headings, lists, tables and text, with a header that YAML reads."""
    header, body = text.split("\n---\n", 1)
    yaml.safe_load(header)
    for token in MARKDOWN.parse(body):
        assert token.type not in ("html_block", "fence", "code_block"), token
        for child in token.children or []:
            assert child.type in ("text", "text_special", "strong_open", "strong_close", "softbreak"), child


def read_lines(path):
    with path.open(encoding="utf8") as file:
        return list(map(json.loads, file))


def check_passed_on(world, arguments, out):
    """Text is handed on as it was, and no cell of a sheet is a formula."""
    source = Path(arguments[2])
    name = world.features[2]
    if out.suffix == ".xlsx":
        rows = list(openpyxl.load_workbook(out).active.iter_rows())
        assert not [cell for row in rows for cell in row if cell.data_type == "f"], "a formula"
        at = [cell.value for cell in rows[0]].index(name)
        found = ["" if row[at].value is None else row[at].value for row in rows[1:]]
    elif out.suffix == ".jsonl":
        found = ["" if row[name] is None else row[name] for row in read_lines(out)]
    elif out.suffix in (".csv", ".tsv"):
        with out.open(encoding="utf8", newline="") as file:
            found = [row[name] for row in csv.DictReader(file, delimiter="\t" if out.suffix == ".tsv" else ",")]
    else:
        return
    typed = Path(source).suffix in (".parquet", ".jsonl", ".xlsx")
    texts = as_read(world.table)[name].fillna("") if typed or source.is_dir() else world.table[name]
    expected = texts.astype(str).tolist()
    if source.is_dir():
        found = ["" if text in ("NA", "null") else text for text in found]
    assert found == expected, f"{name!r} came out as {found[:20]}, not as {expected[:20]}"


def check_large_groups(world, model):
    """Groups that are large whole numbers are those of the table, whatever kind of file it was."""
    found = {group for group in load(model).groups_.tolist() if group not in ("all", "not known")}
    expected = set(world.table[world.sensitive].dropna())
    assert found in (expected, set()), f"groups {found} of {expected}"


def check_formats_agree(world, folder, model):
    """The same table in files of two kinds gets the same predictions."""
    rng, predictions = world.rng, {}
    kinds = [kind for kind in KINDS if can_be(world.table, kind)]
    for kind in rng.permutation(kinds)[:2]:
        path, out = folder / f"again{kind}", folder / "again out.jsonl"
        write_file(rng, world.table, path)
        arguments = ["predict", str(model), str(path), "--out", str(out), "--sensitive", world.sensitive]
        result = RUNNER.invoke(cli.app, arguments)
        assert result.exit_code == 0, f"{kind}: {result.output}"
        predictions[kind] = [(row["prediction"], round(row["probability"], 9)) for row in read_lines(out)]
        out.unlink()
        path.unlink()
    (one, first), (other, second) = predictions.items()
    differ = [j for j, pair in enumerate(zip(first, second, strict=True)) if len(set(map(str, pair))) > 1]
    row = world.table.iloc[differ[0]].to_dict() if differ else None
    assert not differ, f"{len(differ)} predictions differ between {one} and {other}, such as of {row}"


def check(world, arguments, result, before, after, outputs):
    code, shown = result.exit_code, result.stdout + result.stderr
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert code in (0, 1, 2), f"exit code {code}"
    assert "Traceback" not in shown, shown
    assert not CONTROL.search(shown), f"control characters in {shown!r}"
    assert code != 1 or "--fail-above" in arguments, f"exit code 1 of {arguments}"
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    if code == 2:
        assert not changed, f"failed, but changed {changed}: {shown}"
        errors = [line for line in result.stderr.splitlines() if not line.startswith("Warning: ")]
        usage = "Usage:" in result.stderr
        assert usage or (len(errors) == 1 and errors[0].startswith("Error: ")), f"not one sentence: {result.stderr!r}"
        assert len(shown) < 3000, f"an error of {len(shown)} characters: {shown[:300]}"
        named = any(bare(word) in bare(result.stderr) for word in world.words if bare(word))
        named = named or DATA_REFUSED.search(result.stderr)
        assert named, f"{result.stderr!r} names none of {world.words}"
        return REFUSED
    assert not world.must_fail, f"accepted, though wrong are {world.words}"
    for name in changed & outputs:
        if name.endswith(".md"):
            check_markdown(after[name][2].decode())
    strange = changed - outputs
    assert not strange, f"changed {strange}, which it was not asked to write"
    for name in changed & before.keys():
        assert before[name][:2] == after.get(name, (0, 0))[:2], (
            f"{name} became another kind of file or got other rights"
        )
    return ACCEPTED


@contextmanager
def reader(path):
    """Someone who reads whatever is written into a FIFO; without one a writer waits."""
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    ended = threading.Event()

    def read():
        while not ended.is_set():
            if select.select([pipe], [], [], 0.02)[0]:
                os.read(pipe, 1 << 20)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        os.close(pipe)


def run(world, arguments, folder, outputs):
    with ExitStack() as stack:
        for path in outputs:
            if path.is_fifo():
                stack.enter_context(reader(path))
        before = look(folder)
        result = RUNNER.invoke(cli.app, arguments)
        after = look(folder)
    names = {str(Path(os.path.realpath(path)).relative_to(folder)) for path in outputs if not is_loop(path)}
    try:
        return check(world, arguments, result, before, after, names)
    except BaseException as error:
        error.add_note(f"of: parityboost {' '.join(map(repr, arguments))[:1500]}")
        raise


def is_loop(path):
    try:
        path.resolve(strict=False)
        path.stat()
    except FileNotFoundError:
        return False
    except (OSError, RuntimeError):
        return True
    return False


def outputs_in(arguments):
    """The paths after the options that name outputs."""
    named = ("--model", "--report", "--out", "--onnx", "--sql", "--scorecard")
    return [Path(arguments[i + 1]) for i, word in enumerate(arguments) if word in named]


def attempt(rng):
    with tempfile.TemporaryDirectory() as name, chdir(name):
        folder = Path(name).resolve()
        world = World(rng)
        path = write_table(world, folder)
        is_sound = chance(rng, 0.8)
        if not is_sound:
            path = spoil_table(world, path)
        model = folder / "model.json"
        model = output(world, model, [path]) if chance(rng, 0.3) else model
        arguments = draw_train(world, path, model)
        came_of_it = run(world, arguments, folder, outputs_in(arguments))
        if came_of_it == REFUSED or not model.is_file():
            return came_of_it
        if is_sound and world.may_be_missing:
            check_large_groups(world, model)
        if is_sound and chance(rng, 0.3):
            check_formats_agree(world, folder, model)
        world.words, world.must_fail = [], False
        if chance(rng, 0.2):
            path, is_sound = spoil_table(world, path), False
            world.must_fail = False  # explain needs no table
        arguments = draw_other(world, path, model)
        came_of_it = run(world, arguments, folder, outputs_in(arguments))
        if came_of_it == ACCEPTED and is_sound and arguments[0] == "predict":
            out = Path(arguments[4])
            if out.is_file():
                check_passed_on(world, arguments, out)
        return came_of_it


def warm_up():
    for seed in range(5):
        try:
            attempt(np.random.default_rng(seed))
        except Exception:
            continue  # what an attempt finds is for the attempts that count
