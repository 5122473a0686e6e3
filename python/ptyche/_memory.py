"""Arrays for the program: files that lie in memory alone and have no name (memfd), so that the system
frees them with the last process that holds them, however that ends."""
from __future__ import annotations

import fcntl
import os
import re
import struct
import weakref
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from . import errors

CHUNK = 64 << 20
CPU = 1  # DLPack's number
ALIGNMENT = 64  # of arrays in an archive, so that they can be used where they lie
# Nobody can change or cut what lies in memory any more: a child need not copy it.
SEALS = fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


def without_paths(message: str) -> str:
    """A message of the program that speaks of arrays, not of the files that they lie in."""
    return re.sub(r"/proc/self/fd/\d+", "the given array", message)


def is_array(value: Any) -> bool:
    return any(hasattr(value, name) for name in ("__array__", "__dlpack__")) or (
        isinstance(value, (list, tuple)))


def without_mask(value: Any, role: str, fill: Any) -> Any:
    """A masked array (numpy.ma) as a plain one with `fill` where it is masked; anything else as it is."""
    masked: Any = np.ma
    if not masked.isMaskedArray(value):
        return value
    if fill is None and masked.is_masked(value):
        raise errors.InvalidInput(
            f"{role}: expected an array without masked values, found {masked.count_masked(value)} "
            f"(numpy.ma); .filled(0) sets them to 0")
    if not masked.is_masked(value):
        return masked.getdata(value)
    # A type that has the fill value, and holds counts as they are.
    fits = np.result_type(value.dtype, np.float32) if isinstance(fill, float) else value.dtype
    return value.astype(fits).filled(fill)


def as_numpy(value: Any, role: str = "array") -> npt.NDArray[Any]:
    """Without a copy where it lies in the CPU's memory: NumPy, PyTorch, JAX, CuPy, ... Masked values
    (numpy.ma) are refused: whoever can use a mask takes it off before."""
    if isinstance(value, np.ndarray):
        plain: npt.NDArray[Any] = without_mask(value, role, None)
        return plain
    if hasattr(value, "detach"):  # torch: one that wants a gradient is not given out
        value = value.detach()
    if hasattr(value, "__dlpack_device__"):
        if int(value.__dlpack_device__()[0]) == CPU:
            try:
                return np.asarray(np.from_dlpack(value))
            except (BufferError, RuntimeError, TypeError):
                return np.asarray(value)
        value = value.get() if hasattr(value, "get") else value.cpu() if hasattr(value, "cpu") else value
    return np.asarray(value)


def _pieces(array: npt.NDArray[Any]) -> Iterator[memoryview]:
    """The bytes in C order, copied in small pieces at most."""
    if array.ndim == 0 or array.nbytes <= CHUNK:
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        return
    step = max(1, CHUNK * len(array) // array.nbytes)
    for first in range(0, len(array), step):
        yield np.ascontiguousarray(array[first:first + step]).reshape(-1).view(np.uint8).data


def _write_npy(to: IO[bytes], array: npt.NDArray[Any]) -> None:
    if array.dtype.hasobject:
        raise TypeError(f"expected an array of numbers, found one of {array.dtype}")
    npy: Any = np.lib.format
    # As it will be written, whatever its order in memory.
    npy.write_array_header_1_0(to, {"descr": npy.dtype_to_descr(array.dtype), "fortran_order": False,
                                    "shape": array.shape})
    for piece in _pieces(array):
        to.write(piece)


def _member(name: str, at: int) -> zipfile.ZipInfo:
    """One whose bytes begin at a multiple of ALIGNMENT when its header is written at `at`."""
    member = zipfile.ZipInfo(name)
    begin = at + 30 + len(name) + 20 + 4  # the header, the long sizes that zipfile adds, a field's head
    padding = -begin % ALIGNMENT
    member.extra = struct.pack("<HH", 0xD935, padding) + bytes(padding)
    return member


class MemoryFile:
    """Open for as long as the object lives; a child that is given the descriptor opens `path`."""

    def __init__(self, name: str = "ptyche") -> None:
        self.descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self.path = f"/proc/self/fd/{self.descriptor}"
        self._closing = weakref.finalize(self, os.close, self.descriptor)

    def nbytes(self) -> int:
        return os.fstat(self.descriptor).st_size

    def _sealed(self) -> MemoryFile:
        fcntl.fcntl(self.descriptor, *SEALS)
        return self

    def _stream(self) -> IO[bytes]:
        return os.fdopen(os.dup(self.descriptor), "wb", buffering=0)

    @classmethod
    def of_array(cls, value: Any) -> MemoryFile:
        """A .npy file."""
        file = cls()
        with file._stream() as stream:
            _write_npy(stream, as_numpy(value))
        return file._sealed()

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Any]) -> MemoryFile:
        """An .npz file, not packed: each array is copied once, into the file."""
        file = cls()
        with file._stream() as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name, value in arrays.items():
                with archive.open(_member(f"{name}.npy", stream.tell()), "w", force_zip64=True) as member:
                    _write_npy(member, as_numpy(value))
        return file._sealed()
