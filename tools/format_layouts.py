"""The layouts of the field: one simulated scan as their writers write it (bench_formats.py).

LAYOUTS has, by name, a function (folder, Data) that writes the scan and names the file to read, whether that has
the probe, the options that it takes to be read, and whether it is of the raster.
"""

import h5py
import numpy as np

ENERGY, DISTANCE, PIXEL, N, ROWS, COLS = 8800.0, 2.0, 75e-6, 64, 10, 10
HC, JOULES = 1.23984198433e-6, 1.602176634e-19
LAYOUTS = {}


class Data:
    """The scan: counts (n, N, N), x and y in metres, probe (modes, N, N)."""

    def __init__(self, cxi):
        with h5py.File(cxi) as f:
            self.counts = f["entry_1/data_1/data"][()].astype(np.uint16)
            self.x, self.y = f["entry_1/data_1/translation"][:, :2].T
            self.probe = f["entry_1/instrument_1/source_1/illumination"][()]
        self.n = len(self.x)
        self.pixel = HC / ENERGY * DISTANCE / (N * PIXEL)


def layout(name, probe=False, options="", raster=False):
    def add(function):
        LAYOUTS[name] = (function, probe, options, raster)
        return function
    return add


def units(dataset, unit):
    dataset.attrs["units"] = unit


def cxi(path, d, data=None, xyz=None, **more):
    """A CXI file of the CXIDB dialect; what is None is left out."""
    with h5py.File(path, "w") as f:
        f["cxi_version"] = 160
        entry = f.create_group("entry_1")
        detector = entry.create_group("instrument_1/detector_1")
        counts = d.counts if data is None else data
        detector.create_dataset("data", data=counts, chunks=(1,) + counts.shape[1:], **more)
        entry["data_1/data"] = h5py.SoftLink("/entry_1/instrument_1/detector_1/data")
        translation = np.stack([d.x, d.y, 0 * d.x], 1) if xyz is None else xyz
        entry["sample_1/geometry_1/translation"] = translation
        detector["translation"] = h5py.SoftLink("/entry_1/sample_1/geometry_1/translation")
        detector["distance"] = DISTANCE
        detector["x_pixel_size"] = detector["y_pixel_size"] = PIXEL
        entry["instrument_1/source_1/energy"] = ENERGY * JOULES
    return path


@layout("CXI")
def plain(folder, d):
    return cxi(folder / "scan.cxi", d)


@layout("CXI, probe", probe=True)
def with_probe(folder, d):
    path = cxi(folder / "scan.cxi", d)
    with h5py.File(path, "a") as f:
        f["entry_1/instrument_1/source_1/illumination"] = d.probe
    return path


@layout("CXI, gzip")
def zipped(folder, d):
    return cxi(folder / "scan.cxi", d, compression="gzip", shuffle=True)


@layout("CXI, LZF")
def lzf(folder, d):
    return cxi(folder / "scan.cxi", d, compression="lzf", shuffle=True)


@layout("CXI, bitshuffle and LZ4")
def bslz4(folder, d):
    import hdf5plugin
    return cxi(folder / "scan.cxi", d, **hdf5plugin.Bitshuffle())


@layout("CXI, other units")
def other_units(folder, d):
    path = cxi(folder / "scan.cxi", d, xyz=1e6 * np.stack([d.x, d.y, 0 * d.x], 1))
    with h5py.File(path, "a") as f:
        units(f["entry_1/sample_1/geometry_1/translation"], "um")
        detector = f["entry_1/instrument_1/detector_1"]
        detector["distance"][()] = DISTANCE * 1e3
        units(detector["distance"], "mm")
        for name in ("x_pixel_size", "y_pixel_size"):
            del detector[name]
            detector[name] = PIXEL * 1e6
            units(detector[name], "um")
        f["entry_1/instrument_1/source_1/energy"][()] = ENERGY / 1e3
        units(f["entry_1/instrument_1/source_1/energy"], "keV")
    return path


