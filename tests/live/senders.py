"""What sends frames and positions at a beamline, for tests and benchmarks: DECTRIS stream V2 and V1, JSON."""
import ctypes
import ctypes.util
import json
import struct

import numpy as np

try:  # the detector maker's own packer, where it is installed
    from dectris.compression import compress
except ImportError:
    compress = None

LZ4 = ctypes.CDLL(ctypes.util.find_library("lz4") or "liblz4.so.1")


def lz4_block(data):
    out = ctypes.create_string_buffer(LZ4.LZ4_compressBound(len(data)))
    size = LZ4.LZ4_compress_default(data, out, len(data), len(out))
    assert size > 0
    return out.raw[:size]


def hdf5_lz4(data):
    """The framing of HDF5's LZ4 filter: bytes, bytes of a block, then each block with its size."""
    packed = lz4_block(data)
    return struct.pack(">QII", len(data), len(data), len(packed)) + packed


def bslz4(image):
    """The framing of HDF5's bitshuffle filter with LZ4: bytes, bytes of a block, then each block of bit
    planes with its size."""
    if compress is not None:
        return compress(image.tobytes(), "bslz4", elem_size=image.dtype.itemsize)
    flat, size = image.ravel(), image.dtype.itemsize
    block = max(8192 // size // 8 * 8, 128)
    out = struct.pack(">QI", flat.nbytes, block * size)
    for first in range(0, len(flat) // 8 * 8, block):
        part = flat[first:first + block]
        part = part[:len(part) // 8 * 8]
        bits = np.unpackbits(part.view(np.uint8).reshape(len(part), size), axis=1, bitorder="little")
        packed = lz4_block(np.packbits(bits.T, axis=1, bitorder="little").tobytes())
        out += struct.pack(">I", len(packed)) + packed
    return out + flat[len(flat) // 8 * 8:].tobytes()


def blosc(image):
    """A chunk of Blosc, or None where its library is not installed."""
    library = ctypes.util.find_library("blosc")
    if library is None:
        return None
    out = ctypes.create_string_buffer(image.nbytes + 16)
    pack = ctypes.CDLL(library).blosc_compress_ctx
    pack.argtypes = [ctypes.c_int, ctypes.c_int] + [ctypes.c_size_t] * 2 + [
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    size = pack(5, 1, image.dtype.itemsize, image.nbytes, image.tobytes(), out, len(out), b"lz4", 0, 1)
    assert size > 0
    return out.raw[:size]


def eiger2_start(frames, series=1, **more):
    import cbor2
    return cbor2.dumps({"type": "start", "series_id": series, "number_of_images": frames, "channels": ["threshold_1"], **more})


def eiger2_image(index, image, series=1, packing="bslz4"):
    import cbor2
    tag = {"uint8": 64, "uint16": 69, "uint32": 70}[image.dtype.name]
    data = image.tobytes()
    if packing:
        pack = {"bslz4": bslz4(image), "lz4": hdf5_lz4(data)}[packing]
        data = cbor2.CBORTag(56500, [packing, image.dtype.itemsize if packing == "bslz4" else 0, pack])
    array = cbor2.CBORTag(40, [list(image.shape), cbor2.CBORTag(tag, data)])
    return cbor2.dumps({"type": "image", "series_id": series, "image_id": index, "data": {"threshold_1": array}})


def eiger2_end(series=1):
    import cbor2
    return cbor2.dumps({"type": "end", "series_id": series})


def text(**header):
    return json.dumps(header).encode()


def eiger1_start(frames, series=1):
    return [text(htype="dheader-1.0", series=series, header_detail="basic"), text(nimages=frames, ntrigger=1)]


def eiger1_image(index, image, series=1):
    size = 8 * image.dtype.itemsize
    return [text(htype="dimage-1.0", series=series, frame=index, hash=""),
            text(htype="dimage_d-1.0", shape=list(image.shape[::-1]), type=image.dtype.name, encoding=f"bs{size}-lz4<", size=0),
            bslz4(image), text(htype="dconfig-1.0")]


def eiger1_end(series=1):
    return [text(htype="dseries_end-1.0", series=series)]


def json_image(index, image, series=1):
    return [text(htype="ptyche-frame-1.0", series=series, index=index, shape=list(image.shape), type=image.dtype.name),
            image.tobytes()]


def json_positions(first, xy, unit="px"):
    """xy: (k, 2) float64, x then y."""
    return [text(htype="ptyche-positions-1.0", first=first, count=len(xy), unit=unit), np.ascontiguousarray(xy).tobytes()]


def json_end(of="frames", series=1):
    return [text(htype="ptyche-end-1.0", series=series, of=of)]


def tiff(image):
    """A plain TIFF of one grey image, little endian."""
    rows, cols = image.shape
    bits = 8 * image.dtype.itemsize
    entries = [(256, 3, cols), (257, 3, rows), (258, 3, bits), (259, 3, 1), (262, 3, 1), (273, 4, 8), (277, 3, 1),
               (278, 3, rows), (279, 4, image.nbytes), (339, 3, 1)]
    table = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries)
    return struct.pack("<2sHI", b"II", 42, 8 + image.nbytes) + image.tobytes() + table + struct.pack("<I", 0)
