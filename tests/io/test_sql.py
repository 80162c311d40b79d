"""Models as SQL: what DuckDB and SQLite say of a table is what the models say of it."""

import re
import sqlite3
import warnings
from contextlib import closing
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from test_onnx import LABELS, fitted, tables

from conftest import make_people, needs_data
from parityboost import AdaBoostClassifier, AdaFairClassifier, FitWarning, ParityBoostClassifier, explain, load
from parityboost._io.sql import DIALECTS
from parityboost.datasets import fetch_bank, fetch_compas, load_adult

TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def stored(column, like):
    """A column's SQL type, that of training, and its values; text and numbers beside each other are all text."""
    values, known = ([None if v is pd.NA else v for v in c.astype(object).tolist()] for c in (column, like))
    kinds = {type(value) for value in (*values, *known) if value is not None and value == value}
    kinds = {kind if kind in TYPES else str for kind in kinds}
    if str in kinds:
        values = [None if v is None or v != v else v if isinstance(v, str) else str(v) for v in values]
    kind = next((kind for kind in (str, float, int, bool) if kind in kinds), float)
    if kind is not float:
        values = [None if value != value else value for value in values]
    return TYPES[kind], values


def make_table(connection, name, X, like):
    columns = {name: stored(X[name], like.get(name, X[name])) for name in X}
    types = ", ".join(f"{quoted(name)} {kind}" for name, (kind, _) in columns.items())
    connection.execute(f"CREATE TABLE {quoted(name)} (row_number BIGINT, {types})")
    rows = list(zip(range(len(X)), *(values for _, values in columns.values()), strict=True))
    marks = ", ".join("?" * (len(columns) + 1))
    connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", rows)


