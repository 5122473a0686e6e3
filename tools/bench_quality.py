#!/usr/bin/env python3
"""Quality of the whole program, every line beside its bar.

  bench_quality.py [--only NAME] [--seeds N] [--no-seconds] [--work FOLDER] [PTYCHE]

Runs `ptyche` on the real Siemens star (where the shared material is: $PTYCHE_SHARED, else ../shared)
and on simulated scans.
"""
import filecmp
import json

from bench_lines import SPLIT, STAR, main, score


def star_64(bench):
    for seed in range(1, bench.options.seeds + 1):
        _, s = bench.reconstruct(STAR / "siemens-star-64-counts.npz", "star-64", seed,
                                 "--mask", "none", "--hold-out-file", SPLIT)
        bench.line(f"star 64, seed {seed}: held-out R", s["held_out.r_factor"], 0.086)
        bench.line(f"star 64, seed {seed}: held-out deviance per photon",
                   s["held_out.deviance_per_photon"], 0.041)
        bench.seconds(f"star 64, seed {seed}: time, first probe included", s, 240)
    bench.line("star 64: R of the trivial predictor", s["held_out.trivial_r_factor"])
    bench.line("star 64: R of photon noise alone", s["held_out.r_factor_floor"])


def star_64_unseen(bench):
    for seed in range(1, bench.options.seeds + 1):
        _, s = bench.reconstruct(STAR / "siemens-star-64-counts.npz", "star-64-unseen", seed,
                                 "--mask", "none", "--unseen-half", "lower")
        bench.line(f"star 64, seed {seed}: R of the half never seen", s["unseen_half.r_factor"], 0.105)
    bench.line("star 64, unseen half: R of the trivial predictor",
               s["unseen_half.trivial_r_factor"])


def star_128(bench):
    for seed in range(1, bench.options.seeds + 1):
        _, s = bench.reconstruct(STAR / "siemens-star-counts.npz", "star-128", seed,
                                 "--mask", "none", "--hold-out-file", SPLIT)
        bench.line(f"star 128, seed {seed}: held-out deviance per photon",
                   s["held_out.deviance_per_photon"], 0.055)
        bench.line(f"star 128, seed {seed}: held-out R", s["held_out.r_factor"])
        bench.seconds(f"star 128, seed {seed}: time, first probe included", s, 300)
    bench.line("star 128: deviance of the trivial predictor",
               s["held_out.trivial_deviance_per_photon"])
    bench.line("star 128: R of photon noise alone", s["held_out.r_factor_floor"])


def simulated(bench):
    for seed in range(1, min(bench.options.seeds, 3) + 1):
        scan = bench.options.work / f"simulated-{seed}.cxi"
        bench.ptyche("simulate", "-o", scan, "--seed", seed)
        _, s = bench.reconstruct(scan, "simulated", seed, "--probe-start", "guess", "--epochs", 80)
        bench.line(f"simulated, seed {seed}: error over the truth's contrast",
                   s["truth.nrmse_contrast"], 0.15)
    bench.line("simulated: of a flat object", s["truth.flat_nrmse_contrast"])
    bench.line("simulated: of the truth blurred by 1 px", s["truth.blurred_nrmse_contrast"])
    if bench.options.seeds == 1:
        return  # the rest has no bar
    scan = bench.options.work / "simulated-wrong.cxi"
    bench.ptyche("simulate", "-o", scan, "--seed", 1, "--probe-defocus-error", 0.2)
    _, s = bench.reconstruct(scan, "simulated-wrong", 1)
    bench.line("simulated, given defocus wrong by a fifth", s["truth.nrmse_contrast"])


def repeatable(bench):
    """The same seed gives the same file on one thread count, also after a stop, and about the same R
    on another."""
    star = STAR / "siemens-star-64-counts.npz"
    words = ["--mask", "none", "--hold-out-file", SPLIT, "--epochs", 4, "--precision", "float32"]
    r_factor = {}
    for threads in (1, 2):
        folders = [bench.reconstruct(star, f"repeat-{threads}-{run}", 1, *words, "--threads", threads)
                   for run in (1, 2)]
        same = filecmp.cmp(folders[0][0] / "model.ptyche", folders[1][0] / "model.ptyche", False)
        bench.line(f"same seed twice on {threads} thread(s): model files that differ", not same, 0)
        r_factor[threads] = folders[0][1]["held_out.r_factor"]
        bench.line(f"held-out R on {threads} thread(s), 4 epochs", r_factor[threads])
    # The spread of the five seeds of star_64: another rounding must not matter more than a seed.
    bench.line("held-out R on 1 and 2 threads: their difference", abs(r_factor[1] - r_factor[2]),
               0.0009)
    stopped = bench.options.work / "repeat-stopped"
    train = ["reconstruct", star, "-o", stopped, "--train", "--seed", 1, "--refine", "none", *words,
             "--threads", 1]
    bench.interrupt("train [", *train)
    bench.ptyche(*train, "--resume")
    same = filecmp.cmp(stopped / "model.ptyche",
                       bench.options.work / "repeat-1-1-1" / "model.ptyche", False)
    bench.line("Ctrl-C and --resume: model files that differ from an uninterrupted run", not same, 0)