@layout("CXI, turned detector")
def turned(folder, d):
    """The detector's rows run along +x, its columns along -y."""
    turned_counts = np.roll(np.transpose(d.counts, (0, 2, 1))[:, ::-1], 1, 1)
    path = cxi(folder / "scan.cxi", d, data=turned_counts)
    with h5py.File(path, "a") as f:
        f["entry_1/instrument_1/detector_1/basis_vectors"] = np.array([[PIXEL, 0, 0], [0, -PIXEL, 0]])
    return path


@layout("CXI, wavelength (CDTools, ALS)")
def wavelength(folder, d):
    path = cxi(folder / "scan.cxi", d)
    with h5py.File(path, "a") as f:
        del f["entry_1/instrument_1/source_1/energy"]
        f["entry_1/instrument_1/source_1/wavelength"] = HC / ENERGY
        f["entry_1/instrument_1/detector_1/basis_vectors"] = np.array([[0, -PIXEL], [-PIXEL, 0], [0, 0]])
        f["entry_1/instrument_1/detector_1/mask"] = np.zeros((N, N), np.uint32) + 0x1000
    return path


@layout("CXI, dark and monitor")
def dark(folder, d):
    rng = np.random.default_rng(5)
    dark_level = rng.integers(0, 40, (N, N))
    monitor = 1 + 0.3 * np.sin(np.arange(d.n))
    path = cxi(folder / "scan.cxi", d, data=(d.counts * monitor[:, None, None] + dark_level).astype(np.float32))
    with h5py.File(path, "a") as f:
        f["entry_1/instrument_1/detector_1/data_dark"] = np.stack([dark_level] * 3).astype(np.float32)
        f["entry_1/data_1/monitor"] = monitor
    return path


@layout("PyNX CXI")
def pynx(folder, d):
    path = folder / "scan.cxi"
    with h5py.File(path, "w") as f:
        f.attrs["creator"] = "PyNX"
        f["cxi_version"] = 140
        detector = f.create_group("entry_1/instrument_1/detector_1")
        detector.create_dataset("data", data=d.counts, chunks=(1, N, N), shuffle=True, compression="gzip")
        f["entry_1/data_1/data"] = h5py.SoftLink("/entry_1/instrument_1/detector_1/data")
        f["entry_1/sample_1/geometry_1/translation"] = np.stack([d.x, d.y, 0 * d.x]).astype(np.float32)
        detector["distance"] = DISTANCE
        detector["x_pixel_size"] = detector["y_pixel_size"] = PIXEL
        detector["basis_vectors"] = np.array([[0, -PIXEL, 0], [-PIXEL, 0, 0]])
        detector["mask"] = np.zeros((N, N), np.uint8)
        f["entry_1/instrument_1/source_1/energy"] = 12384e-10 / (HC / ENERGY) * 1e-4 * 1e4 * JOULES * (HC / 12384e-10)
    return path


@layout("NXcxi_ptycho")
def nexus(folder, d):
    path = folder / "scan.nxs"
    with h5py.File(path, "w") as f:
        f["entry_1/definition"] = "NXcxi_ptycho"
        detector = f.create_group("entry_1/instrument_1/detector_1")
        detector["data"] = d.counts.reshape(ROWS, COLS, N, N)
        detector["translation"] = np.stack([d.x, d.y, 0 * d.x], 1) * 1e3
        units(detector["translation"], "mm")
        for name, value, unit in (("distance", DISTANCE * 1e3, "mm"), ("x_pixel_size", PIXEL * 1e6, "um"),
                                  ("y_pixel_size", PIXEL * 1e6, "um"), ("beam_center_x", N / 2, "pixels"),
                                  ("beam_center_y", N / 2, "pixels")):
            detector[name] = value
            units(detector[name], unit)
        f["entry_1/instrument_1/beam_1/energy"] = ENERGY
        units(f["entry_1/instrument_1/beam_1/energy"], "eV")
        f["entry_1/instrument_1/source_1/energy"] = 3.0
        units(f["entry_1/instrument_1/source_1/energy"], "GeV")
    return path


