#!/usr/bin/env python3
"""Numbers that the tests of image errors and data fits expect, from NumPy and the definitions alone.

Small arrays from closed formulas; every metric written out as its defining sum. Prints the constants of
tests/evaluate/image_error_test.cpp and tests/evaluate/data_fit_test.cpp.
"""

import numpy as np

# ------------------------------------------------------------------ two images
ROWS, COLS = 40, 36


def images():
    r, c = np.indices((ROWS, COLS)).astype(float)
    truth = (0.75 + 0.2 * np.sin(0.7 * r + 0.3 * c) + 0.05 * np.cos(1.9 * r - 1.1 * c)) * np.exp(
        1j * (0.6 * np.sin(0.45 * r) * np.cos(0.38 * c) + 0.3 * np.cos(1.3 * c + 0.2 * r)))
    image = truth * (1 + 0.1 * np.sin(2.3 * r + 1.7 * c)) * np.exp(0.2j * np.cos(1.1 * r - 2.1 * c))
    return truth, image


def ssim(x, y):
    """One 11 x 11 window at a time."""
    span = x.max() - x.min()
    k = np.arange(-5, 6)
    g = np.exp(-(k[:, None] ** 2 + k[None] ** 2) / (2 * 1.5**2))
    g /= g.sum()
    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    values = []
    for r in range(5, x.shape[0] - 5):
        for c in range(5, x.shape[1] - 5):
            a, b = x[r - 5 : r + 6, c - 5 : c + 6], y[r - 5 : r + 6, c - 5 : c + 6]
            ma, mb = (g * a).sum(), (g * b).sum()
            va, vb = (g * (a - ma) ** 2).sum(), (g * (b - mb) ** 2).sum()
            cov = (g * (a - ma) * (b - mb)).sum()
            values.append((2 * ma * mb + c1) * (2 * cov + c2)
                          / ((ma**2 + mb**2 + c1) * (va + vb + c2)))
    return np.mean(values)


