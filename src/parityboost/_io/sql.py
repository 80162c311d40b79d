"""A model as one SQL query: per column a code, by comparison, and points by code, for each feature and pair of them.

Scores are multiples of a power of two, and the query adds them up as whole numbers: the sum is exact in any order and
in any database, and so is the decision. Only what changes the score is compared, as in an ONNX graph. Each column's
code is worked out once, in the first step of the query.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import ALPHA_GRID, MISSING, THRESHOLD_GRID, Floats, Integers
from .._extras import install
from .._model.glass_box import GlassBox
from .._model.reasons import ReasonRule
from .._model.tables import Effects
from .._table.binning import CategoricalColumn, Column, NumericColumn
from .._table.values import listed, short
from .onnx import read_parts, unused_name

DIALECTS = ("bigquery", "databricks", "duckdb", "postgres", "snowflake", "spark", "sqlite")
# Unless told to keep what a step has found, these work it out again wherever it is used.
MATERIALIZED = ("postgres", "sqlite")
KINDS = ("number", "boolean")
OUTPUTS = ("score", "probability", "decision")
BRANCHES = 8  # of one CASE; more are cases within cases, so that few are compared
CASE_CELLS = 16  # a pair of more cells is a table to look up in
JOINS = 50  # of one step: SQLite joins 64 tables at most
TERMS = 50  # of one sum: databases limit how deep an expression may be
LARGEST = "1.7976931348623157e308"
POWER = 60  # of two: what numbers that decimals do not hold exactly are divided by, or multiplied with
INT64 = 2**63
STEEP = 300.0  # at this score a probability is 1 to the last bit, and exp of twice that no overflow


class Names(NamedTuple):
    """How the user's table calls things, and how it stores them."""

    table: str | Sequence[str]  # a list is a table with its schema
    keep: Sequence[str] = ()  # columns that the result has too
    columns: Mapping[str, str] | None = None  # from the model's names to the table's
    types: Mapping[str, str] | None = None  # one of KINDS for a column of the model that is stored as that
    groups: Sequence[str] = ()  # the sensitive columns, if they are none of the model's


def to_sql(box: GlassBox, dialect: str, names: Names, contributions: bool, rule: ReasonRule | None) -> str:
    """The query of a fitted model."""
    try:
        from sqlglot import exp
    except ImportError as error:
        raise ImportError(f"to_sql needs sqlglot: {install('sql')}") from error
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")
    query = _Query(exp, box, dialect, names).build(contributions, rule)
    return f"{query.sql(dialect, pretty=True)}\n"


class _Code(NamedTuple):
    """A number per row of a column, and the code of the column that each number, from 0 on, stands for."""

    name: str | None  # of the query's column; None if nothing depends on this one
    stands_for: Integers