@layout("DiamondNexus")
def diamond(folder, d):
    path = folder / "scan.nxs"
    with h5py.File(path, "w") as f:
        f["entry_1/data/data"] = d.counts
        for name, values in (("x", d.x), ("y", d.y)):
            f["entry_1/data/" + name] = values * 1e3
            units(f["entry_1/data/" + name], "mm")
        f["entry_1/instrument_1/beam_1/energy"] = ENERGY / 1e3
        units(f["entry_1/instrument_1/beam_1/energy"], "keV")
        f["entry_1/instrument_1/detector_1/distance"] = DISTANCE
        f["entry_1/instrument_1/detector_1/x_pixel_size"] = PIXEL
        f["entry_1/instrument_1/detector_1/y_pixel_size"] = PIXEL
    return path


@layout("ptychodus folder", probe=True)
def ptychodus(folder, d):
    with h5py.File(folder / "diffraction.h5", "w") as f:
        f.create_dataset("patterns", data=d.counts, chunks=(1, N, N), compression="lzf")
        f["indexes"] = np.arange(d.n)
        f["bad_pixels"] = np.zeros((N, N), bool)
        f.attrs["detector_pixel_width_m"] = f.attrs["detector_pixel_height_m"] = PIXEL
    order = np.random.default_rng(2).permutation(d.n)
    with h5py.File(folder / "product.h5", "w") as f:
        f.attrs.update(name="scan", comments="", photon_energy_eV=ENERGY, detector_object_distance_m=DISTANCE,
                       focus_object_distance_m=0.0, far_field=True, exposure_time_s=0.1, probe_photon_count=0.0)
        f["probe_position_indexes"] = order
        f["probe_position_x_m"], f["probe_position_y_m"] = d.x[order], d.y[order]
        f["probe"] = d.probe[None]
        f["probe"].attrs["pixel_width_m"] = f["probe"].attrs["pixel_height_m"] = d.pixel
        f["object"] = np.ones((1, 300, 300), np.complex64)
        f["object"].attrs.update(center_x_m=0.0, center_y_m=0.0, pixel_width_m=d.pixel, pixel_height_m=d.pixel)
    return folder


@layout("EIGER master", options="--positions {folder}/positions.csv:x*1e-9,{folder}/positions.csv:y*1e-9")
def eiger(folder, d):
    import hdf5plugin
    for i, part in enumerate(np.array_split(d.counts, 3), 1):
        with h5py.File(folder / f"scan_data_{i:06d}.h5", "w") as f:
            f.create_dataset("entry/data/data", data=part.astype(np.uint32), chunks=(1, N, N), **hdf5plugin.Bitshuffle())
    with h5py.File(folder / "scan_master.h5", "w") as f:
        for i in range(1, 4):
            f[f"entry/data/data_{i:06d}"] = h5py.ExternalLink(f"scan_data_{i:06d}.h5", "/entry/data/data")
        detector = f.create_group("entry/instrument/detector")
        for name, value, unit in (("x_pixel_size", PIXEL, "m"), ("y_pixel_size", PIXEL, "m"),
                                  ("detector_distance", DISTANCE, "m"), ("beam_center_x", N / 2, "pixel"),
                                  ("beam_center_y", N / 2, "pixel")):
            detector[name] = value
            units(detector[name], unit)
        detector["detectorSpecific/photon_energy"] = ENERGY
        units(detector["detectorSpecific/photon_energy"], "eV")
        detector["detectorSpecific/pixel_mask"] = np.zeros((N, N), np.uint32)
    table = np.stack([d.x * 1e9, d.y * 1e9], 1)
    np.savetxt(folder / "positions.csv", table, delimiter=",", header="x,y", comments="", fmt="%.6f")
    return folder / "scan_master.h5"


