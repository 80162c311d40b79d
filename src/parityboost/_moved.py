"""Names that have moved: for one version they are still found in their old place, with a warning."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

from ._caller import warn_caller

NONE: Mapping[str, str] = MappingProxyType({})


def moved(
    here: str, there: str, names: Mapping[str, str] = NONE, modules: Mapping[str, str] = NONE
) -> Callable[[str], Any]:
    """The ``__getattr__`` of the module ``here``, most of whose names are ``there`` now.

    ``names`` says where its others are, ``modules`` where the modules are that it had in it. Nothing is imported before
    it is asked for.
    """
    submodules = {name: _old_module(f"{here}.{name}", target) for name, target in modules.items()}

    def look_up(name: str) -> Any:
        if name in submodules:
            return submodules[name]
        if name == "__all__":
            return [*import_module(there).__all__, *names]
        if name.startswith("__"):
            raise AttributeError(f"module {here!r} has no attribute {name!r}")
        home = names.get(name, there)
        value = getattr(import_module(home), name)
        warn_caller(
            f"{here}.{name} is {home}.{name} now: import it from there, the next version no longer has the old name",
            FutureWarning,
        )
        return value

    return look_up


def _old_module(name: str, there: str) -> ModuleType:
    """A module that an import of the old name finds."""
    module = ModuleType(name, f"Is {there} now.")
    module.__getattr__ = moved(name, there)  # type: ignore[method-assign]
    sys.modules[name] = module
    return module
