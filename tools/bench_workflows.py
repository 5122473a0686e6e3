#!/usr/bin/env python3
"""PtychoPINN's workflows, every line beside its bar.

  bench_workflows.py [--only NAME] [--seeds N] [--no-seconds] [--work FOLDER] [PTYCHE]
"""
import json

from bench_lines import main


def grid_lines(bench, folder, *words):
    bench.ptyche("grid-lines", "--output-dir", folder, *words)
    return json.loads((folder / "metrics.json").read_text())


def lines_gs2(bench):
    for seed in range(1, bench.options.seeds + 1):
        folder = bench.options.work / f"grid-lines-{seed}"
        scores = grid_lines(bench, folder, "--N", 64, "--gridsize", 2, "--nimgs-train", 2,
                            "--nimgs-test", 2, "--nepochs", 2, "--models", "ptyche", "--seed", seed)
        ssim = scores["ptyche"]["ssim"]
        bench.line(f"grid-lines, seed {seed}: amplitude SSIM", ssim[0], least=0.74)
        bench.line(f"grid-lines, seed {seed}: phase SSIM", ssim[1], least=0.86)
        bench.line(f"grid-lines, seed {seed}: flat object, amplitude SSIM",
                   scores["ptyche"]["flat"]["ssim"][0])


def lines_gs1(bench):
    folder = bench.options.work / "grid-lines-phase"
    scores = grid_lines(bench, folder, "--N", 64, "--gridsize", 1, "--set-phi", "--nepochs", 6,
                        "--nll-weight", 1, "--mae-weight", 0, "--models", "ptyche")
    row = scores["ptyche"]
    bench.line("gridsize 1, set-phi, Poisson: amplitude MAE", row["mae"][0], 0.075)
    bench.line("gridsize 1, set-phi, Poisson: phase MAE", row["mae"][1], 0.062)
    bench.line("gridsize 1, set-phi, Poisson: FRC50", row["frc50"][0], least=74)
    bench.line("gridsize 1, set-phi, Poisson: phase SSIM over a flat phase's",
               row["ssim"][1] - row["flat"]["ssim"][1], least=0.1)


def models(bench):
    folder = bench.options.work / "grid-lines-models"
    scores = grid_lines(bench, folder, "--N", 64, "--gridsize", 1, "--size", 200, "--nimgs-train", 1,
                        "--nimgs-test", 1, "--nepochs", 4)
    for label in ("ptyche", "pinn", "baseline"):
        for kind, name in enumerate(("amplitude", "phase")):
            bench.line(f"three models: {label}, {name} SSIM", scores[label]["ssim"][kind])
        bench.line(f"three models: {label}, error over contrast", scores[label]["nrmse_contrast"])
    bench.line("three models: baseline, amplitude SSIM", scores["baseline"]["ssim"][0],
               least=0.17)


def dose(bench):
    folder = bench.options.work / "dose"
    bench.ptyche("dose-response", "--output-dir", folder, "--nepochs", 10)
    scores = json.loads((folder / "metrics.json").read_text())
    for label, row in scores.items():
        bench.line(f"dose-response: {label}, error over contrast", row["nrmse_contrast"])
    bench.line("dose-response: low dose, Poisson's error over MAE's",
               scores["low_nll"]["nrmse_contrast"] / scores["low_mae"]["nrmse_contrast"], 1)


CHECKS = {"lines_gs2": lines_gs2, "lines_gs1": lines_gs1, "models": models, "dose": dose}

if __name__ == "__main__":
    main(__doc__, CHECKS, need_shared=[], seeds=5)
