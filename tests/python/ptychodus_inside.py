"""What test_ptychodus.py lets the Python of ptychodus do: ptychodus_inside.py WHAT ARGUMENTS...

Prints one JSON object as its last line.
"""
import json
import logging
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
from ptychodus.api.assemble import AssembledDiffractionData
from ptychodus.api.geometry import PixelGeometry
from ptychodus.api.io import (load_diffraction_data, load_product, save_diffraction_data,
                              save_product)
from ptychodus.api.object import Object, ObjectCenter
from ptychodus.api.plugins import PluginRegistry
from ptychodus.api.probe import ProbeSequence
from ptychodus.api.probe_positions import ProbePosition, ProbePositionSequence
from ptychodus.api.product import Product, ProductMetadata
from ptychodus.api.reconstruct import prepare_reconstruct_input
from ptychodus.api.simulate.diffraction import generate_diffraction_data

ENERGY_EV, DISTANCE_M, DETECTOR_PIXEL_M = 8800.0, 2.0, 75e-6  # of a scan that knows only pixels


def metadata(far_field=True):
    return ProductMetadata(name="star", comments="of ptychodus", detector_distance_m=DISTANCE_M,
                           photon_energy_eV=ENERGY_EV, probe_photon_count=0.0, exposure_time_s=0.5,
                           mass_attenuation_m2_per_kg=0.0, tomography_angle_deg=12.0, far_field=far_field)


def folder(scan, target):
    """An NPZ of PtychoPINN's keys as ptychodus' own two files. Its scan indexes start at 100."""
    target = pathlib.Path(target)
    target.mkdir(parents=True, exist_ok=True)
    with np.load(scan) as data:
        amplitudes, probe = data["diffraction"], data["probeGuess"]
        rows, cols = data["ycoords"], data["xcoords"]
    counts = np.round(amplitudes.astype(np.float64) ** 2).astype(np.uint32)
    count, size, _ = counts.shape
    pixel = metadata().photon_wavelength_m * DISTANCE_M / (size * DETECTOR_PIXEL_M)
    geometry, indexes = PixelGeometry(width_m=pixel, height_m=pixel), np.arange(100, 100 + count)
    extent = int(np.ptp(rows)) + size + 4, int(np.ptp(cols)) + size + 4
    center = ObjectCenter(x_m=(cols.min() + cols.max()) / 2 * pixel,
                          y_m=(rows.min() + rows.max()) / 2 * pixel)
    positions = ProbePositionSequence([ProbePosition(int(i), x * pixel, y * pixel)
                                       for i, x, y in zip(indexes, cols, rows)])
    save_diffraction_data(target / "diffraction.h5", AssembledDiffractionData(
        indexes, counts, PixelGeometry(width_m=DETECTOR_PIXEL_M, height_m=DETECTOR_PIXEL_M),
        np.zeros((size, size), dtype=bool)))
    save_product(target / "product.h5", Product(
        metadata(), positions, ProbeSequence(probe.astype(np.complex64), None, geometry),
        Object(np.ones(extent, dtype=np.complex64), geometry, center), []))
    return {"patterns": count}


def r_factor(measured, predicted):
    scale = np.sum(np.sqrt(measured * predicted)) / np.sum(predicted)
    return float(np.sum(np.abs(np.sqrt(measured) - scale * np.sqrt(predicted))) / np.sum(np.sqrt(measured)))


def foretell(product, diffraction):
    """How well ptychodus' own forward model of a product meets the patterns: as it is, and with what
    is wrong where a convention is misread."""
    measured = load_diffraction_data(pathlib.Path(diffraction)).get_patterns().astype(np.float64)
    predicted = generate_diffraction_data(load_product(pathlib.Path(product))).get_patterns()
    return {"as it is": r_factor(measured, predicted),
            "rows flipped": r_factor(measured, predicted[:, ::-1]),
            "columns flipped": r_factor(measured, predicted[:, :, ::-1]),
            "transposed": r_factor(measured, predicted.transpose(0, 2, 1)),
            "a row off": r_factor(measured, np.roll(predicted, 1, 1)),
            "a column off": r_factor(measured, np.roll(predicted, 1, 2))}


def listed():
    registry = PluginRegistry.load_plugins()
    return {name: [each.simple_name for each in getattr(registry, name)]
            for name in ("product_file_readers", "object_file_readers", "probe_file_readers",
                         "diffraction_file_readers", "probe_position_file_readers", "file_based_workflows")}