@layout("fold_slice")
def fold_slice(folder, d):
    with h5py.File(folder / "data_roi0_dp.hdf5", "w") as f:
        f["dp"] = np.transpose(d.counts, (0, 2, 1)).astype(np.float32)
    with h5py.File(folder / "data_roi0_para.hdf5", "w") as f:
        f["ppX"], f["ppY"] = -d.x[None], -d.y[None]
        f["lambda"] = HC / ENERGY
        f["dx"] = d.pixel
    return folder / "data_roi0_dp.hdf5"


@layout("pty-chi", probe=True)
def pty_chi(folder, d):
    with h5py.File(folder / "ptychi_dp.hdf5", "w") as f:
        f["dp"] = d.counts.astype(np.float32)
    with h5py.File(folder / "ptychi_para.hdf5", "w") as f:
        f.attrs["photon_energy_eV"] = ENERGY
        f["object"] = np.ones((1, 300, 300), np.complex64)
        f["object"].attrs["pixel_height_m"] = d.pixel
        f["probe"] = d.probe[None]
        f["probe_position_x_m"], f["probe_position_y_m"] = d.x, d.y
    return folder / "ptychi_dp.hdf5"


@layout("ptyd")
def ptyd(folder, d):
    path = folder / "scan.ptyd"
    with h5py.File(path, "w") as f:
        for k, frames in enumerate(np.array_split(np.arange(d.n), 12)):
            f[f"chunks/{k}/data"] = d.counts[frames].astype(np.int32)
            f[f"chunks/{k}/indices"] = frames
            f[f"chunks/{k}/positions"] = np.stack([d.y, d.x], 1)[frames]
            f[f"chunks/{k}/weights"] = np.ones((len(frames), N, N), np.float32)
        f["meta/energy"], f["meta/distance"], f["meta/psize"] = ENERGY / 1e3, DISTANCE, np.array([PIXEL, PIXEL])
        f["meta/center"], f["meta/shape"] = np.array([N / 2, N / 2]), np.array([N, N])
        f["meta/propagation"], f["common/weight2d"] = "farfield", "None"
    return path


@layout("HXN")
def hxn(folder, d):
    path = folder / "scan_1.h5"
    with h5py.File(path, "w") as f:
        f["diffamp"] = np.fft.fftshift(np.sqrt(d.counts), axes=(1, 2)).astype(np.float32)
        f["points"] = np.stack([d.x, d.y]) * 1e6
        f["ccd_pixel_um"], f["lambda_nm"], f["z_m"], f["angle"] = PIXEL * 1e6, HC / ENERGY * 1e9, DISTANCE, 15.0
    return path


@layout("NanoMAX", options=f"--distance {DISTANCE} --detector-pixel {PIXEL}")
def nanomax(folder, d):
    path = folder / "000001.h5"
    with h5py.File(path, "w") as f:
        f["entry/measurement/eiger1m/frames"] = d.counts
        f["entry/measurement/pseudo/x"], f["entry/measurement/pseudo/y"] = -d.x * 1e6, -d.y * 1e6
        f["entry/snapshot/energy"] = np.array([ENERGY])
    return path


@layout("PtyPy tutorial")
def ptypy_tutorial(folder, d):
    path = folder / "lesson.h5"
    with h5py.File(path, "w") as f:
        f["data"], f["posx_mm"], f["posy_mm"] = d.counts, d.x * 1e3, d.y * 1e3
        f["det_distance_mm"], f["energy_ev"], f["det_pixelsize_um"] = DISTANCE * 1e3, ENERGY, PIXEL * 1e6
    return path


