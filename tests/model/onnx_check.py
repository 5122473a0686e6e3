#!/usr/bin/env python3
"""Runs an ONNX file on the arrays beside it and compares.

usage: onnx_check.py FOLDER [--onnxruntime]

FOLDER has graph.onnx, NAME.npy for inputs that are given, and expected.npy. The file is read and its operators
are computed here, with NumPy alone (definitions: https://onnx.ai/onnx/operators), or by onnxruntime. Checks that
the operator set is at most 17, that every value is made before it is used, and that the largest difference is at
most 1e-4. Exits with 77 where NumPy or onnxruntime is not there.
"""
import math
import pathlib
import sys

try:
    import numpy as np
except ImportError:
    print("NumPy is not there")
    sys.exit(77)

TOLERANCE = 1e-4
TYPES = {1: np.float32, 7: np.int64, 9: np.bool_}
erf = np.vectorize(math.erf, otypes=[np.float32])


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (value - (1 << 64) if value >> 63 else value), at


def fields(data):
    """{number: [values]} of one message of protocol buffers."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            assert kind in (2, 5), f"field {number} of kind {kind}"
            length, at = varint(data, at) if kind == 2 else (4, at)
            value, at = data[at:at + length], at + length
            assert kind == 5 or len(value) == length, "cut off"
        found.setdefault(number, []).append(value)
    return found


def text(message, number):
    return message[number][0].decode() if number in message else ""


def tensor(data):
    message = fields(data)
    values = np.frombuffer(message[9][0], TYPES[message[2][0]])
    return text(message, 8), values.reshape(message.get(1, []))


def attribute(data):
    message = fields(data)
    kind = message[20][0]
    value = {1: lambda: np.frombuffer(message[2][0], np.float32)[0], 2: lambda: message[3][0],
             3: lambda: message[4][0].decode(), 7: lambda: message[8]}[kind]()
    return text(message, 1), value


def convolve(x, weight, bias, strides, pads, kernel_shape):
    assert list(weight.shape[2:]) == kernel_shape
    x = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel_shape, axis=(2, 3))
    windows = windows[:, :, ::strides[0], ::strides[1]]
    return np.einsum("bchwij,ocij->bohw", windows, weight, optimize=True) + bias[:, None, None]


def normalise(x, scale, bias, epsilon):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * scale[:, None] + bias[:, None]


def reshape(x, shape):
    return x.reshape([x.shape[i] if length == 0 else length for i, length in enumerate(shape)])


def depth_to_space(x, blocksize, mode):
    assert mode == "CRD"
    k, features, rows, cols = x.shape
    x = x.reshape(k, features // blocksize**2, blocksize, blocksize, rows, cols)
    return x.transpose(0, 1, 4, 2, 5, 3).reshape(k, -1, rows * blocksize, cols * blocksize)


def resize(x, _, scales, mode, coordinate_transformation_mode, nearest_mode):
    assert (mode, coordinate_transformation_mode, nearest_mode) == ("nearest", "asymmetric", "floor")
    assert list(scales) == [1, 1, 2, 2]
    return x.repeat(2, 2).repeat(2, 3)


def cut(x, starts, ends, axes):
    window = [slice(None)] * x.ndim
    for start, end, axis in zip(starts, ends, axes):
        window[axis] = slice(start, end)
    return x[tuple(window)]


def pad(x, pads, mode):
    assert mode == "edge"
    return np.pad(x, list(zip(pads[:x.ndim], pads[x.ndim:])), "edge")


OPERATORS = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "MatMul": np.matmul,
    "Max": np.maximum, "Neg": np.negative, "Sqrt": np.sqrt, "Log": np.log, "Sin": np.sin, "Cos": np.cos,
    "Erf": erf, "Where": np.where, "Identity": lambda x: x, "Shape": lambda x: np.array(x.shape, np.int64),
    "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(axes)),
    "Concat": lambda *x, axis: np.concatenate(x, axis),
    "Gather": lambda x, indices, axis: np.take(x, indices, axis),
    "Transpose": lambda x, perm: x.transpose(perm),
    "ReduceSum": lambda x, axes, keepdims=1: x.sum(tuple(axes), keepdims=bool(keepdims)),
    "ReduceMax": lambda x, axes: x.max(tuple(axes), keepdims=True),
    "Conv": convolve, "InstanceNormalization": normalise, "Reshape": reshape, "DepthToSpace": depth_to_space,
    "Resize": resize, "Slice": cut, "Pad": pad,
}


def run(file, given):
    model = fields(file.read_bytes())
    operator_set = fields(model[8][0])[2][0]
    assert 1 <= operator_set <= 17, f"operator set {operator_set}"
    facts = {text(fields(each), 1) for each in model[14]}
    assert {"network", "stem", "training", "epochs", "input_scale"} <= facts, facts
    graph = fields(model[7][0])
    values = dict(tensor(each) for each in graph[5])
    inputs = [text(fields(each), 1) for each in graph[11]]
    assert set(given) <= set(inputs), f"{set(given)} of {inputs}"
    values.update(given)
    for data in graph[1]:
        node = fields(data)
        wanted = [name.decode() for name in node[1]]
        arguments = [values[name] if name else None for name in wanted]
        options = dict(attribute(each) for each in node.get(5, []))
        values[text(node, 2)] = OPERATORS[text(node, 4)](*arguments, **options)
    return [values[text(fields(each), 1)] for each in graph[12]][0]


def run_with_onnxruntime(file, given):
    try:
        import onnxruntime
    except ImportError:
        print("onnxruntime is not there")
        sys.exit(77)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return session.run(None, given)[0]


def main():
    folder = pathlib.Path(sys.argv[1])
    given = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    expected = given.pop("expected")
    runner = run_with_onnxruntime if "--onnxruntime" in sys.argv else run
    found = runner(folder / "graph.onnx", given)
    assert found.shape == expected.shape, f"{found.shape}, expected {expected.shape}"
    difference = np.abs(found - expected).max()
    print(f"largest difference {difference:.2g} of values up to {np.abs(expected).max():.3g}")
    return 0 if difference <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
