"""A model does not depend on the device by a single bit; what a card cannot train is refused in one sentence."""

import gc
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn.tree import DecisionTreeClassifier

from conftest import make_people, needs_data, run_python
from devices import needs_card
from parityboost import AdaFairClassifier, ParityBoostClassifier
from parityboost._choice import thresholds
from parityboost._engine.cuda import card
from parityboost._engine.kernels import boosting
from parityboost._fit import samples
from parityboost._fit.trees import TreeLearner
from parityboost.datasets import fetch_bank, fetch_compas, fetch_kdd_census, load_adult
from problems import TWIN_OPTIONS, frame_of, group_labels, problems

DATASETS = {"adult": load_adult, "bank": fetch_bank, "compas": fetch_compas, "kdd census": fetch_kdd_census}
RECOMMENDED = {"update": "discrete", "class_weight": "balanced_groups", "threshold": "auto", "keep": 0.5}


def assert_same_models(first, second, X, **groups):
    pd.testing.assert_frame_equal(first.history_, second.history_, check_exact=True)
    assert first.estimators_ == second.estimators_
    assert first.estimator_weights_.tolist() == second.estimator_weights_.tolist()
    assert first.theta_ == second.theta_
    assert np.array_equal(first.threshold_, second.threshold_)
    pd.testing.assert_frame_equal(first.frontier(), second.frontier(), check_exact=True)
    assert np.array_equal(first.decision_function(X, **groups), second.decision_function(X, **groups))


def fit_on_both(X, y, options, **fit_args):
    models = []
    for device in ("cpu", "cuda"):
        models.append(AdaFairClassifier(device=device, random_state=0, **options).fit(X, y, **fit_args))
    assert_same_models(*models, X, sensitive_features=fit_args["sensitive_features"])


@needs_card
@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=150)
@given(problem=problems(), options=TWIN_OPTIONS)
def test_drawn_tables_give_the_same_model_on_both_devices(problem, options):
    _, (columns, y, group, sample_weight), validation = problem
    if validation is None:
        options = options | {"costs_from": "training"}
    fit_args = {"sensitive_features": group_labels(group), "sample_weight": sample_weight}
    if validation is not None:
        columns_v, y_v, group_v, weights_v = validation
        fit_args["validation"] = (frame_of(columns_v), y_v, group_labels(group_v), weights_v)
    try:
        fit_on_both(frame_of(columns), y, options | {"validation_fraction": None}, **fit_args)
    except ValueError as error:
        assert "no better than chance" in str(error)


@needs_card
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("sample_weight", [None, "integers", "floats"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"update": "discrete", "learner_weight": "cost", "class_weight": "balanced"},
        {"max_depth": 2},
        {"threshold": "auto", "notion": "equal_opportunity"},
        {"threshold": "per_group", "max_depth": 2},
        {"cumulative": False, "threshold": 0.2},
        RECOMMENDED,
        {"update": "real", "learning_rate": 0.3, "max_depth": 2, "threshold": "auto"},
        {"update": "real", "class_weight": "balanced_groups"},
        {"costs_from": "validation", "n_iter_no_change": 5},
    ],
    ids=str,
)
def test_rows_of_many_blocks_give_the_same_model(options, sample_weight):
    X, y, group = make_people(60_000)
    X["fine"] = np.random.default_rng(1).normal(size=len(y)) + y
    rng = np.random.default_rng(2)
    given = {"integers": rng.integers(1, 5, len(y)), "floats": rng.gamma(1.0, size=len(y)) + 1e-3}.get(sample_weight)
    fit_on_both(X, y, {"n_estimators": 30} | options, sensitive_features=group, sample_weight=given)


@needs_card
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_thresholds_are_counted_the_same(monkeypatch):
    monkeypatch.setattr(thresholds, "N_BUCKETS", 100)
    X, y, group = make_people(20_000)
    fit_on_both(X, y, {"n_estimators": 20, "threshold": "auto"}, sensitive_features=group)


