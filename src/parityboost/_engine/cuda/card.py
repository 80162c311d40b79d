"""The graphics card: its memory, and what to say where there is none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

INSTALL = 'pip install "parityboost[cuda12]", or "parityboost[cuda13]" where the driver has CUDA 13'
GIGABYTE = 1e9
# Copies of more bytes are shared by so many threads.
LARGE, COPYING_THREADS = 1 << 26, 8
_pools: dict[int, Any] = {}  # per device


class Card:
    """The current CUDA device, with a pool of memory for us alone, which is emptied when the card is given back.

    All cards of a device share the pool. The arrays of a fit that was interrupted live as long as the error does, and
    CuPy does not give memory back to the driver that comes back to a pool which is gone by then.

    Raises
    ------
    ImportError
        If CuPy is not installed.
    OSError
        If CuPy finds no card that it can use.
    """

    def __init__(self) -> None:
        self.cupy: Any = load_cupy()
        device = self.cupy.cuda.Device()
        self.device = int(device.id)
        attributes = device.attributes
        self.n_multiprocessors: int = attributes["MultiProcessorCount"]
        self.shared_memory: int = attributes["MaxSharedMemoryPerMultiprocessor"]
        self.shared_memory_of_block: int = attributes["MaxSharedMemoryPerBlockOptin"]
        self._pool = _pools.get(self.device) or _pools.setdefault(self.device, self.cupy.cuda.MemoryPool())

    def close(self) -> None:
        """Give back all memory that nobody uses any more."""
        self._pool.free_all_blocks()
        self.cupy.get_default_memory_pool().free_all_blocks()

    def __enter__(self) -> Card:
        self._allocator = self.cupy.cuda.using_allocator(self._pool.malloc)
        self._allocator.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._allocator.__exit__(*error)

    def require(self, n_bytes: int) -> None:
        """Refuse what is larger than the memory that is free."""
        free, total = self.cupy.cuda.runtime.memGetInfo()
        if n_bytes > free:
            raise MemoryError(
                f'device="cuda" needs about {n_bytes / GIGABYTE:.1f} GB of memory on the graphics card for this table, '
                f'of its {total / GIGABYTE:.1f} GB {free / GIGABYTE:.1f} GB are free: use fewer rows, or device="cpu"'
            )

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        try:
            memory = self._pool.malloc(n_bytes)
        except self.cupy.cuda.memory.OutOfMemoryError:
            self.require(n_bytes)
            raise MemoryError(
                f'device="cuda" found no {n_bytes / GIGABYTE:.1f} GB in one piece on the graphics card: use fewer '
                'rows, or device="cpu"'
            ) from None
        return self.cupy.ndarray(shape, dtype, memory)

    def pinned(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Memory of the processor that the card reads and writes at full speed."""
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = self.cupy.cuda.alloc_pinned_memory(n_bytes)
        return np.frombuffer(memory, dtype, int(np.prod(shape))).reshape(shape)

    def zeros(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        array = self.empty(shape, dtype)
        array.data.memset_async(0, array.nbytes)
        return array

    def place(self, array: Any) -> Any:
        """A copy on the card; what is there already stays where it is."""
        if isinstance(array, self.cupy.ndarray):
            return array
        array = np.ascontiguousarray(array)
        copy = self.empty(array.shape, array.dtype)
        if array.nbytes:  # whatever the array is freed for: the driver has read it when this returns
            copy.data.copy_from_host_async(array.ctypes.data, array.nbytes)
        return copy

    def to_host(self, array: Any) -> Array:
        """A copy for the processor. Most of the time that a large one takes is to find room: threads share that."""
        if not isinstance(array, self.cupy.ndarray):
            return array  # type: ignore[no-any-return]
        if array.ndim < 2 or array.nbytes < LARGE:
            return array.get()  # type: ignore[no-any-return]
        self.cupy.cuda.Device(self.device).synchronize()
        host = np.empty(array.shape, array.dtype)

        def copy(k: int) -> None:
            with self.cupy.cuda.Device(self.device), self.cupy.cuda.Stream(non_blocking=True):
                array[k].get(out=host[k])

        with ThreadPoolExecutor(COPYING_THREADS) as pool:
            list(pool.map(copy, range(len(array))))
        return host


def load_cupy() -> Any:
    """CuPy, if it is installed and finds a card; else an error that says which of the two is missing."""
    try:
        import cupy
    except ImportError as error:
        raise ImportError(f'device="cuda" needs CuPy ({error}): {INSTALL}; or use device="cpu"') from None
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy's own class of errors is not there if its libraries cannot be loaded
        raise OSError(
            f'device="cuda" needs an NVIDIA graphics card and its driver, and CuPy found none ({_first_line(error)}): '
            'use device="cpu"'
        ) from None
    if n_devices == 0:
        raise OSError('device="cuda" needs an NVIDIA graphics card, and CuPy found none: use device="cpu"')
    return cupy


@cache
def compile_module(name: str, device: int) -> Any:
    """The kernels of a file beside this one, compiled for a device; CuPy keeps them on disk as well."""
    cupy = load_cupy()
    source = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    module = cupy.RawModule(code=source, options=("--fmad=false",))
    try:
        module.compile()
    except Exception as error:
        raise OSError(
            f'device="cuda" could not compile its kernels ({_first_line(error)}): {INSTALL}; or use device="cpu"'
        ) from None
    return module


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
