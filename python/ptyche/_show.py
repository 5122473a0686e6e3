"""Pictures and tables for notebooks."""
from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

SHOWN = ("verdict", "verdict.expected_error", "held_out.deviance_per_photon",
         "held_out.deviance_per_photon_floor", "held_out.mean_pattern_deviance_per_photon",
         "held_out.r_factor", "truth.nrmse_contrast", "seconds")


def table(scores: Mapping[str, Any]) -> str:
    """The scores that a person asks for first; all where there are none of these."""
    chosen = {name: scores[name] for name in SHOWN if name in scores}
    if scores.get("held_out.r_factor_tells") == 0:
        chosen.pop("held_out.r_factor", None)
    rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(_cell(value))}</td></tr>"
                   for name, value in (chosen or dict(scores)).items())
    return f"<table>{rows}</table>"


def corrections(remarks: Sequence[Mapping[str, str]]) -> str:
    """A list of what was corrected; nothing where there is none."""
    lines = "".join("<li>" + html.escape(f"corrected: {each.get('cause', '')}: {each['text']} "
                                         f"({each.get('before', '')} \u2192 {each.get('after', '')})")
                    + "</li>" for each in remarks)
    return f"<ul>{lines}</ul>" if lines else ""


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("plot() draws with Matplotlib, which is not installed; pictures are also in "
                          "the object's folder") from None
    return pyplot


def image_figure(image: Any) -> Any:
    pyplot = _pyplot()
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(12, 4))
    masked: Any = np.ma
    lit = masked.array(image.object, mask=image.coverage <= 0)
    for axes, what, title in ((left, np.angle(lit), "phase, rad"), (middle, np.abs(lit), "amplitude"),
                              (right, np.abs(image.probe[0]), "probe, sqrt(photons)")):
        figure.colorbar(axes.imshow(what, cmap="viridis"), ax=axes, shrink=0.7)
        axes.set_title(title)
    return figure


def rings_figure(rings: Mapping[str, Any]) -> Any:
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(6, 4))
    for name in ("correlation", "half_bit", "one_bit"):
        axes.plot(rings["cycles_per_px"], rings[name], label=name.replace("_", " "))
    axes.set(xlabel="cycles per pixel", ylabel="Fourier ring correlation", ylim=(-0.1, 1.05))
    axes.legend()
    return figure
