"""The design matrix of the linear baselines."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from parityboost.paper.baselines._linear import Design


def encode(X, **kwargs):
    design = Design.fit(X, **kwargs)
    matrix = design.encode(X)
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    return pd.DataFrame(dense, columns=[*design.names, "constant"])


def test_numbers_are_standardised_and_the_constant_comes_last():
    matrix = encode(pd.DataFrame({"x": [1.0, 2.0, 6.0], "flag": [True, False, False]}))
    assert matrix.columns.tolist() == ["x", "flag", "constant"]
    np.testing.assert_allclose(matrix[["x", "flag"]].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(matrix[["x", "flag"]].std(ddof=0), 1)
    assert (matrix["constant"] == 1).all()


def test_missing_numbers_become_the_mean_and_are_marked():
    matrix = encode(pd.DataFrame({"x": [1.0, np.nan, 3.0]}))
    np.testing.assert_allclose(matrix["x"], [-1, 0, 1])
    assert matrix["x is missing"].tolist() == [0, 1, 0]


def test_missing_numbers_that_training_did_not_have_become_the_mean():
    design = Design.fit(np.array([[1.0], [3.0]]))
    assert design.names == ["x0"]
    np.testing.assert_allclose(design.encode(np.array([[np.nan], [3.0]])), [[0, 1], [1, 1]])


def test_categories_strings_and_what_was_never_seen():
    train = pd.DataFrame({"job": pd.Categorical(["cook", "smith", "cook"]), "city": ["x", "y", None]})
    matrix = encode(train)
    assert matrix.columns.tolist() == ["job = cook", "job = smith", "city = x", "city = y", "constant"]
    assert matrix.to_numpy().tolist() == [[1, 0, 1, 0, 1], [0, 1, 0, 1, 1], [1, 0, 0, 0, 1]]
    new = Design.fit(train).encode(pd.DataFrame({"job": ["king", "smith"], "city": ["y", "z"]}))
    assert np.asarray(new).tolist() == [[0, 0, 0, 1, 1], [0, 1, 0, 0, 1]]


def test_numbers_can_be_declared_categories():
    matrix = encode(pd.DataFrame({"code": [7, 3, 7]}), categorical_features=["code"])
    assert matrix.columns.tolist() == ["code = 3", "code = 7", "constant"]


def test_weights_count_like_repeated_rows():
    X = np.array([[1.0, np.nan], [2.0, 5.0], [4.0, 7.0]])
    repeated = X[[0, 1, 2, 2, 2]]
    weighted = Design.fit(X, weights=np.array([1.0, 1.0, 3.0])).encode(X)
    np.testing.assert_allclose(weighted, Design.fit(repeated).encode(X))


def test_many_categories_make_it_sparse_and_equal_to_the_dense_one():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=200), "place": rng.integers(0, 30, 200).astype(str)})
    matrix = Design.fit(X).encode(X)
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.nnz == 3 * 200
    np.testing.assert_array_equal(
        matrix.toarray()[:, 1:-1], pd.get_dummies(X["place"], dtype=float)[sorted(set(X["place"]))].to_numpy()
    )


def test_columns_without_any_value_or_variation_are_harmless():
    matrix = encode(pd.DataFrame({"none": [np.nan, np.nan], "same": [3.0, 3.0], "text": [None, None]}))
    assert np.isfinite(matrix.to_numpy()).all()
    assert (matrix["same"] == 0).all()


def test_numbers_near_the_largest_do_not_overflow():
    matrix = encode(pd.DataFrame({"x": [1e308, -1e308, 1e308]}))
    assert np.isfinite(matrix.to_numpy()).all()


def test_infinity_names_the_column():
    X = pd.DataFrame({"x": [1.0, 2.0]})
    with pytest.raises(ValueError, match="'x' of X contains infinity"):
        Design.fit(X.replace(2.0, np.inf))
    with pytest.raises(ValueError, match="'x' of X contains infinity"):
        Design.fit(X).encode(X.replace(2.0, np.inf))


def test_a_column_of_another_kind_than_in_training_is_an_error():
    numbers, words = pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"x": ["a", "b"]})
    with pytest.raises(ValueError, match="'x' held numbers in training"):
        Design.fit(numbers).encode(words)
    with pytest.raises(ValueError, match="'x' held categories in training"):
        Design.fit(words).encode(numbers)