def any_batch(bench):
    """Inference gives the same image at any batch size."""
    try:
        import h5py
        import numpy
    except ImportError:
        print("any_batch: python3-h5py is not installed, skipped")
        return
    scan = bench.options.work / "batch.cxi"
    bench.ptyche("simulate", "-o", scan)
    folder, _ = bench.reconstruct(scan, "batch", 1, "--epochs", 2, "--precision", "float32")
    images = []
    for batch in (1, 7, 16, 100, 1000):
        out = bench.options.work / f"batch-of-{batch}"
        bench.ptyche("infer", scan, "-m", folder / "model.ptyche", "-o", out, "--batch", batch,
                     "--precision", "float32")
        with h5py.File(out / "reconstruction.h5") as product:
            images.append(product["object"][()])
    worst = max(float(numpy.abs(image - images[0]).max()) for image in images)
    bench.line("infer with batch 1, 7, 16, 100, 1000: largest difference", worst, 1e-5)


def independent_scorer(bench):
    """Our own numbers against those of the shared scorer."""
    star = STAR / "siemens-star-64-counts.npz"
    folder, s = bench.reconstruct(star, "scorer", 1, "--mask", "none", "--hold-out-file", SPLIT,
                                  "--epochs", 4)
    other = score("data", folder / "reconstruction.h5", star, "--heldout", SPLIT)
    if other is None:
        return
    other = other["heldout"]
    for ours, theirs in (("r_factor", "R"), ("deviance_per_photon", "deviance_per_photon")):
        mismatch = abs(s[f"held_out.{ours}"] / other[theirs] - 1)
        bench.line(f"independent scorer: relative difference of {ours}", mismatch, 0.01)


def compare(bench, image, reference, name):
    """Numbers of `ptyche compare` and, for the scorer, the window that it chose."""
    folder = bench.options.work / f"compare-{name}"
    bench.ptyche("compare", image, reference, "-o", folder)
    ours = json.loads((folder / "compare.json").read_text())
    return ours, [int(ours[f"window_{edge}"]) for edge in
                  ("row_begin", "row_end", "col_begin", "col_end")]


def compare_scorer(bench):
    """`compare` and the half sets against the shared scorer, on a truth and on two halves."""
    try:
        import h5py
        import numpy
    except ImportError:
        print("compare_scorer: python3-h5py is not installed, skipped")
        return
    work = bench.options.work
    scan, truth = work / "compare.cxi", work / "compare-truth.npz"
    bench.ptyche("simulate", "-o", scan)
    with h5py.File(scan) as file:
        numpy.savez(truth, truth=file["ptyche/truth"][()])
    folder, s = bench.reconstruct(scan, "compare", 1, "--epochs", 4, "--half-sets")
    image = folder / "reconstruction.h5"
    ours, window = compare(bench, image, scan, "truth")
    other = score("image", image, "--truth", truth, "--window", *window)
    if other is None:
        return
    for mine, theirs in (("nrmse", "nrmse"), ("nrmse_contrast", "nrmse_contrast"),
                         ("amplitude_rmse", "amp_rmse"), ("phase_rmse_rad", "phase_rmse_rad"),
                         ("ssim_amplitude", "ssim_amp"), ("ssim_phase", "ssim_phase"),
                         ("frc_half_cycles_per_px", "frc_0.5_cycles_per_px"),
                         ("frc_half_bit_cycles_per_px", "frc_halfbit_cycles_per_px")):
        bench.line(f"compare with the truth: relative difference of {mine}",
                   abs(ours[mine] / other[theirs] - 1), 0.01)
    bench.line("scores.json says what compare says: nrmse_contrast",
               abs(s["truth.nrmse_contrast"] / ours["nrmse_contrast"] - 1), 1e-6)
    halves = folder / "half_odd.h5", folder / "half_even.h5"
    _, window = compare(bench, *halves, "halves")
    other = score("frc", halves[1], halves[0], "--window", *window)
    for mine, theirs in (("half_bit", "halfbit"), ("half", "0.5"), ("one_seventh", "1/7")):
        bench.line(f"half sets: relative difference of the {mine} crossing",
                   abs(s[f"half_sets.frc_{mine}_cycles_per_px"] /
                       other[f"frc_{theirs}_cycles_per_px"] - 1), 0.01)


CHECKS = {"star_64": star_64, "star_64_unseen": star_64_unseen, "star_128": star_128,
          "simulated": simulated, "repeatable": repeatable, "any_batch": any_batch,
          "independent_scorer": independent_scorer, "compare_scorer": compare_scorer}
NEED_SHARED = {"star_64", "star_64_unseen", "star_128", "repeatable", "independent_scorer",
               "compare_scorer"}


if __name__ == "__main__":
    main(__doc__, CHECKS, NEED_SHARED, seeds=5)
