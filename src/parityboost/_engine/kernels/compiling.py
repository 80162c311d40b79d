"""How a kernel is compiled; the only module that imports numba.

Where there is no numba (Pyodide has none), the kernels that prediction needs have twins in NumPy that give the same
bits, and the others say what they need.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial, update_wrapper, wraps
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any
from warnings import warn

from numpy.typing import NDArray

numba: Any = None
with suppress(ImportError):
    numba = import_module("numba")

Array = NDArray[Any]
OPTIONS = {"nogil": True, "no_cfunc_wrapper": True}


def stamp(folder: Path) -> tuple[tuple[str, float, int], ...]:
    """What changes with any of the modules in a folder."""
    try:
        known = [(path.name, path.stat()) for path in sorted(folder.glob("*.py"))]
    except OSError:
        return ()
    return tuple((name, status.st_mtime, status.st_size) for name, status in known)


STAMP = stamp(Path(__file__).parent) + stamp(Path(__file__).parents[1])  # where ``codes`` has their constants


@cache
def say_that_it_compiles() -> None:
    """Tell who waits, on a terminal or in a notebook, what for: once in a process."""
    if sys.stderr.isatty() or "ipykernel" in sys.modules:
        print("compiling for this machine, once, about 20 s …", file=sys.stderr, flush=True)


class ForgivingCache:
    """numba's cache of a compiled kernel. If it is damaged, or the disk full, the kernel is compiled in memory.

    A damaged cache is emptied, so that the next process finds a sound one. A kernel has those of other modules in it
    that it calls, and numba looks at its own module only: here all of them have to be what they were.
    """

    warned = False

    def __init__(self, cache: Any) -> None:
        self._cache = cache
        with suppress(AttributeError):
            cache._cache_file._source_stamp = cache._cache_file._source_stamp, STAMP

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            self._prepare_to_compile(target)
            found = self._cache.load_overload(signature, target)
        except Exception as error:  # unpickling what is damaged may raise anything
            self._warn(error)
            with suppress(Exception):
                self._cache.flush()
            found = None
        if found is None:
            say_that_it_compiles()
        return found

    def _prepare_to_compile(self, target: Any) -> None:
        """Let numba know its own types before all else, if nothing is cached.

        To look for something cached is to register ever so many ways to index strings, lists and dictionaries; what
        comes first is tried first, a thousand times.
        """
        with suppress(AttributeError):
            if not self._cache._cache_file._load_index():
                target.typing_context.refresh()

    def save_overload(self, *args: Any) -> None:
        try:
            self._cache.save_overload(*args)
        except Exception as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        if not ForgivingCache.warned:
            ForgivingCache.warned = True
            warn(
                f"the compiled code in {self._cache.cache_path} cannot be used ({type(error).__name__}: {error}): "
                "compiling in memory, which takes some seconds. Make room there, or set NUMBA_CACHE_DIR to another "
                "folder",
                UserWarning,
                stacklevel=2,
            )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)


def compiled(
    function: Callable[..., Any] | None = None, *, makes_arrays: bool = False, twin: Callable[..., Any] | None = None
) -> Any:
    """Compile on first use and keep the result on disk, or in memory only where no folder can be written to.

    Unless a kernel makes arrays, nobody has to count who holds them, which is much of the time to compile. Where there
    is no numba, its ``twin`` does the same in NumPy.
    """
    if function is None:
        return partial(compiled, makes_arrays=makes_arrays, twin=twin)
    if numba is None:
        return twin or _needing_numba(function)
    return _keep(numba.njit(**OPTIONS, _nrt=makes_arrays)(function))


def compiled_inside(function: Callable[..., Any]) -> Any:
    """The same for what other kernels call, and makes no arrays: for them, nothing is compiled that Python calls it by.

    That is a tenth of the time to compile. If Python calls it too, another one is compiled for Python.
    """
    if numba is None:
        return _needing_numba(function)
    for_kernels = _keep(numba.njit(**OPTIONS, _nrt=False, no_cpython_wrapper=True)(function))
    if for_kernels is function:  # with NUMBA_DISABLE_JIT=1
        return function
    for_python = FunctionType(function.__code__, function.__globals__, function.__name__)
    update_wrapper(for_python, function)
    for_python.__qualname__ += "_for_python"  # its name in numba's cache
    return _keep(_kernel_class()(for_kernels, for_python))


def _keep(kernel: Any) -> Any:
    """The same with a cache, if there is a folder for it."""
    with suppress(RuntimeError, AttributeError):  # with NUMBA_DISABLE_JIT=1 it is the function itself
        kernel.enable_caching()
        kernel._cache = ForgivingCache(kernel._cache)
    return kernel


@cache
def _kernel_class() -> Any:
    from numba.core import registry, types

    class Kernel(registry.CPUDispatcher):
        """What Python calls; to kernels it is another one."""

        def __init__(self, for_kernels: Any, for_python: Any) -> None:
            super().__init__(for_python, targetoptions={**OPTIONS, "nopython": True, "_nrt": False})
            self._for_kernels = for_kernels

        @property
        def _numba_type_(self) -> Any:
            return types.Dispatcher(self._for_kernels)

    return Kernel


def _needing_numba(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def refuse(*_: Any) -> Any:
        raise ImportError(
            "training and frontier() need numba, which cannot be imported: pip install numba. Loading, predicting, "
            "explaining, auditing and reporting work without"
        )

    return refuse