def rings(a, b):
    n = min(a.shape)
    a, b = (a - a.mean())[:n, :n], (b - b.mean())[:n, :n]
    fade = np.ones(n)
    for i in range(n // 8):
        fade[i] = fade[-1 - i] = np.sin(np.pi / 2 * (i + 0.5) / (n // 8)) ** 2
    w = fade[:, None] * fade[None]
    dft = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
    fa, fb = dft @ (a * w) @ dft, dft @ (b * w) @ dft
    share = (w**2).sum() ** 2 / (w**4).sum() / n**2
    curve, half_bit, one_bit = [], [], []
    for ring in range(n // 2 + 1):
        inside = [(u, v) for u in range(n) for v in range(n)
                  if round(np.hypot(min(u, n - u), min(v, n - v))) == ring]
        i, j = np.array(inside).T
        cross = (fa[i, j] * fb[i, j].conj()).sum().real
        curve.append(cross / np.sqrt((abs(fa[i, j]) ** 2).sum() * (abs(fb[i, j]) ** 2).sum()))
        root = np.sqrt(len(inside) * share)
        half_bit.append((0.2071 + 1.9102 / root) / (1.2071 + 0.9102 / root))
        one_bit.append((0.5 + 2.4142 / root) / (1.5 + 1.4142 / root))
    return curve, half_bit, one_bit


# ------------------------------------------------------------------ a scan
N, OBJECT, MODES = 8, (20, 22), 2
POSITIONS = np.array([[6.0, 7.0], [9.25, 10.5], [12.7, 8.1], [15.4, 16.75], [7.5, 13.0], [1.3, 20.2]])
ORIGIN = np.array([-2, 1])
HELD_OUT = [1, 3, 5]  # the last one leaves the object on two sides


def scan():
    r, c = np.indices(OBJECT).astype(float)
    obj = (0.8 + 0.15 * np.sin(0.9 * r + 0.4 * c)) * np.exp(0.7j * np.cos(0.5 * r - 0.8 * c))
    y, x = np.indices((N, N)).astype(float) - 3.6
    probe = np.stack([(9 - 5 * m) * np.exp(-(y**2 + x**2) / 8 + 1j * (0.1 * (m + 1) * y * y - 0.2 * m * x))
                      for m in range(MODES)])
    j, q, p = np.indices((len(POSITIONS), N, N)).astype(float)
    spot = 9 * np.exp(-((q - 4) ** 2 + (p - 4) ** 2) / 6)
    counts = np.floor(spot * (1 + 0.5 * np.sin(1 + 2 * j + q - p)) + 0.4)
    a, b = np.indices((N, N))
    background = 0.002 + 0.0005 * (a + 2 * b)
    mask = (3 * a + 5 * b) % 7 != 0
    return obj, probe, counts, background, mask


def shifted(image, d):
    """Moved by d with a DFT written out."""
    k = np.fft.fftfreq(N)
    dft = np.exp(-2j * np.pi * np.outer(np.arange(N), np.arange(N)) / N)
    factor = [np.exp(-2j * np.pi * k * s) for s in d]
    return dft.conj() @ ((dft @ image @ dft) * factor[0][:, None] * factor[1][None]) @ dft.conj() / N**2


def predict(obj, probe, background, position, interpolation):
    corner = position - ORIGIN - N // 2

    def value(r, c):
        return obj[r, c] if 0 <= r < OBJECT[0] and 0 <= c < OBJECT[1] else 1.0

    def patch(r0, c0):
        return np.array([[value(r0 + r, c0 + c) for c in range(N)] for r in range(N)])

    if interpolation == 'bilinear':
        (r0, c0), (u, v) = np.floor(corner).astype(int), corner - np.floor(corner)
        exit_patch = ((1 - u) * (1 - v) * patch(r0, c0) + (1 - u) * v * patch(r0, c0 + 1)
                      + u * (1 - v) * patch(r0 + 1, c0) + u * v * patch(r0 + 1, c0 + 1))
        moved = probe
    else:
        whole = np.round(corner).astype(int)
        exit_patch, moved = patch(*whole), [shifted(m, corner - whole) for m in probe]
    q = np.arange(N) - N // 2
    dft = np.exp(-2j * np.pi * np.outer(q, np.arange(N)) / N)
    return sum(abs(dft @ (m * exit_patch) @ dft.T / N) ** 2 for m in moved) + background


def fit(counts, model, mask):
    n, i = counts[:, mask], model[:, mask]
    r = abs(np.sqrt(i) - np.sqrt(n)).sum() / np.sqrt(n).sum()
    clipped = np.maximum(i, 0.01)
    log = np.array([0 if a == 0 else a * np.log(a / b) for a, b in zip(n.ravel(), clipped.ravel())])
    return r, 2 * (log.sum() - (n - clipped).sum()) / n.sum()


def show(name, *values):
    print(f'{name:34s}', ', '.join(f'{v:.12g}' for v in values))


def main():
    truth, image = images()
    norm = np.linalg.norm
    show('nrmse', norm(truth - image) / norm(truth))
    show('nrmse_contrast', norm(truth - image) / norm(truth - truth.mean()))
    show('amplitude_rmse', np.sqrt(np.mean((abs(truth) - abs(image)) ** 2)))
    show('phase_rmse_rad', np.sqrt(np.mean((0.2 * np.cos(
        1.1 * np.arange(ROWS)[:, None] - 2.1 * np.arange(COLS)[None])) ** 2)))
    show('ssim of amplitudes', ssim(abs(truth), abs(image)))
    curve, half_bit, one_bit = rings(truth, image)
    show('FRC of rings 1, 5, 9, 14, 18', *[curve[k] for k in (1, 5, 9, 14, 18)])
    show('half bit of rings 1, 5, 9, 14, 18', *[half_bit[k] for k in (1, 5, 9, 14, 18)])
    show('one bit of rings 1, 5, 9, 14, 18', *[one_bit[k] for k in (1, 5, 9, 14, 18)])

    obj, probe, counts, background, mask = scan()
    everywhere = np.ones_like(mask)
    for interpolation in ('bilinear', 'probe_fourier'):
        model = np.array([predict(obj, probe, background, p, interpolation) for p in POSITIONS])
        show(interpolation + ' R, deviance', *fit(counts[HELD_OUT], model[HELD_OUT], everywhere))
        show(interpolation + ' masked', *fit(counts[HELD_OUT], model[HELD_OUT], mask))
    used = [k for k in range(len(POSITIONS)) if k not in HELD_OUT]
    guesses = {'mean amplitude': np.sqrt(counts[used]).mean(0) ** 2, 'mean': counts[used].mean(0)}
    for name, guess in guesses.items():
        show(name, *fit(counts[HELD_OUT], np.array([guess] * 3), everywhere))
        show(name + ' masked', *fit(counts[HELD_OUT], np.array([guess] * 3), mask))


if __name__ == '__main__':
    main()
