"""The ways in which a scan can be wrong that bench_prepare.py plants, one at a time."""
import numpy as np


def turn180(images):
    return np.roll(images[..., ::-1, ::-1], (1, 1), (-2, -1))


def about_mean(positions, matrix):
    mean = positions.mean(0)
    return (positions - mean) @ np.array(matrix, float).T + mean


def shuffled_part(scan, rng, share):
    order = np.arange(len(scan.positions))
    some = rng.permutation(order)[:int(share * len(order))]
    order[some] = np.roll(some, 1)
    return scan.copy(positions=scan.positions[order])


def off_part(scan, rng):
    positions = scan.positions.copy()
    some = rng.permutation(len(positions))[:int(0.3 * len(positions))]
    angle = rng.uniform(0, 2 * np.pi, len(some))
    positions[some] += 4 * np.stack([np.sin(angle), np.cos(angle)], 1)
    return scan.copy(positions=positions)


def late_shift(scan, rng):
    patterns = scan.patterns.copy()
    half = len(patterns) // 2
    patterns[half:-1] = scan.patterns[half + 1:]
    return scan.copy(patterns=patterns)


def stuck(scan, rng):
    patterns = scan.patterns.copy()
    patterns[len(patterns) // 2:] = patterns[len(patterns) // 2]
    return scan.copy(patterns=patterns)


def hot(scan, rng):
    patterns, size = scan.patterns.copy(), scan.patterns.shape[1]
    row, col = size // 2 + size // 5, size // 2 - size // 4
    patterns[:, row, col] = max(1000, 3 * patterns.max())
    return scan.copy(patterns=patterns)


def dead(scan, rng):
    patterns, size = scan.patterns.copy(), scan.patterns.shape[1]
    patterns[:, :size // 2] = 0
    return scan.copy(patterns=patterns)


def gain(scan, rng):
    patterns, size = scan.patterns.copy(), scan.patterns.shape[1]
    patterns[:, :size // 2, size // 2:] *= 8
    return scan.copy(patterns=patterns)


def garbage(kind):
    def alter(scan, rng):
        patterns = scan.patterns.copy()
        some = rng.permutation(len(patterns))[:len(patterns) // 10]
        total = patterns[some].sum((1, 2)).mean()
        patterns[some] = {"overfull": lambda: patterns[some] * 10 + 20, "empty": lambda: patterns[some] * 0,
                          "noise": lambda: rng.poisson(total / patterns[0].size, patterns[some].shape)}[kind]()
        return scan.copy(patterns=patterns)
    return alter


def beam(kind, width):
    def alter(scan, rng):
        n = len(scan.patterns)
        factor = rng.normal(1, width, n) if kind == "normal" else rng.uniform(1 - width, 1 + width, n)
        factor = np.clip(factor, 0.02, 1.98 if kind == "uniform" else 3)
        keep = factor[:, None, None] / 2 if width >= 0.5 else factor[:, None, None] / 1.6
        return scan.copy(patterns=rng.binomial(scan.patterns, np.clip(keep, 0, 1)).astype(np.int32))
    return alter


def centre_drift(scan, rng):
    n = len(scan.patterns)
    by = np.rint(np.linspace(-1.5, 1.5, n)).astype(int)
    return scan.copy(patterns=np.stack([np.roll(p, (b, b // 2), (0, 1)) for p, b in zip(scan.patterns, by)]))


def random_positions(scan, rng):
    low, high = scan.positions.min(0), scan.positions.max(0)
    return scan.copy(positions=rng.uniform(low, high, scan.positions.shape))


def probe_of(kind):
    def alter(scan, rng):
        size = scan.probe.shape[-1]
        row, col = np.indices((size, size)) - size // 2
        new = np.ones((size, size)) if kind == "flat" else np.exp(-(row ** 2 + col ** 2) / (2 * (size / 7) ** 2))
        power = (np.abs(scan.probe) ** 2).sum()
        return scan.copy(probe=(new * np.sqrt(power / (new ** 2).sum()))[None].astype(np.complex64))
    return alter


def positions(matrix):
    return lambda scan, rng: scan.copy(positions=about_mean(scan.positions, matrix))


def values(change):
    return lambda scan, rng: scan.copy(patterns=change(scan.patterns.astype(float)).astype(np.float32))


def whole(change):
    return lambda scan, rng: scan.copy(patterns=change(scan.patterns))


def images(change):
    return lambda scan, rng: scan.copy(patterns=change(scan.patterns), mask=change(scan.mask))


def read_out(scan, rng, gain, level, noise):
    """A detector that does not count; a level is that of a camera, which writes whole numbers."""
    values = gain * scan.patterns + level + rng.normal(0, noise, scan.patterns.shape)
    return scan.copy(patterns=np.maximum(np.rint(values), 0).astype(np.int32) if level else values.astype(np.float32))


def cosmic_rays(scan, rng):
    patterns, size = scan.patterns.copy(), scan.patterns.shape[1]
    for pattern in patterns:
        for _ in range(rng.integers(1, 4)):
            pattern[rng.integers(size), rng.integers(size)] += int(rng.integers(500, 5000))
    return scan.copy(patterns=patterns)


def dead_pixels(scan, rng):
    patterns, size = scan.patterns.copy(), scan.patterns.shape[1]
    patterns[:, rng.integers(size // 4, 3 * size // 4, 30), rng.integers(size // 4, 3 * size // 4, 30)] = 0
    return scan.copy(patterns=patterns)


def beam_stop(patterns):
    size = patterns.shape[1]
    row, col = np.indices((size, size)) - size // 2
    patterns = patterns.copy()
    patterns[:, (row ** 2 + col ** 2 <= (size / 16) ** 2) | ((abs(col) <= size // 64) & (row > 0))] = 0
    return patterns


def hidden(scan, value):
    """Modules beside each other, in whose gaps is what is no count."""
    patterns, size = scan.patterns.copy(), scan.patterns.shape[1]
    patterns[:, size // 3:size // 3 + 2] = patterns[:, :, 5 * size // 8:5 * size // 8 + 2] = value
    return scan.copy(patterns=patterns, mask=np.ones_like(scan.mask))


TWIN = r"both axes flipped, or the sign"
# Name, least share that must be named, expected cause, alteration(scan, rng).
FAULTS = [
    ("rows flipped", .6, r"positions: rows flipped", positions([[-1, 0], [0, 1]])),
    ("columns flipped", .6, r"positions: columns flipped|positions: one axis flipped.*turned by 180", positions([[1, 0], [0, -1]])),
    ("both axes flipped", 0, TWIN, positions([[-1, 0], [0, -1]])),
    ("patterns turned by 180", 0, TWIN, images(turn180)),
    ("probe conjugated", 0, TWIN, lambda s, rng: s.copy(probe=np.conj(s.probe))),
    ("axes swapped", .6, r"positions: axes swapped", positions([[0, 1], [1, 0]])),
    ("patterns transposed", .6, r"positions: axes swapped", images(lambda p: p.swapaxes(-1, -2).copy())),
    ("positions turned by 90", .6, r"positions: turned by", positions([[0, 1], [-1, 0]])),
    ("patterns turned by 90", .6, r"positions: turned by", images(lambda p: np.rot90(p, 1, (-2, -1)).copy())),
    ("zero frequency at the corner", .95, r"centre: at the corner", whole(lambda p: np.fft.fftshift(p, (1, 2)))),
    ("centre off by 3.6 px", .9, r"centre: off", whole(lambda p: np.roll(p, (3, -2), (1, 2)))),
    ("amplitudes as counts", .95, r"values: amplitudes", values(np.sqrt)),
    ("amplitudes of unknown scale", .95, r"values: amplitudes", values(lambda v: 0.0137 * np.sqrt(v))),
    ("counts as amplitudes", .95, r"values: counts squared", values(np.square)),
    ("log of counts", .95, r"values: logarithms", values(np.log1p)),
    ("log10 of counts", .95, r"values: logarithms", values(lambda v: np.log10(1 + v))),
    ("counts times .37", .95, r"values: scaled counts", values(lambda v: 0.37 * v)),
    ("mask inverted", .9, r"mask", lambda s, rng: s.copy(mask=~s.mask)),
    ("positions x 1e6", .95, r"another unit|positions: unit", lambda s, rng: s.copy(positions=s.positions * 1e6)),
    ("positions x 1e3", .95, r"another unit|positions: unit", lambda s, rng: s.copy(positions=s.positions * 1e3)),
    ("positions x 1e-6", .95, r"positions: unit", lambda s, rng: s.copy(positions=s.positions * 1e-6)),
    ("positions x 2", 0, r"positions: scale|no overlap", positions([[2, 0], [0, 2]])),
    ("positions x .5", 0, r"positions: scale", positions([[.5, 0], [0, .5]])),
    ("positions x 1.3", 0, r"positions: scale", positions([[1.3, 0], [0, 1.3]])),
    ("positions x 1.1", 0, r"positions: scale", positions([[1.1, 0], [0, 1.1]])),
    ("shifted by one", 0, r"order: patterns shifted", whole(lambda p: np.roll(p, 1, 0))),
    ("shifted from the middle on", 0, r"order: patterns shifted", late_shift),
    ("shuffled", 0, r"order: (patterns have|a part)", lambda s, rng: s.copy(positions=rng.permutation(s.positions))),
    ("random positions", 0, r"order: (patterns have|a part)", random_positions),
    ("30 % shuffled", 0, r"order: (patterns have|a part)", lambda s, rng: shuffled_part(s, rng, .3)),
    ("30 % off by 4 px", 0, r"order: (patterns have|a part)", off_part),
    ("linear drift by 4 px", 0, r"positions: drift",
     lambda s, rng: s.copy(positions=s.positions + np.linspace(0, 4, len(s.positions))[:, None])),
    ("all patterns the same", .95, r"frames: all the same", whole(lambda p: np.repeat(p[:1], len(p), 0))),
    ("half stuck", .95, r"frames: repeated", stuck),
    ("clipped at 100", 0, r"values: clipped", whole(lambda p: np.minimum(p, 100))),
    ("modulo 256", .8, r"values: wrapped", whole(lambda p: p % 256)),
    ("hot pixel", .9, r"detector: hot", hot),
    ("half the detector dead", .95, r"detector: dead", dead),
    ("gain of a quadrant", .8, r"detector: gain", gain),
    ("noise only", .95, r"detector: noise",
     lambda s, rng: s.copy(patterns=rng.poisson(max(s.patterns[:, s.mask].mean(), .05), s.patterns.shape).astype(np.int32))),
    ("10 % overfull", .9, r"frames: garbage|are left out", garbage("overfull")),
    ("10 % empty", .9, r"frames: garbage|are left out", garbage("empty")),
    ("10 % noise", .8, r"frames: garbage", garbage("noise")),
    ("beam +-15 %", 0, r"beam", beam("normal", .15)),
    ("beam +-30 % uniform", 0, r"beam", beam("uniform", .3)),
    ("beam +-50 %", .8, r"beam", beam("normal", .5)),
    ("beam +-100 % uniform", .8, r"beam|garbage", beam("uniform", .99)),
    ("centre drifts by 3 px", 0, r"centre: drifts", centre_drift),
    ("probe flat", .8, r"probe", probe_of("flat")),
    ("probe Gaussian", 0, r"probe", probe_of("gaussian")),
    ("cosmic rays", .9, r"detector: cosmic", lambda s, rng: cosmic_rays(s, rng)),
    ("read-out noise", .9, r"values: read-out", lambda s, rng: read_out(s, rng, 1, 0, .3)),
    ("gain and read-out noise", .9, r"values: read-out", lambda s, rng: read_out(s, rng, 150, 0, 15)),
    ("dark level", .9, r"values: read-out", lambda s, rng: read_out(s, rng, 30, 200, 8)),
    ("probe at the corner", .9, r"probe: at the corner", lambda s, rng: s.copy(probe=np.fft.fftshift(s.probe, (-2, -1)))),
    ("each pattern over its total", .8, r"values: normalised", lambda s, rng: s.copy(patterns=(
        s.patterns / np.maximum(s.patterns.sum((1, 2), keepdims=True), 1)).astype(np.float32))),
    ("37 for each photon", .9, r"values: scaled", whole(lambda p: 37 * p)),
    ("dead pixels", .6, r"detector: gaps", lambda s, rng: dead_pixels(s, rng)),
    ("beam stop", .6, r"detector: gaps", whole(lambda p: beam_stop(p))),
    ("-1 in gaps", .9, r"pixels hold no counts", lambda s, rng: hidden(s, -1)),
    ("65535 in gaps", .9, r"pixels hold no counts", lambda s, rng: hidden(s, 65535)),
    ("gaps not masked", .9, r"detector: gaps", lambda s, rng: s.copy(mask=np.ones_like(s.mask))),
    ("mask flipped", .9, r"mask: in another|detector: (gaps|hot)", lambda s, rng: s.copy(mask=s.mask[::-1].copy())),
    ("mask at the corner", .9, r"mask: in another|detector: (gaps|hot)", lambda s, rng: s.copy(mask=np.fft.fftshift(s.mask))),
]
# What can be planted only where there is something to clip or wrap.
NEEDS = {**dict.fromkeys(("gaps not masked", "mask flipped", "mask at the corner"), lambda s: not s.mask.all()),
         "clipped at 100": lambda s: s.patterns[:, s.mask].max() > 150, "modulo 256": lambda s: s.patterns[:, s.mask].max() > 300}
