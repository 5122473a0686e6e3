#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets into tests/fuzz/corpus: small files of every kind that is
read, and the cases that were once faults.

  make_corpus.py [PTYCHE]
"""
import io
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import h5py
import numpy as np
import scipy.io

HERE = pathlib.Path(__file__).resolve().parent
PTYCHE = sys.argv[1] if len(sys.argv) > 1 else str(HERE.parent.parent / "build" / "release" / "ptyche")
SEAL = 95  # bytes that ptyche puts behind its files


def keep(target, name, content):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def npy(array, **how):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **how)
    return out.getvalue()


def npz(save=np.savez, **arrays):
    out = io.BytesIO()
    save(out, **arrays)
    return out.getvalue()


def arrays():
    keep("npy", "mask", npy(np.ones((4, 4), bool)))
    for kind in ("<u2", ">i4", "<f8", "<c8"):
        keep("npy", kind.strip("<>"), npy(np.arange(6).reshape(2, 3).astype(kind)))
    keep("npy", "fortran", npy(np.asfortranarray(np.ones((2, 3)))))
    keep("npy", "version2", npy(np.ones(3), version=(2, 0)))
    scan = dict(diffraction=np.random.default_rng(1).poisson(2.0, (9, 4, 4)).astype(np.uint16),
                xcoords=np.arange(9.0), ycoords=np.arange(9.0) % 3,
                probeGuess=np.ones((4, 4), complex))
    keep("npz", "scan", npz(**scan))
    keep("npz", "deflated", npz(np.savez_compressed, **scan, objectGuess=np.ones((8, 8), complex)))
    keep("npz", "empty_truth", npz(**scan, objectGuess=np.ones((3, 0), complex)))
    keep("npz", "two_scans", npz(**scan, scan_index=np.arange(9) // 5, mask=np.ones((4, 4), bool)))


def hdf5():
    with tempfile.TemporaryDirectory() as folder:
        scan, out = f"{folder}/scan.cxi", f"{folder}/out"
        subprocess.run([PTYCHE, "simulate", "-o", scan, "--N", "16", "--n-patterns", "9", "--step", "3",
                        "--probe-diameter", "8"], check=True, stdout=subprocess.DEVNULL)
        keep("scan", "cxi", pathlib.Path(scan).read_bytes()[:-SEAL])
        subprocess.run([PTYCHE, "solve", scan, "-o", out, "--solver", "ml:2", "--no-check",
                        "--no-verdict", "--hold-out", "0"], check=True, stdout=subprocess.DEVNULL)
        keep("product", "ours", pathlib.Path(f"{out}/reconstruction.h5").read_bytes()[:-SEAL])
        other = f"{folder}/other.h5"
        with h5py.File(other, "w", libver="latest") as file:
            file["object"] = np.ones((1, 8, 8), complex)
            file["probe"] = np.ones((1, 2, 4, 4), complex)
            for axis in "xy":
                file[f"probe_position_{axis}_m"] = np.arange(4.0)
                file["object"].attrs[f"center_{axis}_m"] = 0.0
            file["object"].attrs["pixel_width_m"] = file["object"].attrs["pixel_height_m"] = 1.0
            file.attrs["comments"] = "text of variable length"
            file.attrs["fixed"] = np.bytes_("fixed")
            file.create_dataset("packed", data=np.arange(64.0), chunks=(16,), compression="gzip",
                                shuffle=True, fletcher32=True)
            file["link"] = h5py.SoftLink("/object")
        keep("product", "other", pathlib.Path(other).read_bytes())


def texts():
    keep("json", "list", '{"heldout_indices": [1, 3, 5]}')
    keep("json", "deep", '{"heldout_indices": ' + "[" * 300)
    keep("toml", "plain", "epochs = 5\nseed = 9\nlearning-rate = 1e-5\ncentre = [31.5, 32]\n"
                          "device = 'cpu'\nflip-x = true\n")
    keep("toml", "deep", "a" + ".a" * 200 + " = [[[[[1]]]]]\n")
    keep("yaml", "plain", "model:\n  epochs: 5\n  centre: [31.5, 32]\n# remark\nseed: 9\nflip_x: true\n")
    keep("yaml", "aliases", "a: &a {epochs: 1}\nb: &b {c: *a, d: *a}\ne: [*b, *b]\n")
    keep("options", "words", "scan.npz\0-o\0out\0--epochs\0" + "5\0--centre=1,2\0--flip-x\0--device\0cpu")
    for target in ("model", "checkpoint", "training", "scan_parts", "npz_parts"):
        for number in range(6):
            keep(target, str(number), bytes(range(number * 40, number * 40 + 24)))


def recipes():
    for path in sorted((HERE.parent.parent / "ptyche" / "io" / "recipes").glob("*.toml")):
        keep("recipe", path.stem, path.read_text())
    keep("recipe", "cxi", '[scan]\npatterns = "entry_1/data_1/data"\naxes = "nrc"\n'
                          'x = { name = "entry_1/data_1/translation", item = 0, unit = "um" }\n'
                          'y = { name = "entry_1/data_1/translation", item = 1, factor = 2.5 }\n'
                          'orientation = 3\nprobe = "entry_1/instrument_1/source_1/illumination"\n')
    keep("recipe", "table", '[scan]\npatterns = { name = "1", file = "{dir}/{stem:a:b}*{ext}" }\n')
    keep("recipe", "deep", "[scan]\npatterns = " + "[" * 300)
    keep("recipe", "dotted", "a" + ".a" * 300 + " = 1\n")
    keep("recipe", "whole_number", "[scan]\npatterns = 'x'\norientation = nan\nmask_good = 1e300\n")


def tiff(pages, dtype, rows=4, cols=5):
    """A TIFF file of one strip a page, as detectors write it."""
    form = {"u": 1, "i": 2, "f": 3}[np.dtype(dtype).kind]
    out = struct.pack("<2sHI", b"II", 42, 0)
    places = [4]
    for page in range(pages):
        data = (np.arange(rows * cols) + page).astype(dtype).tobytes()
        strip = len(out)
        out += data
        tags = [(256, 4, cols), (257, 4, rows), (258, 3, 8 * np.dtype(dtype).itemsize), (259, 3, 1),
                (262, 3, 1), (273, 4, strip), (277, 3, 1), (278, 4, rows), (279, 4, len(data)),
                (339, 3, form)]
        here = len(out)
        out = out[:places[-1]] + struct.pack("<I", here) + out[places[-1] + 4:]
        out += struct.pack("<H", len(tags))
        for tag, kind, value in tags:
            out += struct.pack("<HHII", tag, kind, 1, value)
        places.append(len(out))
        out += struct.pack("<I", 0)
    return out


def detectors():
    for kind in ("u1", "u2", "u4", "i2", "f4", "f8"):
        keep("arrays", f"tiff_{kind}", tiff(2, f"<{kind}"))
    for bits, kind in (("U08", ">u1"), ("U16", ">u2"), ("U32", ">u4")):
        header = f"MQ1,000001,00384,01,0004,0003,{bits},   1x1,01,".ljust(384).encode()
        keep("arrays", f"mib_{bits}", (header + np.arange(12).astype(kind).tobytes()) * 2)
    keep("arrays", "empad.xml", '<root><raw_file filename="ptyche_fuzz.raw"/><scan mode="acquire">'
                                "<scan_resolution_x>2</scan_resolution_x>"
                                "<scan_resolution_y>3</scan_resolution_y></scan></root>")
    keep("arrays", "long_tag.xml", '<raw_file filename="' + "a" * 3000)
    keep("arrays", "columns", "# x, y\n1.5, 2\n-3e-6, nan\n")
    keep("arrays", "blanks", "1 2\n3 4\n")
    for packed in (False, True):
        out = io.BytesIO()
        scipy.io.savemat(out, {"dp": np.arange(24.0).reshape(2, 3, 4), "n": np.uint16([[1, 2]]),
                               "z": np.array([[1 + 2j]]), "p": {"lambda": 1e-10, "name": "text"},
                               "c": np.array([[1, "a"]], object)}, do_compression=packed)
        keep("matlab", "packed" if packed else "plain", out.getvalue())


def pictures():
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    for name, bits, colour, width in (("grey", 8, 0, 4), ("grey16", 16, 0, 8), ("rgb", 8, 2, 12),
                                      ("alpha", 8, 6, 16), ("bits", 1, 0, 1)):
        rows = b"".join(b"\0" + bytes(range(width)) for _ in range(3))
        keep("image", name, b"\x89PNG\r\n\x1a\n" +
             chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 3, bits, colour, 0, 0, 0)) +
             chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    keep("image", "npy", npy(np.ones((4, 4))))


arrays()
hdf5()
texts()
recipes()
detectors()
pictures()