@layout("LYNX", options="--positions {folder}/pos.dat:1*-1e-6,{folder}/pos.dat:2*-1e-6")
def lynx(folder, d):
    path = folder / "scan_001.h5"
    with h5py.File(path, "w") as f:
        f["entry/data/eiger_4"] = d.counts
        f["entry/data/eiger_4"].attrs.update(Center_x_pixel=N // 2, Center_y_pixel=N // 2, Detector_distance_m=DISTANCE,
                                             Photon_energy_kev=ENERGY / 1e3, Pixel_size=PIXEL)
    np.savetxt(folder / "pos.dat", np.stack([-d.x * 1e6, -d.y * 1e6], 1), fmt="%.9f")
    return path


GEOMETRY = f"--energy {ENERGY} --distance {DISTANCE} --detector-pixel {PIXEL}"
TABLE = " --positions {folder}/pos.txt:x*1e-6,{folder}/pos.txt:y*1e-6 " + GEOMETRY


def table(folder, d):
    np.savetxt(folder / "pos.txt", np.stack([d.x * 1e6, d.y * 1e6], 1), header="x y", fmt="%.9f")


@layout("NPZ, xcoords_start only", probe=True)
def npz_start(folder, d):
    np.savez(folder / "scan.npz", diffraction=np.sqrt(d.counts).astype(np.float32), probeGuess=d.probe[0],
             xcoords_start=d.x / d.pixel, ycoords_start=d.y / d.pixel)
    return folder / "scan.npz"


@layout("NPZ, (H, W, N)", probe=True)
def npz_last(folder, d):
    np.savez(folder / "scan.npz", diff3d=np.sqrt(np.moveaxis(d.counts, 0, 2)).astype(np.float32),
             probeGuess=d.probe[0], xcoords=d.x / d.pixel, ycoords=d.y / d.pixel)
    return folder / "scan.npz"


@layout("tike", probe=True)
def tike(folder, d):
    np.savez(folder / "scan.npz", data=np.fft.ifftshift(d.counts, axes=(1, 2)).astype(np.float32),
             scan=np.stack([d.y, d.x], 1).astype(np.float32) / d.pixel, probe=d.probe[None, None, :, :, :])
    return folder / "scan.npz"


@layout("NPY and a table", options=TABLE)
def npy(folder, d):
    np.save(folder / "scan.npy", d.counts)
    table(folder, d)
    return folder / "scan.npy"


@layout("TIFF folder", options=TABLE)
def tiff(folder, d):
    import tifffile
    (folder / "images").mkdir(exist_ok=True)
    for i, frame in enumerate(d.counts):
        tifffile.imwrite(folder / "images" / f"img_{i + 1}.tif", frame)
    table(folder, d)
    return folder / "images"


@layout("any HDF5", options="--patterns /measured/frames" + TABLE)
def anything(folder, d):
    with h5py.File(folder / "any.h5", "w") as f:
        f["measured/frames"] = d.counts
    table(folder, d)
    return folder / "any.h5"


def mib_bytes(frames, bits="U16"):
    for i, frame in enumerate(frames, 1):
        head = f"MQ1,{i:06d},00384,01,{frame.shape[1]:04d},{frame.shape[0]:04d},{bits},   1x1,01,".encode()
        yield head.ljust(384, b" ") + frame.astype(">u2").tobytes()


RASTER = f" --scan-step {{step}} {GEOMETRY}"


@layout("MIB", raster=True, options=RASTER)
def mib(folder, d):
    (folder / "scan.mib").write_bytes(b"".join(mib_bytes(d.counts)))
    (folder / "scan.hdr").write_text("HDR,\t\nFrames in Acquisition (Number):\t%d\nFrames per Trigger (Number):\t%d\n"
                                     "End\t\n" % (d.n, COLS))
    return folder / "scan.mib"

TABLE_OF_MICROMETRES = " --positions {folder}/pos.txt:x*1e-6,{folder}/pos.txt:y*1e-6"