class _Query:
    """A query in the making: steps, each of which reads the one before; the first reads the user's table."""

    def __init__(self, exp: Any, box: GlassBox, dialect: str, names: Names) -> None:
        self.exp, self.box, self.dialect, self.names = exp, box, dialect, names
        table = [names.table] if isinstance(names.table, str) else list(names.table)
        if not 0 < len(table) <= 3:
            raise ValueError(f"table must be a name, or a list of a schema and a name, got {names.table!r}")
        self.columns = _table_columns(box.columns, names)
        for name in (*table, *names.keep, *self.columns, *names.groups):
            _check_text(name, "a name of a table or column")
        # Databases that do not tell capitals from small letters are the majority.
        self.taken = {name.casefold() for name in (*table, *self.columns, *names.keep, *names.groups, *OUTPUTS)}
        for name in names.keep:
            if name.casefold() in OUTPUTS:
                raise ValueError(f"keep: {name!r} is the name of a column that the query adds")
        self.table = table
        self.last: str | None = None  # step
        self.has: list[str] = []  # its columns, besides those to keep
        self.steps: list[tuple[str, Any]] = []

    def build(self, contributions: bool, rule: ReasonRule | None) -> Any:
        """All of it."""
        box, source = self.box, self.box.about.source
        in_parts = contributions or rule is not None
        if in_parts:
            box.score_effects(pure=False)  # says so if the thresholds of groups belong to no feature
        effects = box.effects.pure if in_parts else box.effects
        by_code = None if source is None or source.codes is None else source.by_code(box.threshold)
        of_column = None if source is None or by_code is None else source.columns[0]

        selected: dict[str, Any] = {}
        codes = self._codes(effects, by_code, of_column, selected)
        if source is None:
            threshold = self.number(float(box.threshold))
        elif by_code is None or of_column is None:
            threshold = self._group_thresholds(selected)
        else:
            cuts = by_code[codes[of_column].stands_for].tolist()
            threshold = self.by_code(codes[of_column], cuts, lambda k: self.number(cuts[k]))
        self.step("codes", selected or {self.free("one"): self.whole(1)})  # some column there has to be

        grid = _grid(effects)
        points = self._points(effects, codes, grid)
        parts = {key: self.free(f"part_{k}") for k, key in enumerate(points if in_parts else ())}
        margin, cut = self.free("margin"), self.free("threshold")
        scaled = {name: self.scaled(points[key], grid) for key, name in parts.items()}
        total = self.scaled(self.exp.paren(self.sum(list(points.values())), copy=False), grid)
        self.step("margins", {margin: total, cut: threshold, **scaled})
        score = self.exp.Sub(this=self.column(margin), expression=self.column(cut))
        self.step("scores", {"score": score, **{name: self.column(name) for name in (margin, cut, *scaled)}})

        outcomes = [self._label(value) for value in box.about.labels.outcomes.tolist()]
        score, zero = self.column("score"), self.whole(0)
        probability = self._probability(score) if box.calibrator is None else self._calibrated(self.column(margin))
        result = {"score": score, "probability": probability}
        result["decision"] = self.case([(score > zero, outcomes[1])], outcomes[0])
        own = {} if not in_parts else self._own_parts(parts, cut, of_column)
        if contributions:
            names = {"constant": zero if of_column is not None else zero - self.column(cut)}
            names = {self._named(key): value for key, value in own.items()} | names
            result |= {self.free(f"contribution_{name}"): value for name, value in names.items()}
        if rule is not None:
            result |= self._reasons(rule, effects, own, result)
        query = self.select(result)
        for name, step in self.steps:
            again = self.dialect in MATERIALIZED and name.startswith("step")
            alias = self.exp.to_identifier(name, quoted=True)
            query = query.with_(alias, as_=step, materialized=again or None, copy=False)
        return query

    # Steps

    def step(self, name: str, selected: dict[str, Any], joins: Sequence[Any] = ()) -> None:
        """Add a step that has these columns, and those to keep."""
        select = self.select(selected)
        for table, on in joins:
            select = select.join(table, on=on, join_type="left", copy=False)  # in this order
        name = self.free(f"step_{name}")
        self.steps.append((name, select))
        self.last, self.has = name, [*selected]

    def select(self, selected: dict[str, Any]) -> Any:
        columns = [self.column(name) for name in self.names.keep]
        columns += [self.exp.alias_(value, name, quoted=True, copy=False) for name, value in selected.items()]
        last = self.table if self.last is None else [self.last]
        return self.exp.select(*columns, copy=False).from_(self.exp.table_(*last[::-1], quoted=True), copy=False)

    def look_up(self, name: str, looked_up: list[tuple[list[str], list[list[int]], Any]]) -> None:
        """Add steps that have all columns of the last one, and those of some tables.

        Each has the names of its columns, its rows, and what is in the first of them.
        """
        for k in range(0, len(looked_up), JOINS):
            selected, joins = {column: self.column(column) for column in self.has}, []
            for names, rows, of in looked_up[k : k + JOINS]:
                table = self._values(names, rows)
                joins.append((table, self.exp.EQ(this=self.column(names[0]), expression=of)))
                selected |= {column: self.column(column) for column in names[1:]}
            self.step(name, selected, joins)

    def _values(self, names: list[str], rows: list[list[int]]) -> Any:
        """A step that has some rows of whole numbers."""
        exp = self.exp
        values = exp.Values(expressions=[exp.Tuple(expressions=list(map(self.whole, row))) for row in rows])
        alias = exp.TableAlias(this=exp.to_identifier("cells", quoted=True))
        selected = [exp.Star()]
        if self.dialect == "sqlite":  # which has names of its own for them
            given = [f"column{k}" for k in range(1, len(names) + 1)]
            selected = [exp.alias_(self.column(one), name, quoted=True) for one, name in zip(given, names, strict=True)]
        else:
            alias.set("columns", [exp.to_identifier(name, quoted=True) for name in names])
        values.set("alias", alias)
        table = self.free("look_up")
        self.steps.append((table, exp.select(*selected).from_(values)))
        return exp.table_(table, quoted=True)

    def free(self, name: str) -> str:
        """The name, with a number behind it if it is taken; nothing else will have it."""
        found = unused_name(name.casefold(), self.taken) if name.casefold() in self.taken else name
        self.taken.add(found.casefold())
        return found

    # What queries are made of

    def column(self, name: str) -> Any:
        return self.exp.column(name, quoted=True)

    def whole(self, number: int) -> Any:
        return self.exp.Literal.number(number)

    def double(self, value: Any) -> Any:
        return self.exp.cast(value, "double", copy=False)

    def scaled(self, points: Any, grid: float) -> Any:
        """Points as a score: a division by a power of two, which is exact."""
        return self.exp.Div(this=self.double(points), expression=self.double(self.whole(round(1 / grid))))

    def number(self, value: float) -> Any:
        """A number to the last bit: in few digits, which are read alike everywhere, or as a product of exact ones."""
        if value == 0:
            return self.whole(0)
        if float(f"{value:.15g}") == value and 1e-5 <= abs(value) < 1e15:
            text = f"{value:.15g}" if float(f"{value:.15g}") != round(value) else str(round(value))
            return self.exp.Literal.number(text if "e" not in text else f"{value:.20f}".rstrip("0"))
        mantissa, exponent = np.frexp(value)
        whole, power = int(mantissa * 2**53), int(exponent) - 53
        while whole % 2 == 0:
            whole, power = whole // 2, power + 1
        found = self.double(self.whole(whole))
        while power:
            step = min(abs(power), POWER)
            factor = self.double(self.whole(2**step))
            found, power = (found * factor, power - step) if power > 0 else (found / factor, power + step)
        return found

    def case(self, branches: Sequence[tuple[Any, Any]], default: Any) -> Any:
        ifs = [self.exp.If(this=condition, true=value) for condition, value in branches]
        return self.exp.Case(ifs=ifs, default=default)

    def sum(self, terms: list[Any]) -> Any:
        """A sum of any number of terms."""
        if not terms:
            return self.whole(0)
        if len(terms) > TERMS:
            blocks = [terms[k : k + TERMS] for k in range(0, len(terms), TERMS)]
            return self.sum([self.exp.paren(self.sum(block), copy=False) for block in blocks])
        total = terms[0]
        for term in terms[1:]:
            total = self.exp.Add(this=total, expression=term)
        return total

    def by_steps(self, x: Any, cuts: Sequence[Any], keys: Sequence[Hashable], value: Callable[[int], Any]) -> Any:
        """``value(k)`` where k cuts lie below x; equal keys have the same value."""
        last = [k for k in range(len(keys)) if k + 1 == len(keys) or keys[k] != keys[k + 1]]  # of each run of equals

        def between(first: int, end: int) -> Any:
            if end - first == 1:
                return value(last[first])
            size = -(-(end - first) // BRANCHES)
            starts = list(range(first, end, size))
            ends = [*starts[1:], end]
            branches = [
                (self.exp.LTE(this=x, expression=cuts[last[b - 1]]), between(a, b))
                for a, b in zip(starts[:-1], ends[:-1], strict=True)
            ]
            return self.case(branches, between(starts[-1], end))

        return between(0, len(last))

    def by_code(self, code: _Code, keys: Sequence[Hashable], value: Callable[[int], Any]) -> Any:
        """``value(k)`` where the code is k."""
        if code.name is None:
            return value(0)
        return self.by_steps(self.column(code.name), [self.whole(k) for k in range(len(keys) - 1)], keys, value)

    # Codes

    def _codes(
        self, effects: Effects, by_code: Floats | None, of_column: int | None, selected: dict[str, Any]
    ) -> list[_Code]:
        """A code for every column that makes a difference; what works them out is added to ``selected``."""
        kinds: list[list[NDArray[Any]]] = [[table] for table in effects.tables]
        for pair in effects.pairs:
            for f, of_pair in zip(pair.features, pair.kinds, strict=True):
                kinds[f].append(of_pair)
        if by_code is not None and of_column is not None:
            kinds[of_column].append(by_code)
        codes = []
        for f, column in enumerate(self.box.columns):
            told_apart = np.stack(kinds[f])[:, : column.n_codes]
            if (told_apart == told_apart[:, [MISSING]]).all():
                codes.append(_Code(None, np.array([MISSING])))
                continue
            kind = np.unique(told_apart, axis=1, return_inverse=True)[1].ravel()
            name = self.free(f"code_{f}")
            selected[name], stands_for = self._code(column, self.columns[f], kind, column.name)
            codes.append(_Code(name, stands_for))
        return codes

    def _code(self, column: Column, name: str, kind: Integers, known_as: str) -> tuple[Any, Integers]:
        """The numbers that tell the codes of different kinds apart, and what each stands for."""
        stored = (self.names.types or {}).get(known_as)
        value = self.column(name)
        if isinstance(column, NumericColumn):
            steps = np.flatnonzero(kind[2:] != kind[1:-1])  # the edges at which something changes
            stands_for = np.concatenate([[MISSING, 1], steps + 2])
            if stored == "boolean":
                number = self.case([(value, self.whole(1)), (self.exp.Not(this=value.copy()), self.whole(0))], None)
            else:
                number = self.double(value)
            edges = [self.number(edge) for edge in column.edges[steps].tolist()]
            inside = self.by_steps(number, edges, range(len(edges) + 1), lambda k: self.whole(k + 1))
            return self.case([(self._is_number(number), inside)], self.whole(0)), stands_for
        return self._category_code(column, value, kind, known_as, stored)

    def _is_number(self, value: Any) -> Any:
        """Whether it is neither NULL nor NaN, which is larger than any number in some databases, in others nothing."""
        low, high = (self.exp.Literal.number(text) for text in (f"-{LARGEST}", LARGEST))
        return self.exp.Between(this=value, low=low, high=high)

    def _category_code(
        self, column: CategoricalColumn, value: Any, kind: Integers, known_as: str, stored: str | None
    ) -> tuple[Any, Integers]:
        """0 for a missing value, 1 for categories like all others, and a number for each other kind."""
        categories, are_numbers = self._categories(column, known_as, stored)
        wanted: dict[int, list[Any]] = {}
        first: dict[int, int] = {}
        for literal, code in zip(categories, column.codes, strict=True):
            if kind[code] != kind[column.other]:
                wanted.setdefault(int(kind[code]), []).append(literal)
                first.setdefault(int(kind[code]), code)
        stands_for = np.array([MISSING, column.other, *first.values()])
        is_there = self._is_number(self.double(value)) if are_numbers else value.is_(self.exp.null()).not_()
        ifs = [(value.isin(*literals), self.whole(k)) for k, literals in enumerate(wanted.values(), 2)]
        return self.case([*ifs, (is_there, self.whole(1))], self.whole(0)), stands_for

    def _categories(self, column: CategoricalColumn, known_as: str, stored: str | None) -> tuple[list[Any], bool]:
        """The categories of a column as SQL, and whether they are numbers."""
        values = list(column.categories)
        for value in values:
            if not isinstance(value, (str, bool, int, float)):
                raise ValueError(
                    f"column {known_as!r}: the category {short(value)} is a {type(value).__name__}, which databases "
                    "hold in ways of their own: make dates and intervals text or numbers before fit"
                )
            if isinstance(value, float) and not np.isfinite(value):
                raise ValueError(f"column {known_as!r}: the category {value!r} cannot be written in SQL")
            if isinstance(value, int) and not -INT64 < value < INT64:
                raise ValueError(f"column {known_as!r}: the category {short(value)} is beyond 64 bits")
        if any(isinstance(value, str) for value in values):
            texts = [value if isinstance(value, str) else str(value) for value in values]
            for text in texts:
                _check_text(text, f"column {known_as!r}: the category")
            twice = [text for i, text in enumerate(texts) if text in texts[:i]]
            if twice:
                raise ValueError(
                    f"column {known_as!r}: two categories read {twice[0]!r}, and SQL cannot tell them apart"
                )
            return [self.exp.Literal.string(text) for text in texts], False
        as_booleans = all(isinstance(value, bool) for value in values) if stored is None else stored == "boolean"
        if as_booleans and values:
            odd = [value for value in values if value not in (0, 1)]
            if odd:
                raise ValueError(f"types: column {known_as!r} has the category {odd[0]!r}, which is no boolean")
            return [self.exp.Boolean(this=bool(value)) for value in values], False
        return [self.number(float(v)) if isinstance(v, float) else self.whole(int(v)) for v in values], True

    def _group_thresholds(self, selected: dict[str, Any]) -> Any:
        """The threshold of each row, of groups that are crossed or cut or no columns of X."""
        source = self.box.about.source
        assert source is not None
        parts = read_parts(source)
        names = [self.columns[f] for f in source.columns] or list(self.names.groups)
        if len(names) != len(parts):
            raise ValueError(
                f"this model has a threshold per group, and the groups are made of {len(parts)} columns that are none "
                f"of the model's: name them with groups, got {listed(names) or 'none'}"
            )
        table = np.full([len(part.values) + 1 for part in parts], source.mean(self.box.threshold))
        for group, threshold in zip(source.groups.tolist(), self.box.threshold.tolist(), strict=True):
            values = group if isinstance(group, tuple) else (group,)
            table[tuple(part.values.index(value) for part, value in zip(parts, values, strict=True))] = threshold
        codes = []
        for j, (part, name) in enumerate(zip(parts, names, strict=True)):
            column, known_as = part.column, self.box.columns[source.columns[j]].name if source.columns else name
            alias = self.free(f"group_{j}")
            selected[alias], stands_for = self._code(column, name, part.position, known_as)
            codes.append(_Code(alias, part.position[stands_for]))

        def within(table: Any, depth: int) -> Any:
            if depth == len(codes):
                return self.number(float(table))
            inner = [table[position] for position in codes[depth].stands_for.tolist()]
            return self.by_code(codes[depth], [t.tobytes() for t in inner], lambda k: within(inner[k], depth + 1))

        return within(table, 0)

    # Points

    def _points(self, effects: Effects, codes: list[_Code], grid: float) -> dict[Any, Any]:
        """What each feature and each pair adds, as whole numbers, by feature or pair."""
        own = [
            np.rint(table[code.stands_for] / grid).astype(np.int64)
            for code, table in zip(codes, effects.tables, strict=True)
        ]
        cells = {}
        for pair in effects.pairs:
            first, second = (codes[f].stands_for for f in pair.features)
            scores = pair.scores[np.ix_(pair.row_of[first], pair.column_of[second])]
            cells[pair.features] = np.rint(scores / grid).astype(np.int64)
        large = {key: points for key, points in cells.items() if _is_large(points)}
        found: dict[Any, Any] = {f: self._by_codes(points, [codes[f]]) for f, points in enumerate(own)}
        for key, points in cells.items():
            found[key] = None if key in large else self._by_codes(points, [codes[f] for f in key])
        return found | self._looked_up(large, own, codes)

    def _by_codes(self, points: Integers, codes: list[_Code]) -> Any:
        """The points that are at the codes of one or two columns."""

        def at(points: Any, k: int) -> Any:
            if k == len(codes):
                return self.whole(int(points))
            return self.by_code(codes[k], [inner.tobytes() for inner in points], lambda j: at(points[j], k + 1))

        return self.exp.cast(at(points, 0), "bigint", copy=False)

    def _looked_up(self, cells: dict[Any, Integers], own: list[Integers], codes: list[_Code]) -> dict[Any, Any]:
        """Points of large pairs and of their features, from tables: that of a feature says where in a pair a code is.

        Codes of the same points share a row of the pair, or a column.
        """
        of_code: dict[int, dict[str, Any]] = {f: {} for key in cells for f in key}
        of_pair: dict[Any, tuple[list[str], list[list[int]], Any]] = {}
        for key, points in cells.items():
            _, rows, row_of = np.unique(points, axis=0, return_index=True, return_inverse=True)
            _, columns, column_of = np.unique(points, axis=1, return_index=True, return_inverse=True)
            row, column, cell, value = (
                self.free(f"{name}_{len(of_pair)}") for name in ("row", "column", "cell", "pair")
            )
            of_code[key[0]][row] = row_of.ravel() * len(columns)
            of_code[key[1]][column] = column_of.ravel()
            numbered = [list(entry) for entry in enumerate(points[np.ix_(rows, columns)].ravel().tolist())]
            of_pair[key] = [cell, value], numbered, self.exp.Add(this=self.column(row), expression=self.column(column))
        tables, found = [], {}
        for f, sides in of_code.items():
            code, value = self.free(f"code_of_{f}"), self.free(f"points_{f}")
            table = {code: np.arange(len(own[f])), value: own[f], **sides}
            tables.append(([*table], np.column_stack([*table.values()]).tolist(), self.column(codes[f].name or "")))
            found[f] = self.column(value)
        self.look_up("features", tables)
        self.look_up("pairs", list(of_pair.values()))
        return found | {key: self.column(names[1]) for key, (names, _, _) in of_pair.items()}

    # Outputs

    def _label(self, value: Any) -> Any:
        if isinstance(value, bool):
            return self.exp.Boolean(this=value)
        if isinstance(value, str):
            _check_text(value, "the label")
            return self.exp.Literal.string(value)
        if isinstance(value, int) and -INT64 < value < INT64:
            return self.whole(value)
        if isinstance(value, float):
            return self.number(value)
        raise ValueError(
            f"SQL has no type for the label {short(value)}: text, booleans, 64-bit integers and floats are fine"
        )

    def _probability(self, score: Any) -> Any:
        doubled = self.exp.Exp(this=self.whole(-2) * score)
        inside = self.double(self.whole(1)) / (self.whole(1) + doubled)
        return self.case(
            [
                (score > self.number(STEEP), self.double(self.whole(1))),
                (score < self.number(-STEEP), self.double(self.whole(0))),
            ],
            inside,
        )

    def _calibrated(self, margin: Any) -> Any:
        """The calibrated probability, which is straight between points, and level beyond them."""
        calibrator = self.box.calibrator
        assert calibrator is not None
        slopes, intercepts = calibrator.slopes.tolist(), calibrator.intercepts.tolist()
        edges = [self.number(edge) for edge in calibrator.edges.tolist()]

        def piece(k: int) -> Any:
            if slopes[k] == 0:
                return self.double(self.number(min(max(intercepts[k], 0.0), 1.0)))
            return self.number(intercepts[k]) + self.number(slopes[k]) * margin

        return self.by_steps(margin, edges, range(len(slopes)), piece)

    def _named(self, key: int | tuple[int, int]) -> str:
        names = [column.name for column in self.box.columns]
        return names[key] if isinstance(key, int) else "_and_".join(names[f] for f in key)

    def _own_parts(self, parts: dict[Any, str], cut: str, of_column: int | None) -> dict[Any, Any]:
        """What each feature and pair adds; the thresholds of groups belong to the column that tells them."""
        own = {key: self.column(name) for key, name in parts.items()}
        if of_column is not None:
            own[of_column] = own[of_column] - self.column(cut)
        return own

    def _reasons(
        self, rule: ReasonRule, effects: Effects, own: dict[Any, Any], result: dict[str, Any]
    ) -> dict[str, Any]:
        """The reasons of unfavourable decisions: the features that fall short most, those that fall short at all."""
        exp, zero = self.exp, self.whole(0)
        carried = dict(result)
        short = {f: self.free(f"shortfall_{f}") for f in rule.named}
        lacks = {}
        for f, name in short.items():
            halves = [own[pair.features] / self.double(self.whole(2)) for pair in effects.pairs if f in pair.features]
            reached = exp.paren(self.sum([own[f], *halves]))
            reference = self.number(float(rule.reference[f]))
            lacks[name] = reference - reached if rule.sign > 0 else reached - reference
        self.step("shortfalls", {**carried, **lacks})
        for name in carried:
            result[name] = self.column(name)
        ranks = {f: self.free(f"rank_{f}") for f in rule.named}
        ahead = {}
        for f, name in ranks.items():
            others = [
                self.case(
                    [
                        (
                            (self.column(short[g]) >= self.column(short[f]))
                            if g < f
                            else (self.column(short[g]) > self.column(short[f])),
                            self.whole(1),
                        )
                    ],
                    zero,
                )
                for g in rule.named
                if g != f
            ]
            ahead[name] = self.sum(others)
        kept = {name: self.column(name) for name in (*carried, *short.values())}
        self.step("ranks", {**kept, **ahead})
        score = self.column("score")
        unfavourable = score <= zero if rule.sign > 0 else score > zero
        found = {}
        for k in range(min(rule.n, len(rule.named))):
            for suffix, texts in (("", rule.texts), ("_code", rule.codes)):
                if not any(texts):
                    continue
                branches = [
                    (
                        exp.and_(unfavourable, self.column(ranks[f]).eq(k), self.column(short[f]) > zero),
                        exp.Literal.string(texts[f]),
                    )
                    for f in rule.named
                ]
                found[self.free(f"reason_{k + 1}{suffix}")] = self.case(branches, exp.null())
        return found


def _table_columns(columns: Sequence[Column], names: Names) -> list[str]:
    """What the table calls the model's columns."""
    known = [column.name for column in columns]
    for what, given in (("columns", names.columns or {}), ("types", names.types or {})):
        for name in given:
            if name not in known:
                raise ValueError(f"{what}: the model has no column {name!r}; its columns are {listed(known)}")
    for name, kind in (names.types or {}).items():
        if kind not in KINDS:
            raise ValueError(f"types: column {name!r} must be stored as one of {', '.join(KINDS)}, got {kind!r}")
    found = [str((names.columns or {}).get(name, name)) for name in known]
    twice = [name for i, name in enumerate(found) if name in found[:i]]
    if twice:
        raise ValueError(f"two columns of the model are called {twice[0]!r} in the table: rename one and fit again")
    return found


def _check_text(text: str, what: str) -> None:
    """Whether a database can be asked about it."""
    if not isinstance(text, str) or (not text and what.startswith("a name")) or "\0" in text:
        raise ValueError(f"{what} must be text without null characters, got {text!r}")
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        raise ValueError(f"{what} {text!r} cannot be written as UTF-8") from None


def _is_large(points: Integers) -> bool:
    """Whether the points of a pair are looked up; those that are the same for several codes count once."""
    return len(np.unique(points, axis=0)) * len(np.unique(points.T, axis=0)) > CASE_CELLS


def _grid(effects: Effects) -> float:
    """What all scores are multiples of."""
    tables = [effects.tables, *(pair.scores for pair in effects.pairs)]
    for grid in (ALPHA_GRID, THRESHOLD_GRID):
        if all((np.rint(table / grid) * grid == table).all() for table in tables):
            break
    else:
        raise ValueError("the scores of this model are not multiples of 2^-40, so their sums in SQL would not be exact")
    if sum(float(np.abs(table).max(initial=0.0)) for table in tables) / grid >= INT64:
        raise ValueError("the scores of this model are too large to be added up as 64-bit integers")
    return grid