def run(dialect, model, X, table="people", like=None, **options):
    with closing(duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")) as connection:
        if dialect == "duckdb" and len(X) > 1000:  # quickly
            connection.register("frame", X.assign(row_number=range(len(X))))
            connection.execute(f"CREATE TABLE {quoted(table)} AS SELECT * FROM frame")
        else:
            make_table(connection, table, X, X if like is None else like)
        query = model.to_sql(table, dialect, keep=["row_number"], **options)
        answer = connection.execute(query)
        frame = pd.DataFrame(answer.fetchall(), columns=[column[0] for column in answer.description])
    assert len(frame) == len(X)
    return frame.sort_values("row_number").reset_index(drop=True)


def assert_same(model, X, dialects=("duckdb", "sqlite"), given=None, **options):
    told = {} if given is None else {"sensitive_features": given}
    sign = 1 if model.classes_.tolist()[1] == model.positive_ else -1
    for dialect in dialects:
        found = run(dialect, model, X if given is None else X.assign(**given), **options)
        np.testing.assert_array_equal(found["score"], sign * model.decision_function(X, **told))
        assert found["decision"].tolist() == model.predict(X, **told).tolist()
        chance = model.predict_proba(X, **told)[:, int(sign > 0)]
        np.testing.assert_allclose(found["probability"].astype(float), chance, rtol=0, atol=1e-12)
    return found


@pytest.mark.no_cover
@needs_data
@pytest.mark.parametrize("name", ["adult", "bank", "compas"])
@pytest.mark.parametrize("options", [{"max_depth": 1}, {"dial": True}, {"threshold": "per_group"}], ids=str)
def test_the_datasets_are_scored_the_same(name, options):
    data = {"adult": load_adult, "bank": fetch_bank, "compas": fetch_compas}[name]()
    of_x = {"sensitive_feature": data.sensitive.name} if data.sensitive.name in data.data else {}
    model = ParityBoostClassifier(n_bags=2, n_estimators=40, random_state=0, **options, **of_x)
    model.fit(data.data, data.target, sensitive_features=None if of_x else data.sensitive)
    given = {} if of_x or "threshold" not in options else {"given": {"group": data.sensitive.to_numpy()}}
    if given:
        given |= {"sensitive_features": ["group"]}
    rows = slice(None, None, 1 + len(data.data) // 5000)
    if given:
        given["given"]["group"] = given["given"]["group"][rows]
    assert_same(model, data.data[rows], **given)
    if "dial" in options:
        assert_same(model.choose(fairness=0.3), data.data[rows], ("duckdb",))


@pytest.mark.no_cover
def test_the_query_of_the_recommended_model_is_short():
    adult = load_adult()
    model = ParityBoostClassifier(random_state=0).fit(adult.data, adult.target, sensitive_features=adult.sensitive)
    assert len(model.to_sql("people")) < 300_000
    assert_same(model, adult.data, ("duckdb",))


@pytest.mark.parametrize("options", [{}, {"max_depth": 2}])
def test_contributions_are_those_of_explain(people, options):
    X, y, _ = people
    model = fitted(people, **options)
    expected = explain.contributions(model, X)
    for dialect in ("duckdb", "sqlite"):
        found = run(dialect, model, X, contributions=True)
        parts = found[[name for name in found if name.startswith("contribution_")]]
        np.testing.assert_array_equal(parts.to_numpy(), expected.to_numpy())
        assert list(parts)[: X.shape[1]] == [f"contribution_{name}" for name in X]
        assert list(parts)[-1] == "contribution_constant"
    per_group = AdaFairClassifier(
        n_estimators=20, threshold="per_group", sensitive_feature="city", random_state=0, **options
    ).fit(X, y)
    found = run("duckdb", per_group, X, contributions=True)
    np.testing.assert_array_equal(
        found[[name for name in found if name.startswith("contribution_")]], explain.contributions(per_group, X)
    )


def test_any_number_of_pairs_is_looked_up(monkeypatch):
    monkeypatch.setattr("parityboost._io.sql.JOINS", 4)  # SQLite joins 64 tables at most
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 12, (400, 20)), columns=[f"c{j}" for j in range(20)])
    y = (X.to_numpy() @ rng.normal(size=20) + (X.c0 * X.c1 % 5) > 2).astype(int)
    model = AdaFairClassifier("none", n_estimators=300, max_depth=2, validation_fraction=None)
    model.fit(X, y, sensitive_features=np.arange(400) % 2)
    assert len(model.glass_box_.effects.pairs) > 8
    assert_same(model, X)


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(tables(), st.sampled_from(LABELS), st.sampled_from([1, 2]))
def test_every_kind_of_column_is_scored_the_same(table, labels, depth):
    X, y, new, categorical = table
    labels = np.array(labels, dtype=object if isinstance(labels[0], str) else None)
    model = AdaFairClassifier(
        "none", n_estimators=10, max_depth=depth, categorical_features=categorical, validation_fraction=None
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            model.fit(X, labels[y], sensitive_features=np.arange(len(y)) // 2 % 2)
    except ValueError as error:
        assume("no better than chance" not in str(error))
        raise
    try:
        model.to_sql("people")
    except ValueError as error:  # dates, intervals and infinity, if anything depends on them
        assert re.match(r"column '(intervals|times|float categories) .*': the category", str(error))
        return
    for rows in (X, new):
        try:
            model.predict(rows)
        except ValueError as error:
            assert "in training" in str(error)
            continue
        if any(value in (np.inf, -np.inf) for name in rows for value in rows[name].astype(object)):
            continue  # what a table holds of infinite categories is up to the database
        assert_same(model, rows, like=X)


def test_hostile_names_and_values_do_no_harm():
    y = np.arange(60) % 2
    evil = ['"; DROP TABLE people; --', "it's ü 🙂", "back\\slash'", "", "NULL", "--", "{{x}}", "a;b", "\n"]
    names = ['a"b', "x' OR 1=1; --", "select", "ü 🙂 {{y}}", "score_", "code_0", "step_codes", "`tick`"]
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(np.array(evil, dtype=object), 60) for name in names})
    X.iloc[::7, 0] = None
    labels = np.array(["no'; --", "ja\\"], dtype=object)
    model = AdaBoostClassifier(30).fit(X, labels[y])
    found = assert_same(model, X, table='t"; DROP TABLE x; --')
    assert set(found["decision"]) <= set(labels)
    for dialect in DIALECTS:  # and what other databases would get is one query, with all values in it as they are
        parsed = sqlglot.parse(model.to_sql("t'`\"", dialect), dialect)
        assert len(parsed) == 1 and isinstance(parsed[0], sqlglot.exp.Select)
        assert set(evil) >= {text.this for text in parsed[0].find_all(sqlglot.exp.Literal) if text.is_string} - {
            *labels
        }