@layout("HXN raw", options=f"--distance {DISTANCE} --detector-pixel {PIXEL}")
def hxn_raw(folder, d):
    """Raw frames of a Merlin beside the encoders' positions, (2, n) in micrometres."""
    path = folder / "scan_2.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("diff_data/merlin1/det_images", data=d.counts, chunks=(1, N, N), compression="gzip")
        f["scan/scan_positions"] = np.stack([d.x, d.y]) * 1e6
        f["scan/energy"], f["scan/exposure_time"] = ENERGY / 1e3, 0.05
    return path


@layout("ISN", options=TABLE_OF_MICROMETRES)
def isn(folder, d):
    """A master whose group PTYCHO links to the files of the detector; det_dist_mm holds metres."""
    for i, part in enumerate(np.array_split(d.counts, 2), 1):
        with h5py.File(folder / f"ptycho_{i:05d}.h5", "w") as f:
            f.create_dataset("entry/data/data", data=part, chunks=(1, N, N), compression="gzip")
    with h5py.File(folder / "master.h5", "w") as f:
        for i in (1, 2):
            f[f"PTYCHO/file_{i:05d}"] = h5py.ExternalLink(f"ptycho_{i:05d}.h5", "/entry/data/data")
        f["configs/det_dist_mm"], f["configs/pix_size_x"], f["configs/photon_energy_eV"] = DISTANCE, PIXEL, ENERGY
    table(folder, d)
    return folder / "master.h5"


@layout("cSAXS", options=TABLE_OF_MICROMETRES)
def csaxs(folder, d):
    """Distances in mm and negative, pixels in um, the monochromator in keV; positions in a text file."""
    path = folder / "e1_1_00001.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("entry/data/data", data=d.counts.astype(np.uint32), chunks=(1, N, N), compression="gzip")
        f["entry/instrument/eiger_4/distance"], f["entry/instrument/eiger_4/x_pixel_size"] = -DISTANCE * 1e3, PIXEL * 1e6
        f["entry/instrument/monochromator/energy"] = ENERGY / 1e3
    table(folder, d)
    return path


@layout("Polar", options=f"--energy {ENERGY} --distance {DISTANCE} --detector-pixel {PIXEL}")
def polar(folder, d):
    """A master that links to the area detector's file, which has the positions among its NDAttributes."""
    with h5py.File(folder / "eiger_000001.h5", "w") as f:
        f.create_dataset("entry/data/data", data=d.counts, chunks=(1, N, N), compression="lzf")
        f["entry/instrument/NDAttributes/Xpos"], f["entry/instrument/NDAttributes/Ypos"] = d.x * 1e6, d.y * 1e6
    with h5py.File(folder / "scan_000001_master.hdf", "w") as f:
        f["entry/externals/eiger"] = h5py.ExternalLink("eiger_000001.h5", "/")
    return folder / "scan_000001_master.hdf"


@layout("SWING", options=f"--energy {ENERGY} --distance {DISTANCE} --detector-pixel {PIXEL}")
def swing(folder, d):
    """The detector lies as PtyPy's orientation 6 says: transposed, then its rows reversed."""
    path = folder / "scan.nxs"
    lying = np.transpose(np.roll(d.counts[:, ::-1], 1, 1), (0, 2, 1))
    with h5py.File(path, "w") as f:
        f.create_dataset("root/scan_data/eiger_image", data=lying, chunks=(1, N, N), compression="gzip")
        f["root/scan_data/motorsX"], f["root/scan_data/motorsY"] = d.x * 1e3, d.y * 1e3
    return path


@layout("LCLS XPP", options=f"--energy {ENERGY} --distance {DISTANCE} --detector-pixel {PIXEL}")
def xpp(folder, d):
    """One row per shot: float images that follow the pulse's energy, motors in um, y = -ch04."""
    path = folder / "xpp_run0001.h5"
    pulse = 1 + 0.3 * np.sin(1.7 * np.arange(d.n))
    with h5py.File(path, "w") as f:
        f["jungfrau1M/image_img"] = (d.counts * pulse[:, None, None]).astype(np.float32)
        f["lmc/ch03"], f["lmc/ch04"] = d.x * 1e6, -d.y * 1e6
        f["ipm2/sum"] = pulse
    return path