@needs_card
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sums_that_leave_their_range_all_the_time_are_the_same(monkeypatch):
    monkeypatch.setattr(boosting, "ROOM", 2.0**30)
    monkeypatch.setattr(boosting, "TARGET", 29)
    monkeypatch.setattr(boosting, "FACTOR_BITS", 4)
    X, y, group = make_people(5_000)
    fit_on_both(X, y, {"n_estimators": 30}, sensitive_features=group)


@needs_card
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_many_columns_and_groups_give_the_same_model():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(20_000, 150)), 2)
    group, y = rng.integers(0, 40, len(X)), (X[:, :3].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    fit_on_both(X, y, {"n_estimators": 15}, sensitive_features=group)
    fit_on_both(X, y, {"n_estimators": 8, "max_depth": 2}, sensitive_features=group)


@needs_card
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_bags_give_the_same_model(n_jobs):
    X, y, group = make_people(9_000)
    models = []
    for device in ("cpu", "cuda"):
        model = ParityBoostClassifier(n_bags=3, n_estimators=20, device=device, n_jobs=n_jobs, random_state=0)
        models.append(model.fit(X, y, sensitive_features=group))
    first, second = models
    pd.testing.assert_frame_equal(first.history_, second.history_, check_exact=True)
    assert np.array_equal(first.threshold_, second.threshold_)
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))


@needs_card
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("on_card", [False, True], ids=["from here", "from the card"])
@pytest.mark.parametrize("options", [{}, {"max_depth": 2, "threshold": "auto"}], ids=str)
def test_many_rows_binned_on_the_card_give_the_same_model(options, on_card):
    import cupy

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=600_000), rng.integers(0, 9, 600_000), rng.gamma(1.0, size=600_000)])
    X[rng.random(X.shape) < 0.1] = np.nan
    group = rng.integers(0, 2, len(X))
    y = (np.nan_to_num(X).sum(axis=1) + group + rng.normal(size=len(X)) > 4).astype(int)
    expected = AdaFairClassifier(n_estimators=10, random_state=0, **options).fit(X, y, sensitive_features=group)
    placed = (cupy.asarray(part) if on_card else part for part in (X, y, group))
    there, labels, groups = placed
    model = AdaFairClassifier(n_estimators=10, random_state=0, device="cuda", **options)
    model.fit(there, labels, sensitive_features=groups)
    assert_same_models(expected, model, X)
    assert np.array_equal(expected.decision_function(X), model.decision_function(there))
    with pytest.raises(TypeError, match=r'X is on the graphics card, and device="cpu": use device="cuda", or X.get'):
        expected.predict(cupy.asarray(X))


@needs_card
@needs_data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("options", [{}, RECOMMENDED, {"max_depth": 2, "n_estimators": 50}], ids=str)
@pytest.mark.parametrize("name", DATASETS)
def test_the_papers_data_give_the_same_model(name, options):
    data = DATASETS[name]()
    fit_on_both(data.data, data.target, options, sensitive_features=data.sensitive)


@needs_card
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_fits_leave_no_memory_behind():
    import cupy

    X, y, group = make_people(2_000)
    free = []
    for k in range(1_000):
        AdaFairClassifier(n_estimators=2, device="cuda").fit(X, y, sensitive_features=group).predict(X)
        if k in (20, 999):
            free.append(cupy.cuda.runtime.memGetInfo()[0])
    assert free[1] >= free[0]


@needs_card
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_table_that_does_not_fit_is_refused_with_its_size(monkeypatch):
    import cupy

    X, y, group = make_people(2_000)
    monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", lambda: (10_000, 80 * 10**9))
    with pytest.raises(MemoryError, match=r'device="cuda" needs about .* GB of memory on the graphics card'):
        AdaFairClassifier(device="cuda").fit(X, y, sensitive_features=group)


