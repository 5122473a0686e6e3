"""What goes into the program and what comes out of it: scans, images, models, findings."""
from __future__ import annotations

import base64
import csv
import html
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _show, errors
from ._folder import Folder
from ._memory import MemoryFile, as_numpy, without_mask
from ._program import Words, command, has_option, keyword_of, program

USED, HELD_OUT = 0, 1  # frame_use


class Scan:
    """Patterns and their positions: a file (`ptyche.read`), or arrays, which are copied once, into memory
    that the program reads as a file.

    counts            (n, N, N): photon counts, or amplitudes with domain="amplitude"; of a masked array
                      (numpy.ma) pixels that are masked in all patterns are not counted, others are
                      taken for missing in their pattern, and masked positions for not known
    positions         (n, 2): row and column of the object pixel under the probe's centre
    positions_m       (n, 2) in metres instead; needs energy_eV, distance_m and detector_pixel_m
    probe             (N, N) or (modes, N, N), complex; without it one is found
    mask              (N, N), true = counted; of whole numbers the light tells whether 0 counts
    truth             (rows, cols), complex: for scores alone
    energy_eV ...     of rare light with the unit, which says that it is meant: "1.96eV"
    options           what `info` takes to read a scan (crop=64, orientation=1, ...): for every use
    """

    def __init__(self, counts: Any, positions: Any = None, *, positions_m: Any = None,
                 probe: Any = None, mask: Any = None, truth: Any = None,
                 energy_eV: float | str | None = None, distance_m: float | str | None = None,
                 detector_pixel_m: float | str | None = None, **options: Any) -> None:
        lengths = {"energy": energy_eV, "distance": distance_m, "detector_pixel": detector_pixel_m}
        options |= {name: value for name, value in lengths.items() if value is not None}
        counts, mask = _masked_counts(counts, mask)
        patterns, points = as_numpy(counts), _positions(positions, positions_m)
        if patterns.ndim != 3 or len(patterns) != len(points):
            raise errors.InvalidInput(
                f"counts: expected (n, N, N) with n = {len(points)} as there are positions, found "
                f"{patterns.shape}")
        row, col = np.ascontiguousarray(points.T)
        arrays = {"diffraction": patterns, "ycoords": row, "xcoords": col}
        if mask is not None:
            arrays["mask"] = as_numpy(without_mask(mask, "mask", False))
        if truth is not None:
            arrays["objectGuess"] = as_numpy(truth, "truth")
        self._probe = None if probe is None else MemoryFile.of_array(
            as_numpy(probe, "probe").astype(np.complex64))
        self._in_metres = positions_m is not None
        if self._in_metres:
            options.setdefault("patterns", "diffraction")
            options.setdefault("positions", "xcoords,ycoords")
            if mask is not None:
                options.setdefault("mask", "mask")
        elif probe is not None:
            arrays["probeGuess"] = as_numpy(probe)
        self._begin(MemoryFile.of_arrays(arrays), options)
        self.shape: tuple[int, ...] | None = patterns.shape

    def _begin(self, source: MemoryFile | str, options: Mapping[str, Any]) -> None:
        of = command("info")
        for keyword in options:
            keyword_of(of, keyword)  # a TypeError now and not at the first use
        self._source, self.options = source, dict(options)
        self._folder: Folder | None = None

    @classmethod
    def _of_file(cls, path: str | os.PathLike[str], options: Mapping[str, Any],
                 folder: Folder | None = None) -> Scan:
        scan = cls.__new__(cls)
        scan._probe, scan._in_metres, scan.shape = None, False, None
        scan._begin(os.path.abspath(os.fspath(path)), options)
        scan._folder = folder
        return scan

    @property
    def path(self) -> str | None:
        """None for a scan of arrays."""
        return self._source if isinstance(self._source, str) else None

    @property
    def nbytes(self) -> int:
        """Memory that the arrays take; 0 for a file."""
        return 0 if isinstance(self._source, str) else self._source.nbytes()

    def _file_for(self, words: Words) -> str:
        """The path for a command line, to which the options go that say how the scan is read, unless
        the call gives them itself."""
        for keyword, value in self.options.items():
            if has_option(words.of, keyword) and keyword not in words.given:
                words.add(keyword, value)
        if self._in_metres and self._probe is not None and has_option(words.of, "probe") and (
                "probe" not in words.given):
            words.add("probe", words.keep_open(self._probe))
        if isinstance(self._source, str):
            return self._source
        return words.keep_open(self._source)

    def check(self, **options: Any) -> Check:
        """The doctor's findings: what is wrong with the scan, and what a solve would mend."""
        from ._verbs import run_check
        return run_check(self, options)

    def info(self, **options: Any) -> str:
        """What the program understands of it."""
        from ._verbs import info
        return str(info(self, **options))

    def __repr__(self) -> str:
        what = self.path or f"arrays {self.shape}"
        return f"<ptyche.Scan {what}{_listed(self.options)}>"