@layout("APS exchange", options=f"--energy {ENERGY} --distance {DISTANCE} --detector-pixel {PIXEL}")
def exchange(folder, d):
    """Data exchange: exchange/data, and the motors in mm."""
    path = folder / "scan.h5"
    with h5py.File(path, "w") as f:
        f["exchange/data"], f["exchange/motor_pos"] = d.counts, np.stack([d.x, d.y], 1) * 1e3
    return path


@layout("TIFF in tiles, one file", options=TABLE)
def tiled_tiff(folder, d):
    import tifffile
    tifffile.imwrite(folder / "scan.tif", d.counts, tile=(32, 32), compression="zlib", photometric="minisblack")
    table(folder, d)
    return folder / "scan.tif"


def sent(pixels, bits):
    """A row of a Medipix3 chip in raw mode: words of 64 bits, big endian, their first pixel in the low bits."""
    if bits == 1:
        return np.packbits(pixels.astype(np.uint8).reshape(-1, 64)[:, ::-1], axis=1).tobytes()
    if bits == 6:
        return pixels.astype(np.uint8).reshape(-1, 8)[:, ::-1].tobytes()
    return pixels.astype(">u2").reshape(-1, 4)[:, ::-1].tobytes()


def raw_mib(frames, bits):
    for i, frame in enumerate(frames, 1):
        wide = frame.shape[1] * (2 if bits == 24 else 1)
        yield f"MQ1,{i:06d},00384,01,{wide:04d},{frame.shape[0]:04d},R64,   1x1,01,1.0,0,{bits}".encode().ljust(384)
        for half in ((frame >> 12, frame & 4095) if bits == 24 else (frame,)):
            yield b"".join(sent(row, 12 if bits == 24 else bits) for row in half)


@layout("MIB raw, 24 bits", raster=True, options=f"--scan-shape {ROWS}x{COLS} --scan-step {{step}} {GEOMETRY}")
def mib_raw(folder, d):
    (folder / "scan.mib").write_bytes(b"".join(raw_mib(d.counts.astype(np.int64), 24)))
    return folder / "scan.mib"


@layout("MIB with flyback columns", raster=True,
        options=f"--scan-shape {ROWS}x{COLS + 2} --flyback 2 --scan-step {{step}} {GEOMETRY}")
def mib_flyback(folder, d):
    frames = d.counts.reshape(ROWS, COLS, N, N)
    (folder / "scan.mib").write_bytes(
        b"".join(mib_bytes(np.concatenate([frames, frames[:, :2]], 1).reshape(-1, N, N))))
    return folder / "scan.mib"


@layout("MATLAB 5")
def matlab(folder, d):
    from scipy.io import savemat
    savemat(folder / "scan.mat", {"dp": np.moveaxis(d.counts, 0, 2).astype(float), "ppX": -d.x, "ppY": -d.y,
                                  "lambda": HC / ENERGY, "dx": d.pixel})
    return folder / "scan.mat"


@layout("EMD (py4DSTEM)", raster=True, options=GEOMETRY)
def emd(folder, d):
    path = folder / "cube.h5"
    step = np.abs(np.diff(d.x)[0])
    with h5py.File(path, "w") as f:
        f.attrs["emd_group_type"] = "file"
        cube = f.create_group("root/datacube")
        cube["data"] = d.counts.reshape(ROWS, COLS, N, N)
        for axis, (values, unit) in enumerate([(np.array([0, step * 1e9]), "nm")] * 2 +
                                              [(np.array([0, 1e-10 / (N * d.pixel)]), "A^-1")] * 2):
            cube[f"dim{axis}"] = values
            units(cube[f"dim{axis}"], unit)
    return path
