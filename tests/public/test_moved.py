"""Names in their old place: there for one version, with a warning that says where they are now."""

import importlib
import pickle

import pytest

import parityboost
from conftest import run_python
from parityboost import AdaBoostClassifier
from parityboost.paper import baselines, experiments

MOVED = [
    *(("baselines", baselines, name) for name in baselines.__all__),
    *(("experiments", experiments, name) for name in experiments.__all__),
    ("baselines", parityboost, "AdaBoostClassifier"),
    ("baselines.adaboost", parityboost, "AdaBoostClassifier"),
    ("baselines.zafar", baselines, "ZafarClassifier"),
    ("baselines.registry", baselines, "get_method"),
]


@pytest.mark.parametrize(("module", "home", "name"), MOVED, ids=[f"{module}.{name}" for module, _, name in MOVED])
def test_an_old_name_is_the_new_one_and_says_so(module, home, name):
    old = importlib.import_module(f"parityboost.{module}")
    with pytest.warns(FutureWarning, match=rf"^parityboost\.{module}\.{name} is parityboost\..*{name} now") as caught:
        assert getattr(old, name) is getattr(home, name)
    assert caught[0].filename == __file__


def test_old_modules_can_be_imported_in_every_way():
    code = """
import warnings
warnings.simplefilter("ignore", FutureWarning)
import parityboost.baselines.zafar
from parityboost.baselines import krasanakis, AdaBoostClassifier
from parityboost.baselines.fae import FAEClassifier
from parityboost.baselines._base import DecidesByGroup
from parityboost.experiments import *
print(parityboost.baselines.zafar.ZafarClassifier.__module__, krasanakis.culep_weights.__module__, len(FIGURES))
"""
    result = run_python(code)
    assert result.stdout.split() == [
        "parityboost.paper.baselines.zafar",
        "parityboost.paper.baselines.krasanakis",
        "13",
    ], result.stderr


def test_what_never_was_there_is_not_there_now():
    for name in ("baselines", "experiments"):
        with pytest.raises(AttributeError, match="unheard_of"):
            importlib.import_module(f"parityboost.{name}").unheard_of  # noqa: B018
        assert not hasattr(importlib.import_module(f"parityboost.{name}"), "__path__")


def test_a_model_pickled_under_the_old_name_is_read():
    old = pickle.dumps(AdaBoostClassifier(3), protocol=0).replace(b"parityboost.adaboost", b"parityboost.baselines")
    with pytest.warns(FutureWarning, match="AdaBoostClassifier"):
        assert pickle.loads(old).n_estimators == 3


def test_nothing_of_the_papers_ring_is_imported_before_a_file_names_a_model_of_it(tmp_path):
    X, y = [[0.0], [1.0], [2.0], [3.0]] * 3, [0, 0, 1, 1] * 3
    AdaBoostClassifier(2).fit(X, y).save(tmp_path / "plain.json")
    baselines.SMOTEBoostClassifier(2, random_state=0).fit(X, y).save(tmp_path / "smote.json")
    code = f"""
import sys
import parityboost, parityboost.baselines, parityboost.experiments
from parityboost import audit, cli, demo, explain, plot, report
print(type(parityboost.load({str(tmp_path / "plain.json")!r})).__name__)
print([name for name in sys.modules if name.startswith("parityboost.paper")])
print(type(parityboost.load({str(tmp_path / "smote.json")!r})).__name__)
"""
    result = run_python(code)
    assert result.stdout.splitlines() == ["AdaBoostClassifier", "[]", "SMOTEBoostClassifier"], result.stderr