def test_missing_values_truth_values_and_large_numbers():
    n = 120
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "number": np.where(np.arange(n) % 5 == 0, np.nan, rng.normal(size=n)),
            "whole": 2**53 + rng.integers(0, 9, n),
            "flag": rng.random(n) < 0.5,
            "truth": pd.Categorical(rng.random(n) < 0.5),
            "large": pd.Categorical(2**60 + rng.integers(0, 3, n)),
        }
    )
    y = (np.nan_to_num(X["number"], nan=1) + X["flag"] + (X["large"].astype("int64") % 2) > 0.8).astype(int)
    model = AdaBoostClassifier(60).fit(X, y)
    assert_same(model, X)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (number FLOAT, whole BIGINT, flag BOOLEAN, truth BOOLEAN, large BIGINT)")
    connection.execute("INSERT INTO t VALUES ('NaN', NULL, NULL, NULL, NULL), (NULL, NULL, NULL, NULL, NULL)")
    scores = [row[0] for row in connection.execute(model.to_sql("t")).fetchall()]
    nothing = X.iloc[:1].assign(number=np.nan, whole=np.nan, flag=np.nan, truth=None, large=None)
    assert scores == [model.decision_function(nothing)[0]] * 2


def test_a_column_may_be_stored_otherwise_and_under_another_name():
    X, y, _ = make_people(200)
    X = X[["member", "skill"]].assign(yes=pd.Categorical(X["member"]))
    model = AdaBoostClassifier(20).fit(X.to_numpy(dtype=float)[:, :2], y)
    table = X.rename(columns={"member": "is member"})
    options = {"columns": {"x0": "is member", "x1": "skill"}, "types": {"x0": "boolean"}}
    for dialect in ("duckdb", "sqlite"):
        found = run(dialect, model, table, **options)
        assert found["score"].tolist() == model.decision_function(X.to_numpy(dtype=float)[:, :2]).tolist()
    query = model.to_sql("t", "postgres", **options)  # which makes no number of a boolean
    assert 'CAST("is member"' not in query
    of_categories = AdaBoostClassifier(20).fit(X[["yes"]], X["member"])
    assert "IN (1)" in of_categories.to_sql("t", types={"yes": "number"}) or "IN (0)" in of_categories.to_sql(
        "t", types={"yes": "number"}
    )


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "options",
    [
        {"sensitive_feature": ["city", "member"]},
        {"sensitive_feature": "years", "bands": {"years": [7, 15]}},
        {"sensitive_feature": ["years", "city"], "bands": {"years": [7, 15.5]}},
        {"sensitive_feature": "skill", "bands": {"skill": [0]}, "missing_group": "unknown"},
    ],
)
def test_thresholds_of_crossed_and_banded_groups(options):
    X, y, _ = make_people(500)
    model = AdaFairClassifier(
        n_estimators=8, threshold="per_group", validation_fraction=None, max_depth=2, **options
    ).fit(X, y)
    model.set_threshold(np.linspace(-0.4, 0.6, len(model.groups_)))
    for rows in (X, X.assign(city="elsewhere", years=X["years"] + 0.5), X.assign(years=7, skill=0.0)):
        assert_same(model, rows)