def read(result, scan, target):
    """By the plug-ins: a result, and a scan's patterns and positions; kept as ptychodus' own files."""
    registry, target = PluginRegistry.load_plugins(), pathlib.Path(target)
    product = registry.product_file_readers.get_strategy_by_name("Ptyche_Result").read(pathlib.Path(result))
    save_product(target, product)
    dataset = registry.diffraction_file_readers.get_strategy_by_name("Ptyche_Scan").read(pathlib.Path(scan))
    positions = registry.probe_position_file_readers.get_strategy_by_name("Ptyche_Scan").read(
        pathlib.Path(scan))
    known = dataset.get_metadata()
    return {"name": product.metadata.name, "comments": product.metadata.comments,
            "patterns": list(dataset[0].get_patterns().shape), "sum": int(dataset[0].get_patterns().sum()),
            "energy": known.photon_energy_eV, "distance": known.detector_distance_m,
            "pixel": known.detector_pixel_geometry.width_m, "bad": int(dataset.get_bad_pixels().sum()),
            "x": positions.get_coordinates_x_m().tolist(), "y": positions.get_coordinates_y_m().tolist()}


def refusal(result):
    reader = PluginRegistry.load_plugins().product_file_readers.get_strategy_by_name("Ptyche_Result")
    try:
        reader.read(pathlib.Path(result))
    except ValueError as error:
        return {"message": str(error)}
    return {}


def workflow(product):
    from ptychodus.model import ModelCore
    with ModelCore() as model:
        strategy = model.plugin_registry.file_based_workflows.get_strategy_by_name("Ptyche")
        strategy.execute(model.workflow_api, pathlib.Path(product))
        item = model.product_core.product_repository[0]
        return {"name": item.get_name(), "comments": item.get_product().metadata.comments,
                "object": list(item.get_product().object_.get_array().shape)}


def reconstructor(model, name, **settings):
    for parameter, value in settings.items():
        model.settings_registry[f"Ptyche{name}"].parameters()[parameter].set_value_from_string(value)
    return next(each for each in model.ptyche_reconstructor_library if each.name == name)


def scan_of(source, far_field=True):
    product = load_product(pathlib.Path(source, "product.h5"))
    product = Product(metadata(far_field), product.probe_positions, product.probes, product.object_, [])
    return prepare_reconstruct_input(load_diffraction_data(pathlib.Path(source, "diffraction.h5")), product)


def running():
    """Numbers of the processes whose program is Ptyche's."""
    found = []
    for each in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if b"--parent" in b" ".join(words) and os.environ["TMPDIR"].encode() in b" ".join(words):
            found.append(int(each.parent.name))
    return found


def cancel(source):
    """Stops a long run after its first image, as ptychodus does. What is left of it?"""
    from ptychodus.model import ModelCore
    with ModelCore() as model:
        run = reconstructor(model, "Solve", Solver="ml:100000").reconstruct(scan_of(source))
        first = next(run)
        during = running()
        run.close()
    end = time.monotonic() + 20
    while time.monotonic() < end and running():
        time.sleep(0.1)
    left = [each.name for each in pathlib.Path(tempfile.gettempdir()).glob("ptychodus-ptyche-*")]
    return {"progress": first.progress, "during": len(during), "after": len(running()), "left": left}


def refused(source):
    """What a user is told of a near field, an option that the program refuses, and no model."""
    from ptychodus.model import ModelCore
    messages = []
    with ModelCore() as model:
        for name, settings, far in (("Solve", {}, False), ("Solve", {"Solver": "wizard:3"}, True),
                                    ("Infer", {}, True)):
            try:
                list(reconstructor(model, name, **settings).reconstruct(scan_of(source, far)))
            except Exception as error:
                messages.append(str(error))
    return {"messages": messages}


def window(product, diffraction, picture):
    """ptychodus' window with the form of Ptyche's solvers and a product; saved as a picture."""
    from PyQt5.QtTest import QTest
    from PyQt5.QtWidgets import QApplication, QLabel
    application = QApplication(["ptychodus"])
    from ptychodus.controller import ControllerCore
    from ptychodus.model import ModelCore
    from ptychodus.view import ViewCore
    with ModelCore(log_level=logging.ERROR) as model:
        view = ViewCore(is_developer_mode_enabled=False)
        controller = ControllerCore(model, view)
        data = model.workflow_api.load_assembled_diffraction_data(pathlib.Path(diffraction))
        model.workflow_api.load_product(pathlib.Path(product), diffraction=data)
        model.processing_core.algorithm_parameter.set_value("Ptyche_Solve")
        next(each for each in view.navigation.action_group.actions() if each.text() == "Processing").trigger()
        controller.show_main_window("ptychodus")
        view.resize(1400, 1000)
        QTest.qWait(500)
        view.grab().save(picture)
        labels = [label.text() for label in view.processing_view.findChildren(QLabel) if label.isVisible()]
        workflows = list(model.automation_core.presenter.available_workflows())
        algorithms = list(model.processing_core.processing_api.available_reconstructors())
        view.close()
    application.quit()
    return {"algorithms": algorithms, "labels": labels, "workflows": workflows}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
