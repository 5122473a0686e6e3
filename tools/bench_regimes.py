#!/usr/bin/env python3
"""Where does a network pay? Dose x overlap x pattern size x sample, 180 simulated scans.

  bench_regimes.py [--share 0|1|2] [--size 64|128|256] [--draw FILE.svg] [PTYCHE]

Of every scan, on one thread, the error over contrast and the seconds of the default, of three named
chains, of a network trained on the scan for 40 epochs (its stitched image, and refined), of one trained
for as many epochs as fit into the default's time, and of the network that comes with the program. A
share is a third of the cells, spread over all of them. Figures are kept in bench_regimes.json as they
come, so that a run which was stopped goes on; remove a line to measure it anew. No constant of the
default was chosen by these scans. --draw writes the heat map and prints the table, and measures nothing.
"""
import argparse
import itertools
import json
import pathlib
import statistics
import tempfile
import time

from bench_defaults import error, make, run
from bench_lines import ROOT

DOSES, OVERLAPS, SIZES = (1e2, 1e3, 1e4, 1e5, 1e6), (0.2, 0.4, 0.6, 0.8), (64, 128, 256)
OBJECTS = ("dead-leaves", "picture", "random-field")
FRAMES = {64: 100, 128: 64, 256: 36}
CHAINS = ("ml:60", "lbfgs:60", "dm:60,ml:60")
EPOCHS = 40
FIGURES = pathlib.Path(__file__).with_suffix(".json")
ONE = ("--threads", 1, "--hold-out", 0.1)


def cells(share=None, size=None):
    """(name, scan) of the cells; those of a share hold every value of every axis equally often."""
    axes = [range(len(axis)) for axis in (DOSES, OVERLAPS, SIZES, OBJECTS)]
    for number, (d, o, n, k) in enumerate(itertools.product(*axes)):
        if (share is None or (d + o + n + k) % 3 == share) and size in (None, SIZES[n]):
            name = f"{DOSES[d]:g}-{OVERLAPS[o]:g}-{SIZES[n]}-{OBJECTS[k]}"
            yield name, {"name": name, "object": OBJECTS[k], "dose": DOSES[d], "overlap": OVERLAPS[o],
                         "N": SIZES[n], "frames": FRAMES[SIZES[n]], "probe": "defocused",
                         "defocus_error": 0, "position_error": 0, "blur": 0, "background": 0,
                         "seed": 7000 + number}


def measured(program, scan, folder):
    """{arm: [error, seconds]}; an arm that ends with an error is left out."""
    file, truth = make(program, scan, folder)
    found = {}

    def arm(name, images, *words):
        begin = time.time()
        try:
            run(program, *words, *ONE)
        except RuntimeError:
            return
        took = round(time.time() - begin, 2)
        for key, image in images.items():
            if (folder / "out" / image).exists():
                found[name + key] = [round(error(truth, folder / "out" / image), 4), took]

    result = {"": "reconstruction.h5"}
    both = {"": "network.h5", ", refined": "reconstruction.h5"}
    default = ("reconstruct", file, "-o", folder / "out", "--no-verdict")
    arm("default", result, *default)
    for chain in CHAINS:
        arm(chain, result, "solve", file, "-o", folder / "out", "--no-verdict", "--solver", chain)
    arm("trained", both, *default, "--train", EPOCHS)
    if "default" in found and "trained" in found:
        epochs = max(1, int(EPOCHS * found["default"][1] / found["trained"][1]))
        arm("equal time", both, *default, "--train", epochs)
    arm("shipped", result, "infer", file, "-o", folder / "out")
    return found


NETWORKS = ("trained", "trained, refined", "equal time", "equal time, refined", "shipped")


