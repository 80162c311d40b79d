"""Every public name has a docstring in numpydoc's form, with an example; tests/test_package.py runs the examples."""

import dataclasses
import importlib
import importlib.util
import inspect

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from numpydoc.validate import validate

from parityboost._docs import documented

MODULES = ["parityboost"] + [
    f"parityboost.{name}"
    for name in (
        "metrics",
        "notions",
        "datasets",
        "explain",
        "plot",
        "audit",
        "report",
        "paper.baselines",
        "paper.experiments",
    )
    if importlib.util.find_spec(f"parityboost.{name}")
]
# What a docstring is held to; not the layout of headings or the capitals of a summary, which read well either way.
REQUIRED = {
    "GL06": "unknown section",
    "GL07": "sections in another order than numpydoc's",
    "GL08": "no docstring",
    "PR01": "a parameter is not documented",
    "PR02": "a documented parameter does not exist",
    "PR03": "parameters in another order than in the signature",
    "PR07": "a parameter without a description",
    "SS01": "no summary",
}


def public_names():
    """Functions and classes in the modules' ``__all__``, as ``module.name``; each once, where it is first listed."""
    found = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                found.setdefault(value, f"{module_name}.{name}")
    return found


NAMES = public_names()


def public_methods():
    """Methods and properties that the package itself defines in its public classes, as ``module.class.name``."""
    for value, name in NAMES.items():
        if inspect.isclass(value):
            for owner in value.__mro__:
                for attribute, member in vars(owner).items():
                    described = inspect.isfunction(member) or isinstance(member, (property, classmethod, staticmethod))
                    if owner.__module__.startswith("parityboost") and described and not attribute.startswith("_"):
                        yield f"{name}.{attribute}"


def faults(name, codes):
    return [f"{code}: {text}" for code, text in validate(name)["errors"] if code in codes]


def described_attributes(value):
    return {name for entry in ClassDoc(value)["Attributes"] for name in entry.name.split(", ")}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_what_it_is_for_and_lists_names_that_exist(module):
    module = importlib.import_module(module)
    assert module.__doc__
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.no_cover
@pytest.mark.parametrize(("value", "name"), NAMES.items(), ids=NAMES.values())
def test_a_public_name_is_documented_with_an_example(value, name):
    # The paper's ring is for researchers: docs/baselines.md and docs/guide/reproducing.md have its examples.
    codes = set(REQUIRED) if ".paper." in name else {*REQUIRED, "EX01"}
    # A record's fields are its parameters; an estimator has these and, once fitted, attributes.
    if dataclasses.is_dataclass(value) and "Attributes" in value.__doc__ and not hasattr(value, "fit"):
        assert {field.name for field in dataclasses.fields(value) if field.init} - described_attributes(value) == set()
        codes -= {"PR01"}
    assert faults(name, codes) == []


@pytest.mark.no_cover
@pytest.mark.parametrize("name", sorted(set(public_methods())))
def test_a_public_method_is_documented(name):
    # A method of one line and no surprises may have a docstring of one line.
    documented = "Parameters" in (validate(name)["docstring"] or "")
    assert faults(name, REQUIRED if documented else {"GL08", "SS01"}) == []


def test_shared_parameters_are_described_in_the_order_of_the_signature():
    def undescribed(unknown):
        """Do nothing."""

    @documented(X=("list", "Some rows."))
    def function(model, X=None, *, top=3, ax=None):
        """Do something.

        Parameters
        ----------
        top : int, default=3
            How many.

        Examples
        --------
        >>> 1 + 1
        2
        """

    found = FunctionDoc(function)
    assert found["Summary"] == ["Do something."]
    assert [(entry.name, entry.type) for entry in found["Parameters"]] == [
        ("model", "AdaFairClassifier"), ("X", "list, optional"), ("top", "int, default=3"), ("ax", "Axes, optional"),
    ]  # fmt: skip
    assert found["Parameters"][1].desc == ["Some rows."]
    assert found["Examples"] == [">>> 1 + 1", "2"]
    with pytest.raises(KeyError, match="unknown"):
        documented()(undescribed)
