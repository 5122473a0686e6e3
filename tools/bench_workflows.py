#!/usr/bin/env python3
"""PtychoPINN's workflows, every line beside its bar.

  bench_workflows.py [--only NAME] [--seeds N] [--no-seconds] [--work FOLDER] [PTYCHE]
"""
import json
import time

from bench_lines import main


def grid_lines(bench, folder, *words):
    bench.ptyche("grid-lines", "--output-dir", folder, *words)
    return json.loads((folder / "metrics.json").read_text())


def lines_gs2(bench):
    for seed in range(1, bench.options.seeds + 1):
        folder = bench.options.work / f"grid-lines-{seed}"
        row = grid_lines(bench, folder, "--N", 64, "--gridsize", 2, "--nimgs-train", 2,
                         "--nimgs-test", 2, "--epochs", 2, "--models", "ptyche", "--seed",
                         seed)["ptyche"]
        for kind, (name, bar) in enumerate((("amplitude", 0.74), ("phase", 0.86))):
            bench.line(f"grid-lines, seed {seed}: {name} SSIM", row["ssim"][kind], least=bar)
            bench.line(f"grid-lines, seed {seed}: flat object, {name} SSIM",
                       row["flat"]["ssim"][kind])


def lines_gs1(bench):
    """PtychoPINN's ordinary run of 60 epochs on a large GPU; its best: .0347, .0144, 165."""
    folder = bench.options.work / "grid-lines-phase"
    start = time.monotonic()
    scores = grid_lines(bench, folder, "--N", 64, "--gridsize", 1, "--set-phi", "--epochs", 6,
                        "--nll-weight", 1, "--models", "ptyche")
    row = scores["ptyche"]
    bench.line("gridsize 1, set-phi, Poisson: time, all of it", time.monotonic() - start,
               None if bench.options.no_seconds else 900, "s")
    bench.line("gridsize 1, set-phi, Poisson: amplitude MAE", row["mae"][0], 0.075)
    bench.line("gridsize 1, set-phi, Poisson: phase MAE", row["mae"][1], 0.062)
    bench.line("gridsize 1, set-phi, Poisson: FRC50", row["frc50"][0], least=74)
    bench.line("gridsize 1, set-phi, Poisson: phase SSIM over a flat phase's",
               row["ssim"][1] - row["flat"]["ssim"][1], least=0.1)


def models(bench):
    folder = bench.options.work / "grid-lines-models"
    scores = grid_lines(bench, folder, "--N", 64, "--gridsize", 1, "--object-size", 200, "--nimgs-train", 1,
                        "--nimgs-test", 1, "--epochs", 2)
    for label in ("ptyche", "pinn", "baseline"):
        for kind, name in enumerate(("amplitude", "phase")):
            bench.line(f"three models: {label}, {name} SSIM", scores[label]["ssim"][kind])
        bench.line(f"three models: {label}, error over contrast", scores[label]["nrmse_contrast"])
    bench.line("three models: baseline, amplitude SSIM", scores["baseline"]["ssim"][0],
               least=0.17)
    # At as many epochs, of which one of ours takes an eighth of the time (`speed`).
    bench.line("three models: error, ours over ptychopinn",
               scores["ptyche"]["nrmse_contrast"] / scores["pinn"]["nrmse_contrast"], 1)


def dose(bench):
    """All four arms finish; where photons are few, their likelihood beats the absolute error."""
    kinds = {"amplitude": lambda row: (row["mse"][0] / row["flat"]["mse"][0])**0.5,
             "complex image": lambda row: row["nrmse_contrast"]}
    sums = {}
    for seed in range(1, min(bench.options.seeds, 3) + 1):
        folder = bench.options.work / f"dose-{seed}"
        bench.ptyche("dose-response", "--output-dir", folder, "--seed", seed, "--n-train", 300,
                     "--epochs", 6, "--groups-per-batch", 4)
        for label, row in json.loads((folder / "metrics.json").read_text()).items():
            for kind, error in kinds.items():
                sums.setdefault((label, kind), []).append(error(row))
    for (label, kind), errors in sums.items():
        bench.line(f"dose-response: {label}, error of the {kind} over a flat one's, mean of "
                   f"{len(errors)}", sum(errors) / len(errors))
    for kind in kinds:
        bench.line(f"dose-response: low dose, {kind}: Poisson's error over MAE's",
                   sum(sums["low_nll", kind]) / sum(sums["low_mae", kind]), 1)


def engines(bench):
    """The same study by both engines: what differs is rounding, which training makes larger."""
    words = ["--N", 64, "--gridsize", 2, "--object-size", 160, "--epochs", 2, "--models", "ptyche",
             "--set-phi"]
    rows = {engine: grid_lines(bench, bench.options.work / f"engine-{engine}", *words, "--engine",
                               engine)["ptyche"] for engine in ("fused", "reference")}
    for key, bar in (("ssim", 0.02), ("mae", 0.01)):
        for kind, name in enumerate(("amplitude", "phase")):
            bench.line(f"engines: difference of {name} {key.upper()}",
                       abs(rows["fused"][key][kind] - rows["reference"][key][kind]), bar)
    for kind, (name, bar) in enumerate((("amplitude", 0.74), ("phase", 0.86))):
        bench.line(f"engines: {name} SSIM, fused", rows["fused"]["ssim"][kind], least=bar)


def speed(bench):
    file = bench.options.work / "networks.json"
    print(bench.ptyche("bench", "networks", "--json", file), end="")
    rows = {(row["network"], row["precision"]): row for row in json.loads(file.read_text())}
    bars = not bench.options.no_seconds
    for precision in sorted({precision for _, precision in rows}):
        ours, theirs = rows["unet", precision], rows["ptychopinn", precision]
        for use in ("train", "infer"):
            key = f"{use}_patterns_per_second"
            bench.line(f"speed, {precision}: {use}, ours over ptychopinn",
                       ours[key] / theirs[key], least=2 if bars else None)
    theirs = rows["ptychopinn", "float32"]
    for use in ("train", "infer"):
        bench.line(f"speed: {use} ptychopinn, share of the peak", theirs[f"{use}_share_of_peak"],
                   least=0.6 if bars else None)
    fast = rows.get(("ptychopinn", "bfloat16"))
    if fast is None:
        print("speed: this processor has no fast bfloat16, its lines are skipped")
        return
    bench.line("speed: bfloat16 over float32, ptychopinn training",
               fast["train_patterns_per_second"] / theirs["train_patterns_per_second"],
               least=1.7 if bars else None)
    # Eight times what PtychoPINN itself infers, 110 to 122 patterns/s.
    bench.line("speed: ours at inference in bfloat16, patterns/s",
               rows["unet", "bfloat16"]["infer_patterns_per_second"],
               least=976 if bars else None)


CHECKS = {"lines_gs2": lines_gs2, "lines_gs1": lines_gs1, "models": models, "dose": dose,
          "engines": engines, "speed": speed}

if __name__ == "__main__":
    main(__doc__, CHECKS, need_shared=[], seeds=5)