def table(figures):
    """A row for each size and dose: medians over overlaps and samples."""
    print("| N | dose | scans | default | best of three chains | trained 40 epochs | refined | equal time | refined "
          "| shipped | network better |\n|" + "---|" * 11)
    for size, dose in itertools.product(SIZES, DOSES):
        rows = [figures[name] for name, scan in cells(size=size)
                if scan["dose"] == dose and "default" in figures.get(name, {})]
        if not rows:
            continue

        def middle(pick):
            values = [pick(row) for row in rows if pick(row) is not None]
            return statistics.median(values) if values else float("nan")

        ratios = [middle(lambda row: row[arm][0] / row["default"][0] if arm in row else None)
                  for arm in NETWORKS]
        chains = middle(lambda row: min(row[chain][0] for chain in CHAINS if chain in row) / row["default"][0])
        seconds = middle(lambda row: row["default"][1])
        slower = middle(lambda row: row["trained"][1] / row["default"][1] if "trained" in row else None)
        pays = sum(best_network(row) < 0.98 for row in rows)
        print(f"| {size} | {dose:g} | {len(rows)} | {middle(lambda row: row['default'][0]):.3f} in {seconds:.1f} s "
              f"| {chains:.2f} | {ratios[0]:.2f} in {slower:.1f} times its time | "
              + " | ".join(f"{ratio:.2f}" for ratio in ratios[1:]) + f" | {pays} |")


def best_network(row):
    """The least error of all images that a network made or began, over the default's."""
    return min(row[arm][0] for arm in NETWORKS if arm in row) / row["default"][0]


def colour(ratio):
    """Blue where the network has the smaller error, red where the default has."""
    share = max(-1.0, min(1.0, (ratio - 1) / 0.5))
    fade = round(255 * (1 - abs(share)))
    return f"rgb({fade},{fade},255)" if share < 0 else f"rgb(255,{fade},{fade})"


def draw(figures, file):
    """A panel for each size and sample: dose down, overlap to the right."""
    side, gap, left, top = 44, 26, 70, 60
    wide, high = len(OVERLAPS) * side + gap, len(DOSES) * side + 2 * gap
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + 3 * wide}" height="{top + 3 * high}" '
            'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
            f'<text x="{left}" y="20" font-size="14">Least error of any network over that of the default: '
            'below 1 (blue) a network pays</text>']
    for name, scan in cells():
        panel = SIZES.index(scan["N"]), OBJECTS.index(scan["object"])
        x0, y0 = left + panel[1] * wide, top + panel[0] * high
        column, line = OVERLAPS.index(scan["overlap"]), DOSES.index(scan["dose"])
        x, y = x0 + column * side, y0 + line * side
        row = figures.get(name, {})
        ratio = best_network(row) if "default" in row and any(arm in row for arm in NETWORKS) else None
        fill = colour(ratio) if ratio is not None else "#eee"
        text.append(f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="{fill}" stroke="white"/>')
        if ratio is not None:
            text.append(f'<text x="{x + side / 2}" y="{y + side / 2 + 4}" text-anchor="middle">{ratio:.2f}</text>')
        if line == 0:
            text.append(f'<text x="{x + side / 2}" y="{y0 + len(DOSES) * side + 14}" text-anchor="middle">'
                        f'{100 * scan["overlap"]:.0f} %</text>')
        if column == 0 and panel[1] == 0:
            text.append(f'<text x="{x0 - 6}" y="{y + side / 2 + 4}" text-anchor="end">{scan["dose"]:.0e}</text>')
        if line == 0 and column == 0:
            text.append(f'<text x="{x0}" y="{y0 - 6}" font-weight="bold">{scan["object"]}, N = {scan["N"]}</text>')
    text.append(f'<text x="{left}" y="{top + 3 * high - 8}">down: photons per pattern; to the right: overlap; '
                'grey: not measured</text></svg>')
    pathlib.Path(file).write_text("\n".join(text) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptyche", nargs="?", default=str(ROOT / "build" / "release" / "ptyche"))
    parser.add_argument("--share", type=int, choices=(0, 1, 2))
    parser.add_argument("--size", type=int, choices=SIZES)
    parser.add_argument("--draw", metavar="FILE.svg")
    options = parser.parse_args()
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    if options.draw:
        draw(figures, options.draw)
        return table(figures)
    for name, scan in cells(options.share, options.size):
        if name in figures:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = measured(options.ptyche, scan, pathlib.Path(folder))
        figures = (json.loads(FIGURES.read_text()) if FIGURES.exists() else {}) | {name: found}
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(figures.items()))
        FIGURES.write_text("{\n" + lines + "\n}\n")
        print(name, found, flush=True)


if __name__ == "__main__":
    main()