def _masked_counts(counts: Any, mask: Any) -> tuple[Any, Any]:
    """Counts and mask, with what numpy.ma masks in all patterns in the mask and NaN elsewhere."""
    masked: Any = np.ma
    if not masked.is_masked(counts):
        return counts, mask
    always = masked.getmaskarray(counts).all(axis=0)
    if mask is not None and np.shape(mask) == always.shape:
        always |= ~as_numpy(without_mask(mask, "mask", False)).astype(bool)
    elif mask is not None:
        return without_mask(counts, "counts", np.nan), mask
    hidden = masked.getmaskarray(counts) & ~always
    plain = masked.getdata(counts)
    if not hidden.any():
        return plain, ~always
    plain = plain.astype(np.result_type(plain.dtype, np.float32))
    plain[hidden] = np.nan
    return plain, ~always


def _positions(pixels: Any, metres: Any) -> npt.NDArray[np.float64]:
    if (pixels is None) == (metres is None):
        raise errors.InvalidInput("a scan of arrays: expected positions or positions_m, found "
                                  f"{'none' if pixels is None else 'both'}")
    points = np.asarray(as_numpy(without_mask(metres if pixels is None else pixels, "positions", np.nan)),
                        dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise errors.InvalidInput(f"positions: expected (n, 2), row and column, found {points.shape}")
    return points


def _listed(options: Mapping[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in options.items())


class _Files:
    """Something that lies in a folder, which it keeps."""

    def __init__(self, folder: Folder, main: str) -> None:
        self._folder, self._main = folder, main

    @property
    def folder(self) -> pathlib.Path:
        """With everything that the run has left; removed with the last object that shows it, unless
        output_dir has named it."""
        return self._folder.path

    @property
    def path(self) -> pathlib.Path:
        return self.folder / self._main

    def _file_for(self, words: Words) -> str:
        return str(self.path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copies the file, whole or not at all."""
        _copy_whole(self.path, pathlib.Path(path))

    def _json(self, name: str) -> dict[str, Any]:
        file = self.folder / name
        read: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}
        return read

    def _picture(self, name: str, width: str = "32%") -> str:
        file = self.folder / name
        if not file.is_file():
            return ""
        data = base64.b64encode(file.read_bytes()).decode()
        return f'<img alt="{html.escape(name)}" style="max-width: {width}" src="data:image/png;base64,{data}">'

    def __repr__(self) -> str:
        return f"<ptyche.{type(self).__name__} {self.path}>"


def _copy_whole(source: pathlib.Path, target: pathlib.Path) -> None:
    handle, beside = tempfile.mkstemp(dir=target.parent or ".", prefix=f".{target.name}.")
    os.close(handle)
    try:
        shutil.copyfile(source, beside)
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class Reconstruction(_Files):
    """An image. Arrays are read from files in `folder` when they are asked for, and may not be written
    to (copy() them). torch.from_dlpack and the like take copies of them."""

    def _array(self, name: str) -> npt.NDArray[Any]:
        file = self.folder / f"{name}.npy"
        if not file.is_file() and not (self.folder / "arrays.json").is_file():
            self._unpack()
        if not file.is_file():
            raise errors.Error(f"{self.path}: has no {name}")
        array: npt.NDArray[Any] = np.load(file, mmap_mode="r")
        return array

    def _unpack(self) -> None:
        done = subprocess.run([program(), "__arrays", str(self.path), str(self.folder)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise errors.InvalidInput(done.stderr.strip().removeprefix("ptyche: error: "))

    @property
    def object(self) -> npt.NDArray[np.complex64]:
        """(rows, cols), dimensionless; 1 where no pattern lights it."""
        return self._array("object")

    @property
    def probe(self) -> npt.NDArray[np.complex64]:
        """(modes, N, N), square root of photons."""
        return self._array("probe")

    @property
    def positions(self) -> npt.NDArray[np.float64]:
        """(n, 2): row and column of the pixel of `object` under the probe's centre (N/2, N/2), of all
        patterns in the scan's order."""
        return self._array("positions")

    @property
    def coverage(self) -> npt.NDArray[np.float32]:
        """(rows, cols): the light that each pixel got, over the most; 0 = unlit."""
        return self._array("coverage")

    @property
    def used(self) -> npt.NDArray[np.bool_]:
        """(n): which patterns the image was made from."""
        used: npt.NDArray[np.bool_] = self._array("frame_use") == USED
        return used

    @property
    def facts(self) -> dict[str, Any]:
        """Pixel, energy, distance, losses, version, remarks of the run."""
        if not (self.folder / "arrays.json").is_file():
            self._unpack()
        return self._json("arrays.json")

    @property
    def remarks(self) -> list[dict[str, str]]:
        """What was corrected, warned of and decided on the way: `kind` (correction, warning, note),
        `text`, and, where there is one, `cause`; of a correction `before` and `after`."""
        return list(self.facts["remarks"])

    @property
    def corrections(self) -> list[dict[str, str]]:
        """The corrections among `remarks`; empty where the scan was taken as it is."""
        return [each for each in self.remarks if each["kind"] == "correction"]

    @property
    def loss(self) -> npt.NDArray[np.float64]:
        """Mean loss of each pass, per photon."""
        return np.array([np.nan if each is None else each for each in self.facts["loss"]])

    @property
    def pixel_m(self) -> float | None:
        """None where the scan does not say."""
        pixel = float(self.facts["pixel_m"])
        return pixel if pixel > 0 else None

    @property
    def scores(self) -> dict[str, Any]:
        """scores.json of the run (docs/report.md); empty where it was not scored."""
        return self._json("scores.json")

    @property
    def verdict(self) -> str | None:
        """good, doubtful or failed; None where it was not judged."""
        word = self.scores.get("verdict")
        return str(word) if word is not None else None

    def to(self, layout: str, path: str | os.PathLike[str]) -> None:
        """In another program's layout: ptychodus, PyNX, ptyr, NPY, or images (also: tiff, png), a folder
        of TIFF and PNG; of these one alone where the path says which: phase.tif, 0042_amplitude.png."""
        from ._verbs import export
        known = {"tiff": "images", "tif": "images", "png": "images", "npy": "NPY"}
        layout, target = known.get(layout.lower(), layout), pathlib.Path(path)
        if layout != "images" or target.suffix.lower() not in (".tif", ".tiff", ".png"):
            export(self, target, as_=layout)
            return
        which = [name for name in ("phase", "amplitude") if name in target.stem.lower()]
        if len(which) != 1:
            raise errors.InvalidInput(f"{target}: expected 'phase' or 'amplitude' in the picture's name, or a "
                                      "folder for both")
        ending = ".png" if target.suffix.lower() == ".png" else ".tif"
        with tempfile.TemporaryDirectory(prefix="ptyche-") as folder:
            export(self, folder, as_=layout)
            _copy_whole(pathlib.Path(folder, which[0] + ending), target)

    def plot(self) -> Any:
        """Phase, amplitude and probe as a Matplotlib figure."""
        return _show.image_figure(self)

    def _repr_html_(self) -> str:
        pictures = "".join(self._picture(f"{name}.png") for name in ("phase", "amplitude", "probe"))
        return f'<div>{pictures}{_show.table(self.scores)}{_show.corrections(self.corrections)}</div>'


class Model(_Files):
    """A trained network (model.ptyche)."""

    @property
    def history(self) -> list[dict[str, float]]:
        """One row an epoch, as in history.csv."""
        file = self.folder / "history.csv"
        if not file.is_file():
            return []
        with file.open(newline="") as lines:
            return [{name: float(value) for name, value in row.items() if value}
                    for row in csv.DictReader(lines)]

    def infer(self, scan: Any, **options: Any) -> Reconstruction:
        """The image of a scan, one forward pass a pattern; options as of `ptyche.infer`."""
        from ._verbs import infer
        image: Reconstruction = infer(scan, model=self, **options)
        return image


class Comparison(_Files):
    """How far one image is from another (compare.json)."""

    @property
    def scores(self) -> dict[str, Any]:
        return {name: value for name, value in self._json(self._main).items()
                if isinstance(value, (int, float, str)) or value is None}

    @property
    def rings(self) -> dict[str, npt.NDArray[np.float64]]:
        """The Fourier ring correlation: cycles_per_px, correlation, half_bit, one_bit."""
        curve = self._json(self._main)["fourier_ring_correlation"]
        return {name: np.array(values, dtype=np.float64) for name, values in curve.items()}

    def plot(self) -> Any:
        """The ring correlation as a Matplotlib figure."""
        return _show.rings_figure(self.rings)

    def _repr_html_(self) -> str:
        names = ("phase_difference.png", "amplitude_difference.png", "frc.png")
        return f'<div>{"".join(map(self._picture, names))}{_show.table(self.scores)}</div>'


class Check(_Files):
    """What the doctor finds (checks.json)."""

    def __init__(self, folder: Folder, main: str, text: str, fit: bool) -> None:
        super().__init__(folder, main)
        self.text, self.fit = text, fit  # fit: whether a solver would be given the scan

    @property
    def findings(self) -> dict[str, Any]:
        return self._json(self._main)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<div>{self._picture('checks.png', '100%')}<pre>{html.escape(self.text)}</pre></div>"


class Output:
    """What a verb printed, and where its files are."""

    def __init__(self, text: str, folder: Folder | None) -> None:
        self.text, self._folder = text, folder

    @property
    def folder(self) -> pathlib.Path | None:
        return self._folder.path if self._folder else None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<ptyche.Output {self.folder or ''}>\n{self.text}"


def several(folder: Folder) -> list[Reconstruction]:
    """The images of a run of several scans, in its order; a scan without an image is left out."""
    with (folder.path / "scans.csv").open(newline="") as lines:
        names = [row["scan"] for row in csv.DictReader(lines)]
    images = []
    for name in names:
        if (folder.path / name / "reconstruction.h5").is_file():
            inner = Folder(folder.path / name)
            inner.keeps = folder
            images.append(Reconstruction(inner, "reconstruction.h5"))
    return images