@needs_card
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", [AdaFairClassifier, ParityBoostClassifier])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_fit_that_ends_in_the_middle_leaves_no_memory_behind(monkeypatch, kind, error):
    import cupy

    X, y, group = make_people(20_000)
    options = {"n_estimators": 5, "device": "cuda", "max_depth": 1}
    fit, calls, free = TreeLearner.fit, [], []

    def interrupted(self):
        calls.append(1)
        if len(calls) % 3 == 0:
            raise error
        return fit(self)

    for _ in range(40):
        model = kind(**options)
        with monkeypatch.context() as patch, pytest.raises(error):
            patch.setattr(TreeLearner, "fit", interrupted)
            model.fit(X, y, sensitive_features=group)
        assert not hasattr(model, "theta_")
        gc.collect()  # an error holds on to the frames that it came through, and what is in them, until it is gone
        free.append(cupy.cuda.runtime.memGetInfo()[0])
    assert min(free[5:]) >= free[4], free
    assert kind(**options).fit(X, y, sensitive_features=group).predict(X).shape == (20_000,)


def test_without_cupy_nothing_is_trained(monkeypatch, people):
    X, y, group = people
    monkeypatch.setitem(sys.modules, "cupy", None)  # importing it now fails
    model = AdaFairClassifier(device="cuda")
    with pytest.raises(ImportError, match=r'^device="cuda" needs CuPy .*parityboost\[cuda12\].*device="cpu"$'):
        model.fit(X, y, sensitive_features=group)
    assert not hasattr(model, "theta_")


class NoCard:
    """CuPy on a machine without a card."""

    class cuda:  # noqa: N801
        class runtime:  # noqa: N801
            @staticmethod
            def getDeviceCount():  # noqa: N802
                raise RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected\nmore lines")


def test_without_a_card_nothing_is_trained(monkeypatch, people):
    X, y, group = people
    monkeypatch.setitem(sys.modules, "cupy", NoCard)
    with pytest.raises(OSError, match=r"found none \(cudaErrorNoDevice: no CUDA-capable device is detected\)"):
        AdaFairClassifier(device="cuda").fit(X, y, sensitive_features=group)


def test_kernels_that_the_cuda_version_cannot_compile_are_an_error(monkeypatch):
    class Module:
        def __init__(self, code, options):
            assert "--fmad=false" in options and "__global__" in code

        def compile(self):
            raise RuntimeError("nvrtc: error: invalid value for --gpu-architecture\nmore lines")

    monkeypatch.setattr(card, "load_cupy", lambda: SimpleNamespace(RawModule=Module))
    message = r'could not compile its kernels \(nvrtc: error: .*architecture\): pip install .*device="cpu"$'
    with pytest.raises(OSError, match=message):
        card.compile_module.__wrapped__("passes.cu", 0)


def test_a_weak_learner_of_ones_own_is_refused(people):
    X, y, group = people
    with pytest.raises(ValueError, match=r'device="cuda" is for the native trees, and DecisionTreeClassifier'):
        AdaFairClassifier(device="cuda", estimator=DecisionTreeClassifier()).fit(
            X[["years", "member"]], y, sensitive_features=group
        )


def test_a_fit_on_the_processor_never_imports_cupy():
    code = """
import sys
import numpy as np
from parityboost import AdaFairClassifier, ParityBoostClassifier
X = np.arange(40.0)[:, None]
AdaFairClassifier(n_estimators=2).fit(X, X[:, 0] > 19, sensitive_features=np.arange(40) % 2).predict(X)
print("cupy" in sys.modules)
"""
    result = run_python(code)
    assert result.stdout.strip() == "False", result.stderr


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_model_is_stored_without_its_device(people, tmp_path):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=3).fit(X, y, sensitive_features=group)
    model.set_params(device="cuda").save(tmp_path / "model.json")
    assert '"device"' not in (tmp_path / "model.json").read_text()
    assert AdaFairClassifier.load(tmp_path / "model.json").device == "cpu"


@needs_card
def test_blocks_of_rows_are_not_longer_than_the_card_lists():
    from parityboost._arrays import BLOCK_ROWS

    assert samples.BLOCK_ROWS == BLOCK_ROWS
