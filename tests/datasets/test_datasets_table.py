"""read_table: a user's own file becomes the same Bunch, and mistakes are answered with what would be accepted."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from parityboost.datasets import base_rates, load_adult, overview, read_table

CSV = """\
id,sex,race,age,member,job,paid
1,f,black,31,True,clerk,yes
2,m,white,42,False,,no
3,f,white,,True,cook,yes
4,m,black,27,True,clerk,no
5,f,black,55,False,cook,no
"""
ROLES: dict[str, Any] = {"target": "paid", "positive": "yes", "sensitive": "sex", "protected": "f", "drop": "id"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    path.write_text(CSV)
    return path


def write_parquet(path: Path, frame: pd.DataFrame) -> Path:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    frame.to_parquet(path)
    return path


def test_the_bunch_has_the_shape_of_the_loaders(table: Path) -> None:
    bunch = read_table(table, **ROLES)
    assert set(bunch) == set(load_adult())
    assert bunch.name == "loans"
    assert bunch.target.tolist() == [1, 0, 1, 0, 0]
    assert bunch.target_names == ["no", "yes"]
    assert bunch.positive_label == "yes"
    assert bunch.sensitive.tolist() == ["f", "m", "f", "m", "f"]
    assert bunch.protected == "f"
    assert bunch.feature_types == {
        "sex": "categorical", "race": "categorical", "age": "numeric", "member": "categorical", "job": "categorical",
    }  # fmt: skip
    assert bunch.data["age"].isna().tolist() == [False, False, True, False, False]
    assert bunch.data["job"].isna().tolist() == [False, True, False, False, False]
    assert overview(bunch)["loans"].tolist() == ["5", "5", "sex", "f", "1:1.50", "yes", "f 0.667", "m 0.000"]


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.csv.gz", "t.TSV.GZ", "t.csv.xz", "t.csv.bz2", "t.csv.zip", "t.parquet"]
)
def test_all_formats_give_the_same_data(name: str, table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table)
    path = tmp_path / name
    if name.endswith("parquet"):
        write_parquet(path, frame)
    else:
        compression = "gzip" if name.endswith("GZ") else "infer"
        frame.to_csv(path, index=False, sep="\t" if "tsv" in name.lower() else ",", compression=compression)  # type: ignore[call-overload]
    bunch, expected = read_table(path, **ROLES), read_table(table, **ROLES)
    pd.testing.assert_frame_equal(bunch.data, expected.data)
    pd.testing.assert_series_equal(bunch.target, expected.target)
    pd.testing.assert_series_equal(bunch.sensitive, expected.sensitive)


def test_semicolons_and_blanks_after_commas_are_understood(table: Path, tmp_path: Path) -> None:
    expected = read_table(table, **ROLES).data
    path = tmp_path / "other.csv"
    for between, more in ((";", {}), (", ", {"sep": ", "})):
        path.write_text(CSV.replace(",", between))
        pd.testing.assert_frame_equal(read_table(path, **ROLES, **more).data, expected)


def test_several_sensitive_columns_are_kept_apart_and_crossed_in_base_rates(table: Path) -> None:
    roles = ROLES | {"sensitive": ["sex", "race"], "protected": ["f", "black"]}
    bunch = read_table(table, **roles)
    assert bunch.sensitive.columns.tolist() == ["sex", "race"]
    assert bunch.protected == ("f", "black")
    rates = base_rates(bunch)
    assert rates.index.names == ["sex", "race"]
    assert rates["n"].to_dict() == {("f", "black"): 2, ("f", "white"): 1, ("m", "black"): 1, ("m", "white"): 1}
    assert rates.index[0] == ("f", "black")
    column = overview(bunch)["loans"]
    assert (column["Sen.Attr."], column["Prot.Group (s)"], column["Base rate 1"]) == (
        "sex × race", "f × black", "f × black 0.500"
    )  # fmt: skip
    assert "sex, race" in bunch.DESCR


def test_a_dropped_sensitive_column_leaves_the_data_but_not_the_bunch(table: Path) -> None:
    bunch = read_table(table, **ROLES | {"drop": ["id", "sex"]})
    assert "sex" not in bunch.data
    assert bunch.sensitive.name == "sex"


def test_without_protected_and_drop_all_columns_stay_and_no_group_is_singled_out(table: Path) -> None:
    bunch = read_table(table, target="paid", positive="yes", sensitive="sex")
    assert bunch.protected is None
    assert bunch.feature_names == ["id", "sex", "race", "age", "member", "job"]


@pytest.mark.parametrize("positive", [1, 1.0, "1", True])
def test_positive_and_protected_match_as_values_or_as_text(positive: Any, tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text("g,x,y\n0,1,1\n1,2,0\n1,3,1\n")
    bunch = read_table(path, target="y", positive=positive, sensitive="g", protected="0")
    assert bunch.target.tolist() == [1, 0, 1]
    assert bunch.protected == 0
    assert bunch.target_names == ["0", "1"]
    assert bunch.feature_types == {"g": "numeric", "x": "numeric"}


def test_nullable_and_categorical_parquet_columns_become_plain_ones(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "g": pd.Categorical(["a", "b", "a"], categories=["b", "a", "unused"]),
            "i": pd.array([1, None, 3], dtype="Int64"),
            "j": pd.array([1, 2, 3], dtype="Int64"),
            "b": pd.array([True, None, False], dtype="boolean"),
            "y": [True, False, True],
        },
        index=[7, 8, 9],
    )
    bunch = read_table(write_parquet(tmp_path / "t.parquet", frame), target="y", positive=True, sensitive="g")
    assert {name: str(dtype) for name, dtype in bunch.data.dtypes.items()} == {
        "g": "category", "i": "float64", "j": "int64", "b": "category",
    }  # fmt: skip
    assert bunch.data["g"].cat.categories.tolist() == ["b", "a", "unused"]
    assert bunch.sensitive.cat.categories.tolist() == ["b", "a"]
    assert bunch.data["i"].isna().tolist() == bunch.data["b"].isna().tolist() == [False, True, False]
    assert bunch.target.tolist() == [1, 0, 1]


def test_a_column_of_dates_is_refused_by_name(tmp_path: Path) -> None:
    frame = pd.DataFrame({"g": ["a", "b"], "born": pd.to_datetime(["2000-01-01", "2001-01-01"]), "y": [0, 1]})
    path = write_parquet(tmp_path / "t.parquet", frame)
    with pytest.raises(ValueError, match=r"column 'born' has the type datetime64.*drop"):
        read_table(path, target="y", positive=1, sensitive="g")
    assert read_table(path, target="y", positive=1, sensitive="g", drop="born").feature_names == ["g"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": "payed"}, r"target must be in the table, got 'payed'; its columns are \['id', 'sex', .*'paid'\]"),
        ({"sensitive": "gender"}, r"sensitive must be in the table, got 'gender'; its columns are \['id', 'sex'"),
        ({"sensitive": ["sex", "gender"]}, "sensitive must be in the table, got 'gender'"),
        ({"sensitive": []}, r"one or more different columns, got \[\]"),
        ({"sensitive": ["sex", "sex"]}, "one or more different columns"),
        ({"sensitive": "paid"}, "'paid' is the target and cannot be in sensitive"),
        ({"drop": ["id", "name"]}, "drop must be in the table, got 'name'"),
        ({"drop": "paid"}, "'paid' is the target and cannot be in drop"),
        ({"drop": ["id", "sex", "race", "age", "member", "job"]}, "no attributes left"),
        ({"positive": "Yes"}, r"positive must be .* target 'paid', got 'Yes'; its values are \['yes', 'no'\]"),
        (
            {"target": "id", "drop": None},
            r"target 'id' must have .*two classes, got 5; its values are \[1, 2, 3, 4, 5\]",
        ),
        ({"target": "age"}, "target column 'age' has no value in 1 of 5 rows"),
        ({"sensitive": "job"}, "sensitive column 'job' has no value in 1 of 5 rows"),
        ({"protected": "female"}, r"protected must be .* sensitive 'sex', got 'female'; its values are \['f', 'm'\]"),
        ({"sensitive": ["sex", "race"], "protected": "f"}, r"one value for each .*\['sex', 'race'\], got 'f'"),
        ({"sensitive": ["sex", "race"], "protected": ["f"]}, r"one value for each .*got \['f'\]"),
    ],
)
def test_mistakes_are_answered_with_what_would_be_accepted(changes, message, table: Path) -> None:
    with pytest.raises(ValueError, match=message):
        read_table(table, **ROLES | changes)


def test_long_lists_of_values_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("g,y\n" + "".join(f"{i % 2},{i}\n" for i in range(100)))
    with pytest.raises(ValueError, match=r"got 100; .*, 19\] and 80 more"):
        read_table(path, target="y", positive=1, sensitive="g")


def test_a_single_group_or_class_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("g,x,y\na,1,0\na,2,1\n")
    with pytest.raises(ValueError, match="'g' must have at least two groups, got only 'a'"):
        read_table(path, target="y", positive=1, sensitive="g")
    with pytest.raises(ValueError, match=r"target 'g' must have .*two classes, got 1"):
        read_table(path, target="g", positive="a", sensitive="y")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"g,x,y\n", "has no rows"),
        ("t.csv", b"g,y\na,1\nb,0,7,8\n", "cannot be read as CSV"),
        ("t.csv", b"g,y\na,1,2\nb,0,7\n", "more fields in its rows than the 2 in its header"),
        ("t.csv", b"g,y\n\xff\xfe,1\n", "cannot be read as CSV in UTF-8"),
        ("t.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:-20], "cannot be read as CSV"),
        ("t.parquet", b"not parquet at all", "cannot be read as Parquet"),
        ("t.ods", b"", r"must end in one of \['.csv', '.tsv', '.txt', '.jsonl', .*'.xlsx'\].*got '.*t.ods'"),
        ("t.parquet.gz", b"", "must end in one of"),
    ],
)
def test_files_that_hold_no_table_are_refused(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    if name == "t.parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name, target="y", positive=1, sensitive="g")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"existing file or a folder of files, got '.*nowhere.csv'"):
        read_table(tmp_path / "nowhere.csv", target="y", positive=1, sensitive="g")


def test_parquet_without_pyarrow_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"")
    with pytest.raises(ImportError, match="pip install pyarrow"):
        read_table(tmp_path / "t.parquet", target="y", positive=1, sensitive="g")


@pytest.mark.parametrize("header", ["sex, x, paid", "sex,x,paid"])
def test_a_column_or_label_that_is_only_behind_a_space_hints_at_the_separator(tmp_path, header):
    path = tmp_path / "t.csv"
    path.write_text(header + "\n" + "f, 1, yes\nm, 2, no\n" * 3, encoding="utf8")
    with pytest.raises(
        ValueError, match=r"got '(paid|yes)'; its .*' (paid|yes)'.*; give sep ', ' \(--sep ', '\) if spaces"
    ):
        read_table(path, target="paid", positive="yes", sensitive="sex")
    assert read_table(path, target="paid", positive="yes", sensitive="sex", sep=", ").target.sum() == 3


def test_infinity_beside_large_whole_numbers_and_a_missing_one_is_no_surprise(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{2**53 + j},{'ab'[j % 2]},{j % 2}" for j in range(10)]
    path.write_text("\n".join(["x,s,y", *rows, "inf,a,0", ",b,1"]))
    bunch = read_table(path, target="y", sensitive="s", positive=1)
    assert (bunch.data["x"] == float("inf")).sum() == 1 and bunch.data["x"].isna().sum() == 1
