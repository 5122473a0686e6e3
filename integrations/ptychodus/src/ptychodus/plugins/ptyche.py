"""Ptyche in ptychodus' registry: results and scans of other programs, and a workflow.

ptychodus finds this module because it lies in its folder of plug-ins; it is installed there by
pip (integrations/ptychodus of Ptyche).
"""
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np

import ptyche
import ptyche_ptychodus
from ptychodus.api.diffraction import (
    DiffractionDataset, DiffractionDatasetLayoutNode, DiffractionFileReader, DiffractionMetadata,
    SimpleDiffractionArray, SimpleDiffractionDataset)
from ptychodus.api.geometry import ImageExtent, PixelGeometry
from ptychodus.api.io import load_product
from ptychodus.api.plugins import PluginRegistry
from ptychodus.api.probe_positions import (
    ProbePosition, ProbePositionFileReader, ProbePositionSequence)
from ptychodus.api.product import Product, ProductFileReader
from ptychodus.api.workflow import FileBasedWorkflow, WorkflowAPI


class ResultReader(ProductFileReader):
    """A result of any program that Ptyche reads; of its own with the scores in the comments."""

    def read(self, file_path: Path) -> Product:
        with TemporaryDirectory(prefix="ptyche-") as folder:
            path = Path(folder, ptyche_ptychodus.PRODUCT)
            ptyche.export(file_path, path, as_="ptychodus")
            _require_lengths(path, file_path)
            with h5py.File(path, "r+") as product:
                product.attrs["name"] = _name_of(file_path)
                product.attrs["comments"] = _told_of(file_path)
            return load_product(path)


def _name_of(result: Path) -> str:
    """Ptyche's files all have one name; their folder tells them apart."""
    return result.absolute().parent.name if result.stem == "reconstruction" else result.stem


def _told_of(result: Path) -> str:
    came_from = f"from {result}"
    if not h5py.is_hdf5(result):
        return came_from
    with h5py.File(result) as file:
        return ptyche_ptychodus.commented(file, came_from)


def _require_lengths(product: Path, source: Path) -> None:
    """ptychodus has no word for an image whose pixel is not known: it would show one of a metre."""
    with h5py.File(product) as file:
        unit = file["ptyche"].attrs["length_unit"]
    if unit != "m":
        raise ValueError(f"{source}: expected lengths in metres, found '{unit}'; reconstruct the scan with "
                         "--energy, --distance and --detector-pixel")


class ScanReader(DiffractionFileReader):
    """The patterns of a scan of any format that Ptyche reads, as counts and in ptychodus' orientation."""

    def read(self, file_path: Path) -> DiffractionDataset:
        with TemporaryDirectory(prefix="ptyche-") as folder:
            _convert(file_path, folder)
            with h5py.File(Path(folder, ptyche_ptychodus.DIFFRACTION)) as file, (
                    h5py.File(Path(folder, ptyche_ptychodus.PRODUCT))) as product:
                return _dataset(file_path, file, product)


def _convert(scan: Path, folder: str) -> None:
    try:
        ptyche.convert(scan, folder, as_="ptychodus")
    except ptyche.InvalidInput as error:
        raise ValueError(f"{scan}: {error}") from None


def _dataset(path: Path, file: h5py.File, product: h5py.File) -> DiffractionDataset:
    patterns, indexes = file["patterns"][()], file["indexes"][()]
    layout = DiffractionDatasetLayoutNode.create_root()
    layout.add_child(path.stem, "patterns", f"{patterns.dtype}{patterns.shape}")
    return SimpleDiffractionDataset(
        _metadata(path, patterns, file.attrs, product.attrs), layout,
        [SimpleDiffractionArray(path.stem, indexes, patterns)], bad_pixels=file["bad_pixels"][()])


def _metadata(path: Path, patterns: np.ndarray, detector: h5py.AttributeManager,
              product: h5py.AttributeManager) -> DiffractionMetadata:
    count, rows, cols = patterns.shape
    return DiffractionMetadata(
        num_patterns_per_array=[count], pattern_dtype=patterns.dtype,
        detector_extent=ImageExtent(width_px=cols, height_px=rows),
        detector_distance_m=float(product["detector_object_distance_m"]),
        detector_pixel_geometry=PixelGeometry(width_m=float(detector["detector_pixel_width_m"]),
                                              height_m=float(detector["detector_pixel_height_m"])),
        photon_energy_eV=float(product["photon_energy_eV"]), file_path=path)


class PositionReader(ProbePositionFileReader):
    """The positions of such a scan, in metres."""

    def read(self, file_path: Path) -> ProbePositionSequence:
        with TemporaryDirectory(prefix="ptyche-") as folder:
            _convert(file_path, folder)
            with h5py.File(Path(folder, ptyche_ptychodus.PRODUCT)) as product:
                rows = zip(*(product[f"probe_position_{name}"][()] for name in ("indexes", "x_m", "y_m")))
                return ProbePositionSequence([ProbePosition(int(index), float(x), float(y))
                                              for index, x, y in rows])


class Workflow(FileBasedWorkflow):
    """Reconstructs each folder `input` of ptychodus (what it writes for a remote run) beside itself, into
    `output`, and loads the product. input/ptyche.toml may hold options of `ptyche reconstruct`."""

    @property
    def is_watch_recursive(self) -> bool:
        return True

    def get_watch_file_pattern(self) -> str:
        return f"input/{ptyche_ptychodus.PRODUCT}"  # ptychodus writes it after the patterns

    def execute(self, api: WorkflowAPI, file_path: Path) -> None:
        source, target = file_path.parent, file_path.parents[1] / "output"
        options = source / "ptyche.toml"
        words = ["--overwrite", *(["--config", str(options)] if options.is_file() else [])]
        code = ptyche_ptychodus.reconstruct(source, target, words=words)
        if code not in ptyche_ptychodus.WRITTEN:
            raise RuntimeError(f"{source}: ptyche reconstruct ended with exit code {code}; its message "
                               "is on stderr")
        # Without its patterns ptychodus shows nothing of a product.
        patterns = api.load_assembled_diffraction_data(source / ptyche_ptychodus.DIFFRACTION)
        api.load_product(target / ptyche_ptychodus.PRODUCT, file_type="HDF5", diffraction=patterns)


def register_plugins(registry: PluginRegistry) -> None:
    registry.register_product_file_reader_with_adapters(
        ResultReader(), simple_name="Ptyche_Result",
        display_name="Ptyche: Results of Any Program (*.h5 *.cxi *.ptyr *.mat *.npy *.npz)")
    scans = "Ptyche: Scans of Any Program (*.h5 *.cxi *.nxs *.ptyd *.npz *.mat *.hdf5)"
    registry.diffraction_file_readers.register_plugin(ScanReader(), simple_name="Ptyche_Scan",
                                                      display_name=scans)
    registry.probe_position_file_readers.register_plugin(PositionReader(), simple_name="Ptyche_Scan",
                                                         display_name=scans)
    registry.file_based_workflows.register_plugin(Workflow(), simple_name="Ptyche", display_name="Ptyche")