def test_groups_that_are_no_column_of_the_model():
    X, y, group = make_people(300)
    model = AdaFairClassifier(n_estimators=8, threshold="per_group", random_state=0)
    model.fit(X, y, sensitive_features=group)
    assert_same(model, X, given={"g": group}, sensitive_features=["g"])
    with pytest.raises(ValueError, match="made of 1 columns that are none of the model's: name them"):
        model.to_sql("people")
    with pytest.raises(ValueError, match="thresholds per group are not a step function of one feature"):
        model.to_sql("people", sensitive_features=["g"], contributions=True)


def test_what_cannot_be_a_query_is_refused(people):
    X, y, group = people
    model = fitted(people)
    for options, message in [
        ({"dialect": "oracle"}, "dialect must be one of bigquery, .* got 'oracle'"),
        ({"keep": ["Score"]}, "keep: 'Score' is the name of a column that the query adds"),
        ({"columns": {"jobs": "j"}}, "columns: the model has no column 'jobs'; its columns are 'skill', 'years'"),
        ({"types": {"member": "bool"}}, "types: column 'member' must be stored as one of number, boolean, got 'bool'"),
        ({"columns": {"job": "city"}}, "two columns of the model are called 'city'"),
        ({"keep": ["a\0b"]}, "a name of a table or column must be text without null characters"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.to_sql("people", **options)
    with pytest.raises(ValueError, match="table must be a name"):
        model.to_sql([])
    days = pd.Categorical(pd.date_range("2020", periods=2)[y])
    with pytest.raises(ValueError, match=r"column 'job': the category .* is a Timestamp.*make dates"):
        fitted((X.assign(job=days), y, group)).to_sql("people")
    twins = fitted((X.assign(job=np.array([1, "1"], dtype=object)[y]), y, group))
    with pytest.raises(ValueError, match="column 'job': two categories read '1'"):
        twins.to_sql("people")
    nothing = fitted((X.assign(job=np.array(["a\0", "b"], dtype=object)[y]), y, group))
    with pytest.raises(ValueError, match="column 'job': the category must be text without null characters"):
        nothing.to_sql("people")


def test_a_model_that_says_the_same_of_all_is_a_query_too(people):
    model = fitted(people)
    # What a model with one leaf for all is like.
    model._rounds = replace(model._rounds, learners=[tree._replace(votes=(1,) * 4) for tree in model.estimators_])
    connection = duckdb.connect()
    connection.register("people", people[0])
    scores = connection.execute(model.to_sql("people")).df()["score"]
    assert scores.tolist() == model.decision_function(people[0]).tolist()
    assert_same(model, people[0])


def test_a_schema_is_a_list(people):
    assert 'FROM "main"."people"' in fitted(people).to_sql(["main", "people"])


def test_older_files_are_scored_the_same(tmp_path, people):
    fitted(people).save(tmp_path / "model.json")
    assert_same(load(tmp_path / "model.json"), people[0])


@pytest.mark.no_cover
@pytest.mark.parametrize("favourable", [0, 1])
@pytest.mark.parametrize("options", [{}, {"max_depth": 2}, {"threshold": "per_group", "sensitive_feature": "city"}])
def test_reasons_are_those_of_explain(favourable, options):
    X, y, group = make_people(300)
    model = AdaFairClassifier(n_estimators=20, random_state=0, favourable=favourable, **options)
    model.fit(X, y, sensitive_features=None if "sensitive_feature" in options else group)
    given = {"texts": {"skill": "it's skill"}, "codes": {"skill": "R1"}, "unnamed": ["member"]}
    found = explain.reasons(model, X, 3, reference="approved", **given)
    for dialect in ("duckdb", "sqlite"):
        table = run(dialect, model, X, reasons=found.rule, contributions=True)
        reasons = table[[name for name in table if name.startswith("reason_")]].astype(object)
        assert list(reasons) == [f"reason_{k}{code}" for k in (1, 2, 3) for code in ("", "_code")]
        for k in (1, 2, 3):
            of_rank = found.table[found.table["rank"] == k].set_index("row")
            named = reasons[f"reason_{k}"].dropna()
            assert named.to_dict() == of_rank["text"].to_dict()
        assert reasons["reason_1"].notna().any()
