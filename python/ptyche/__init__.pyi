# Printed by `python3 -m ptyche._stubs`; not edited by hand.
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, SupportsFloat, SupportsIndex

from ._job import Event as Event
from ._job import Job as Job
from ._program import description as description
from ._program import program as program
from ._values import Check as Check
from ._values import Comparison as Comparison
from ._values import Model as Model
from ._values import Output as Output
from ._values import Reconstruction as Reconstruction
from ._values import Scan as Scan
from ._verbs import load as load
from ._verbs import names as names
from ._verbs import read as read
from ._verbs import start as start
from .errors import Crashed as Crashed
from .errors import Diverged as Diverged
from .errors import Error as Error
from .errors import Interrupted as Interrupted
from .errors import InvalidInput as InvalidInput
from .errors import PtycheWarning as PtycheWarning

__version__: str

class _Array(Protocol):
    def __array__(self) -> Any: ...

class _Tensor(Protocol):
    def __dlpack__(self) -> Any: ...

_Path = str | os.PathLike[str]
_File = _Path | Scan | Reconstruction | Model | _Array | _Tensor
_Files = _File | Sequence[_File]
_OnProgress = Callable[[Event], object] | None

class _Reconstruct(Protocol):
    """From a scan to its image, scored and drawn.

    output_dir: folder for all results (required)
    overwrite: new start where the output folder holds results, which are moved to FOLDER.old (default False)
    probe: first probe: auto (the file's, or one found from the patterns where the file has none or that one explains more), library (auto, kept ones first: see probes), scan (the file's), zone-plate, electron, disk, gaussian (by their own options), or the path of a result or of an .npy file (default 'auto')
    lens_diameter: zone-plate: its diameter (0.., m, default 0.0)
    outermost_zone: zone-plate: width of its outermost zone, instead of --focal-length (0.., m, default 0.0)
    focal_length: zone-plate: its focal length, for any lens behind a round aperture (0.., m, default 0.0)
    central_stop: zone-plate: diameter of its central stop (0.., m, default 0.0)
    cs: electron: spherical aberration (m, default 0.0)
    defocus: zone-plate, electron: from the focus to the sample; > 0: the sample lies behind the focus (overfocus) (m, default 0.0)
    beam_diameter: disk: its diameter; gaussian: its width at half the intensity (0.., m, default 0.0)
    zernike: zone-plate, electron: aberrations, root mean square over the aperture, Noll index 4, 5, 6, ... (rad, default [])
    keep_probe: name under which the image's probe is kept for scans of the same instrument: see probes, and --probe library (default '')
    format: format of the file: a name or a recipe's file (.toml); empty = by its content (docs/formats.md) (default '')
    patterns: place of the patterns, instead of a format: [FILE:]NAME, a path of an HDF5 file or an array's name (default '')
    positions: place of the positions: [FILE:]X,[FILE:]Y in metres; *1e-6 behind a name brings micrometres to them, *px says object pixels (default '')
    scan_shape: rows x columns of a raster without written positions, such as 16x32 (default '')
    scan_step: step from one point of that raster to the next (0.., m, default 0.0)
    flyback: patterns at the end of each row, recorded while the beam flew back, for which there are no positions: left out. A raster's shape may count them or not (0..1e+06, default 0)
    scan_rotation: angle in degrees from the detector's columns to the raster's, towards the rows; of written positions, too; auto: found from the patterns (what all agree on of the phase, where light is deflected), for a transposed detector too (default '0')
    voltage: electrons: acceleration voltage, instead of an energy (0.., V, default 0.0)
    semi_angle: electrons: convergence semi-angle; with the bright disk's radius it gives the detector's pixel where nothing else does (0..0.5, rad, default 0.0)
    orientation: flips of the patterns, a sum: 4 = transposed, 2 = rows reversed, 1 = columns reversed, as PtyPy counts; -1 = as the file says (-1..7, default -1)
    domain: meaning of the file's patterns, counts or amplitudes, where it does not say ('auto' | 'counts' | 'amplitude', default 'auto')
    mask: file, none (every pixel counts), or [FILE:]NAME of (rows, cols): true = counted; of whole numbers the light tells which (default 'file')
    mask_counts: values of the mask that count, whatever the light says: zero (false; codes of bad pixels) or nonzero (true) ('auto' | 'zero' | 'nonzero', default 'auto')
    scan_index: number of the scan, where the file's array scan_index tells several apart; -1 = there is one (-1..1e+09, default -1)
    frames: patterns that are used: FIRST:END[:STEP] from 0 on, END not among them, or several ranges (0:70,71:144); of other positions than patterns those that have one (default '')
    exposures: patterns that were taken at each position, one after the other: their sums are used (1..1e+06, default 1)
    crop: side of the square of detector pixels around the zero frequency that is used, padded where the detector ends before; 0 = all (0..1e+06, px, default 0)
    bin: sums of B x B detector pixels, after --crop; a sum with a masked pixel is masked (1..64, default 1)
    center: row,col of the zero frequency, where it is not at (N/2, N/2) (px, default [])
    energy: photon energy; 0 = from the file (0.., eV, default 0.0)
    distance: sample to detector; 0 = from the file (0.., m, default 0.0)
    detector_pixel: detector pixel pitch; 0 = from the file (0.., m, default 0.0)
    near_field: near-field geometry: the sample's shadow at the detector, not its far field (by solvers only) (default False)
    source_distance: near field: focus to sample; 0 = from the file, or parallel light (0.., m, default 0.0)
    flip_x: mirrored columns of the positions (default False)
    flip_y: mirrored rows of the positions (default False)
    swap_xy: exchanged rows and columns of the positions (default False)
    photons: photons per pattern through an empty sample; 0 = from the mean counts (0.., photons, default 0.0)
    mean_counts: mean counts per pattern for amplitudes without a scale; 0 = by their noise, with a warning (0.., photons, default 0.0)
    hold_out: share of patterns kept out of everything, to score the image on; auto = a twentieth, at least 8, but none where there are fewer than 80; 0 = none (0..0.5, default 'auto')
    hold_out_file: JSON file with heldout_indices, instead of --hold-out (default '')
    unseen_half: half of the scan that is kept from training, then inferred in single passes of the network ('none' | 'upper' | 'lower', default 'none')
    no_check: no examination of the scan: nothing is corrected or refused (see info --check) (default False)
    intensities: fitted intensity of the beam in each pattern: on, off, or auto: where the image tells that the beam changes ('auto' | 'on' | 'off', default 'auto')
    half_sets: two more images, of the odd and of the even patterns, and their correlation; takes twice the time (default False)
    no_verdict: no verdict (good, doubtful, failed: exit code 4); it takes two more solves of a part of the patterns (default False)
    own_probes: each scan's own probe as its first, not that of the scan before (default False)
    train: epochs of a network that is trained on the scan first (the bare option: auto), with the options from group-size on; none = solvers alone (default 'none')
    group_size: number of neighbouring patterns that one merged object must predict (1..64, patterns, default 32)
    merged: number of patterns of a group that are merged, drawn anew each time; 0 = half (0..64, patterns, default 0)
    epochs: passes over the patterns (1..1e+06, default 40)
    groups_per_batch: groups in one step (1..100000, groups, default 1)
    learning_rate: learning rate of the network, at its highest (1e-09..1, default 0.0015)
    probe_learning_rate: learning rate of the probe, in shares of its peak (0..1, default 0.0001)
    fixed_probe: no change of the probe that training starts from (default False)
    probe_modes: incoherent probe modes that are trained (1..32, default 1)
    background: trained background per detector pixel (--background=false: none) (default True)
    probe_start: solver: rPIE on the used patterns; guess: the file's probe ('solver' | 'guess', default 'solver')
    probe_start_epochs: passes of the solver of --probe-start (1..10000, default 30)
    network: unet: ours; ptychopinn: PtychoPINN's; supervised: PtychoPINN's baseline, which is shown the truth ('unet' | 'ptychopinn' | 'supervised', default 'unet')
    n_filters_scale: width of PtychoPINN's networks: factor on the number of features of each layer (1..64, default 2)
    amp_activation: activation function that gives the amplitudes of PtychoPINN's network ('sigmoid' | 'swish' | 'softplus' | 'relu', default 'sigmoid')
    object_big: a patch of PtychoPINN's network for each pattern of a group, not one for all (default True)
    probe_big: border of low resolution, not of zeros, around the patches of PtychoPINN's network (default True)
    start: model.ptyche, or its folder, whose network is trained further; none = a new one (default '')
    resume: continuation from the folder's checkpoint (default False)
    seed: seed of every random choice; the same seed gives the same result (default 1)
    refine_positions: none, jitter (each pattern's own error; what the bare option means) or affine (scale, rotation, shear too) ('none' | 'jitter' | 'affine', default 'none')
    position_step: largest move of a position in two epochs, about (0..10, px, default 0.1)
    tv_weight: weight of the patches' total variation in the loss, which makes them smooth (0..1e+06, default 0.0)
    realspace_mae_weight: weight in the loss of the patches' distance from the true object, which only a simulated scan has (0..1e+06, default 0.0)
    device: processor for data and arithmetic; cuda needs ./run build cuda and an NVIDIA GPU, auto is cpu ('auto' | 'cpu' | 'cuda', default 'auto')
    engine: implementation of the physics (ptyche info --engines) ('fused' | 'reference', default 'fused')
    precision: number type of the network's arithmetic; auto = bfloat16 where the processor is faster with it; images by the network unet then in bytes, too (infer --precision int8) ('auto' | 'float32' | 'bfloat16', default 'auto')
    batch: patterns at a time at inference, 0 = 64, on a GPU up to 2048; no influence on the image (0..1e+06, patterns, default 0)
    refine: passes of a solver that starts from the network's image (ml, 3 probe modes, positions, background); none or auto (default 'auto')
    threads: threads; 0 = one per core (0..4096, default 0)
    memory: most memory to use, like 8G; auto = 80 % of what is free. Arrays that do not fit lie in nameless files in --scratch (default 'auto')
    scratch: folder for arrays that do not fit into --memory; default $TMPDIR, else /var/tmp (default '')
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        *scans: _Files,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        probe: str | _File | None = ...,
        lens_diameter: SupportsFloat | str | None = ...,
        outermost_zone: SupportsFloat | str | None = ...,
        focal_length: SupportsFloat | str | None = ...,
        central_stop: SupportsFloat | str | None = ...,
        cs: SupportsFloat | str | None = ...,
        defocus: SupportsFloat | str | None = ...,
        beam_diameter: SupportsFloat | str | None = ...,
        zernike: Sequence[float] | str | None = ...,
        keep_probe: str | _File | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        no_check: bool | None = ...,
        intensities: Literal['auto', 'on', 'off'] | None = ...,
        half_sets: bool | None = ...,
        no_verdict: bool | None = ...,
        own_probes: bool | None = ...,
        train: str | _File | bool | None = ...,
        group_size: SupportsIndex | None = ...,
        merged: SupportsIndex | None = ...,
        epochs: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        learning_rate: SupportsFloat | str | None = ...,
        probe_learning_rate: SupportsFloat | str | None = ...,
        fixed_probe: bool | None = ...,
        probe_modes: SupportsIndex | None = ...,
        background: bool | None = ...,
        probe_start: Literal['solver', 'guess'] | None = ...,
        probe_start_epochs: SupportsIndex | None = ...,
        network: Literal['unet', 'ptychopinn', 'supervised'] | None = ...,
        n_filters_scale: SupportsIndex | None = ...,
        amp_activation: Literal['sigmoid', 'swish', 'softplus', 'relu'] | None = ...,
        object_big: bool | None = ...,
        probe_big: bool | None = ...,
        start: _File | None = ...,
        resume: bool | None = ...,
        seed: SupportsIndex | None = ...,
        refine_positions: Literal['none', 'jitter', 'affine'] | bool | None = ...,
        position_step: SupportsFloat | str | None = ...,
        tv_weight: SupportsFloat | str | None = ...,
        realspace_mae_weight: SupportsFloat | str | None = ...,
        device: Literal['auto', 'cpu', 'cuda'] | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        batch: SupportsIndex | None = ...,
        refine: str | _File | None = ...,
        threads: SupportsIndex | None = ...,
        memory: str | _File | None = ...,
        scratch: _File | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Reconstruction: ...
    def start(
        self,
        *scans: _Files,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        probe: str | _File | None = ...,
        lens_diameter: SupportsFloat | str | None = ...,
        outermost_zone: SupportsFloat | str | None = ...,
        focal_length: SupportsFloat | str | None = ...,
        central_stop: SupportsFloat | str | None = ...,
        cs: SupportsFloat | str | None = ...,
        defocus: SupportsFloat | str | None = ...,
        beam_diameter: SupportsFloat | str | None = ...,
        zernike: Sequence[float] | str | None = ...,
        keep_probe: str | _File | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        no_check: bool | None = ...,
        intensities: Literal['auto', 'on', 'off'] | None = ...,
        half_sets: bool | None = ...,
        no_verdict: bool | None = ...,
        own_probes: bool | None = ...,
        train: str | _File | bool | None = ...,
        group_size: SupportsIndex | None = ...,
        merged: SupportsIndex | None = ...,
        epochs: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        learning_rate: SupportsFloat | str | None = ...,
        probe_learning_rate: SupportsFloat | str | None = ...,
        fixed_probe: bool | None = ...,
        probe_modes: SupportsIndex | None = ...,
        background: bool | None = ...,
        probe_start: Literal['solver', 'guess'] | None = ...,
        probe_start_epochs: SupportsIndex | None = ...,
        network: Literal['unet', 'ptychopinn', 'supervised'] | None = ...,
        n_filters_scale: SupportsIndex | None = ...,
        amp_activation: Literal['sigmoid', 'swish', 'softplus', 'relu'] | None = ...,
        object_big: bool | None = ...,
        probe_big: bool | None = ...,
        start: _File | None = ...,
        resume: bool | None = ...,
        seed: SupportsIndex | None = ...,
        refine_positions: Literal['none', 'jitter', 'affine'] | bool | None = ...,
        position_step: SupportsFloat | str | None = ...,
        tv_weight: SupportsFloat | str | None = ...,
        realspace_mae_weight: SupportsFloat | str | None = ...,
        device: Literal['auto', 'cpu', 'cuda'] | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        batch: SupportsIndex | None = ...,
        refine: str | _File | None = ...,
        threads: SupportsIndex | None = ...,
        memory: str | _File | None = ...,
        scratch: _File | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Reconstruction]: ...

reconstruct: _Reconstruct

class _Solve(Protocol):
    """From a scan to its image by iterative solvers.

    output_dir: folder for all results (required)
    solver: SOLVER:PASSES, several joined by commas, or auto: what fits the scan; solvers: ml (maximum likelihood by mini-batches: the best image), lbfgs (maximum likelihood by whole passes of L-BFGS: a last polish), lsqml (least-squares maximum likelihood with optimal steps), epie (ePIE: pattern by pattern, the classic), rpie (rPIE: pattern by pattern, steps bounded where the probe is dim), dm (difference map: the surest far from the solution, never at rest), raar (relaxed averaged alternating reflections: calmer than the difference map) (default 'auto')
    probe_modes: number of incoherent probe modes (1..32, default 1)
    fixed_probe: no change of the probe that the chain starts from (default False)
    background: fitted background per detector pixel (default False)
    refine_positions: none, jitter (each pattern's own error; what the bare option means) or affine (scale, rotation, shear too) ('none' | 'jitter' | 'affine', default 'none')
    intensities: fitted intensity of the beam in each pattern: on, off, or auto: where the image tells that the beam changes ('auto' | 'on' | 'off', default 'auto')
    interpolation: treatment of patches between pixels: move the probe (does not blur) or interpolate the object ('probe_fourier' | 'bilinear', default 'probe_fourier')
    max_amplitude: largest amplitude of the object; 0 = not limited (0..1e+06, default 0.0)
    probe_support: radius outside which the probe is set to zero; 0 = not limited (0..2, N/2, default 0.0)
    device: processor for data and arithmetic; cuda needs ./run build cuda and an NVIDIA GPU, auto is cpu ('auto' | 'cpu' | 'cuda', default 'auto')
    every: interval of the evaluations: held-out R-factor, pictures, a line of progress.csv (1..1e+06, passes, default 10)
    seed: seed of the order of patterns and of the hold-out (default 1)
    batch: patterns per gradient step: 16, in large scans a 64th of all (ml: auto); patterns per step: an eighth of all, at least 16 (lsqml: auto); patterns per step of background and positions: 16, in large scans a 64th of all (epie, rpie, dm, raar: auto) (1..1e+06, patterns, default 'auto')
    engine: implementation of the gradient (ptyche info --engines) (ml, lbfgs, lsqml, epie, rpie, dm, raar: fused) ('auto' | 'fused' | 'reference', default 'auto')
    likelihood: distribution of the noise: Poisson of the counts, or Gaussian of the amplitudes (ml, lbfgs, epie, rpie, dm, raar: poisson; lsqml: amplitude) ('auto' | 'poisson' | 'amplitude', default 'auto')
    position_step: largest correction of a position in one pass, about (ml, lsqml, epie, rpie, dm, raar: 0.03) (0..10, px, default 'auto')
    object_step: step size of the object (ml: 0.05) (1e-09.., |object|, default 'auto')
    probe_step: step size of the probe (ml: 0.1) (1e-09.., probe peak, default 'auto')
    object_slope: expected change of the object from pixel to pixel, root mean square; smooths where photons are few; 0 = no such prior (ml, lbfgs: 0.1) (0..1e+06, |object|/px, default 'auto')
    plateau: least gain of ten passes, as a share of the loss, below which half of the passes left are skipped, so that the steps become short sooner; 0 = never (ml, epie, rpie: 0); least gain of ten passes, as a share of the loss, below which the solver ends; 0 = never (lbfgs, lsqml: 1e-05) (0..1, default 'auto')
    slow_momentum: momentum coefficient from pass to pass for slow variations of the phase, over more than the probe's width, which single steps hardly correct; 0 = none (ml: 0.8; lsqml, epie, rpie: 0.5) (0..0.99, default 'auto')
    object_edge: change of the object from pixel to pixel above which it counts as an edge, which the prior does not smooth; 0 = no edges (lbfgs: 0) (0..1e+06, |object|/px, default 'auto')
    amplitude_stiffness: weight of the prior on the amplitude over its weight on the phase; 3 where photons are few (lbfgs: 1) (0..1000, default 'auto')
    absorption: change of the amplitude's logarithm that goes with one of the phase by 1 rad, against which the amplitude is stiff: beta / delta of a sample of one material (lbfgs: 0) (-10..10, 1/rad, default 'auto')
    still: least change of the image in five passes, over its contrast, below which the solver ends; 0 = never (lbfgs: 0) (0..1, contrast, default 'auto')
    slow_phase: corrections, before the first pass, of waves of the phase longer than the probe, by the tilt of each pattern's exit wave; kept where they lower the loss (lbfgs: 1) (0..100, corrections, default 'auto')
    momentum: momentum coefficient: share of the last update that is added to the next one (lsqml: 0.5; epie, rpie: 0) (0..0.99, default 'auto')
    start: result to start from, of any program, or its folder; none = a flat object (default '')
    resume: continuation from the folder's checkpoint, or a start where there is none (default False)
    overwrite: new start where the output folder holds results, which are moved to FOLDER.old (default False)
    half_sets: two more images, of the odd and of the even patterns, each from a flat object, and their correlation (default False)
    no_verdict: no verdict (good, doubtful, failed: exit code 4); it takes two more solves of a part of the patterns (default False)
    probe: first probe: auto (the file's, or one found from the patterns where the file has none or that one explains more), library (auto, kept ones first: see probes), scan (the file's), zone-plate, electron, disk, gaussian (by their own options), or the path of a result or of an .npy file (default 'auto')
    lens_diameter: zone-plate: its diameter (0.., m, default 0.0)
    outermost_zone: zone-plate: width of its outermost zone, instead of --focal-length (0.., m, default 0.0)
    focal_length: zone-plate: its focal length, for any lens behind a round aperture (0.., m, default 0.0)
    central_stop: zone-plate: diameter of its central stop (0.., m, default 0.0)
    cs: electron: spherical aberration (m, default 0.0)
    defocus: zone-plate, electron: from the focus to the sample; > 0: the sample lies behind the focus (overfocus) (m, default 0.0)
    beam_diameter: disk: its diameter; gaussian: its width at half the intensity (0.., m, default 0.0)
    zernike: zone-plate, electron: aberrations, root mean square over the aperture, Noll index 4, 5, 6, ... (rad, default [])
    keep_probe: name under which the image's probe is kept for scans of the same instrument: see probes, and --probe library (default '')
    format: format of the file: a name or a recipe's file (.toml); empty = by its content (docs/formats.md) (default '')
    patterns: place of the patterns, instead of a format: [FILE:]NAME, a path of an HDF5 file or an array's name (default '')
    positions: place of the positions: [FILE:]X,[FILE:]Y in metres; *1e-6 behind a name brings micrometres to them, *px says object pixels (default '')
    scan_shape: rows x columns of a raster without written positions, such as 16x32 (default '')
    scan_step: step from one point of that raster to the next (0.., m, default 0.0)
    flyback: patterns at the end of each row, recorded while the beam flew back, for which there are no positions: left out. A raster's shape may count them or not (0..1e+06, default 0)
    scan_rotation: angle in degrees from the detector's columns to the raster's, towards the rows; of written positions, too; auto: found from the patterns (what all agree on of the phase, where light is deflected), for a transposed detector too (default '0')
    voltage: electrons: acceleration voltage, instead of an energy (0.., V, default 0.0)
    semi_angle: electrons: convergence semi-angle; with the bright disk's radius it gives the detector's pixel where nothing else does (0..0.5, rad, default 0.0)
    orientation: flips of the patterns, a sum: 4 = transposed, 2 = rows reversed, 1 = columns reversed, as PtyPy counts; -1 = as the file says (-1..7, default -1)
    domain: meaning of the file's patterns, counts or amplitudes, where it does not say ('auto' | 'counts' | 'amplitude', default 'auto')
    mask: file, none (every pixel counts), or [FILE:]NAME of (rows, cols): true = counted; of whole numbers the light tells which (default 'file')
    mask_counts: values of the mask that count, whatever the light says: zero (false; codes of bad pixels) or nonzero (true) ('auto' | 'zero' | 'nonzero', default 'auto')
    scan_index: number of the scan, where the file's array scan_index tells several apart; -1 = there is one (-1..1e+09, default -1)
    frames: patterns that are used: FIRST:END[:STEP] from 0 on, END not among them, or several ranges (0:70,71:144); of other positions than patterns those that have one (default '')
    exposures: patterns that were taken at each position, one after the other: their sums are used (1..1e+06, default 1)
    crop: side of the square of detector pixels around the zero frequency that is used, padded where the detector ends before; 0 = all (0..1e+06, px, default 0)
    bin: sums of B x B detector pixels, after --crop; a sum with a masked pixel is masked (1..64, default 1)
    center: row,col of the zero frequency, where it is not at (N/2, N/2) (px, default [])
    energy: photon energy; 0 = from the file (0.., eV, default 0.0)
    distance: sample to detector; 0 = from the file (0.., m, default 0.0)
    detector_pixel: detector pixel pitch; 0 = from the file (0.., m, default 0.0)
    near_field: near-field geometry: the sample's shadow at the detector, not its far field (by solvers only) (default False)
    source_distance: near field: focus to sample; 0 = from the file, or parallel light (0.., m, default 0.0)
    flip_x: mirrored columns of the positions (default False)
    flip_y: mirrored rows of the positions (default False)
    swap_xy: exchanged rows and columns of the positions (default False)
    photons: photons per pattern through an empty sample; 0 = from the mean counts (0.., photons, default 0.0)
    mean_counts: mean counts per pattern for amplitudes without a scale; 0 = by their noise, with a warning (0.., photons, default 0.0)
    hold_out: share of patterns kept out of everything, to score the image on; auto = a twentieth, at least 8, but none where there are fewer than 80; 0 = none (0..0.5, default 'auto')
    hold_out_file: JSON file with heldout_indices, instead of --hold-out (default '')
    unseen_half: half of the scan that is kept from training, then inferred in single passes of the network ('none' | 'upper' | 'lower', default 'none')
    no_check: no examination of the scan: nothing is corrected or refused (see info --check) (default False)
    threads: threads; 0 = one per core (0..4096, default 0)
    memory: most memory to use, like 8G; auto = 80 % of what is free. Arrays that do not fit lie in nameless files in --scratch (default 'auto')
    scratch: folder for arrays that do not fit into --memory; default $TMPDIR, else /var/tmp (default '')
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        scan: _Files,
        solver: str | _File | None = ...,
        *,
        output_dir: _File | None = ...,
        probe_modes: SupportsIndex | None = ...,
        fixed_probe: bool | None = ...,
        background: bool | None = ...,
        refine_positions: Literal['none', 'jitter', 'affine'] | bool | None = ...,
        intensities: Literal['auto', 'on', 'off'] | None = ...,
        interpolation: Literal['probe_fourier', 'bilinear'] | None = ...,
        max_amplitude: SupportsFloat | str | None = ...,
        probe_support: SupportsFloat | str | None = ...,
        device: Literal['auto', 'cpu', 'cuda'] | None = ...,
        every: SupportsIndex | None = ...,
        seed: SupportsIndex | None = ...,
        batch: SupportsFloat | str | None = ...,
        engine: Literal['auto', 'fused', 'reference'] | None = ...,
        likelihood: Literal['auto', 'poisson', 'amplitude'] | None = ...,
        position_step: SupportsFloat | str | None = ...,
        object_step: SupportsFloat | str | None = ...,
        probe_step: SupportsFloat | str | None = ...,
        object_slope: SupportsFloat | str | None = ...,
        plateau: SupportsFloat | str | None = ...,
        slow_momentum: SupportsFloat | str | None = ...,
        object_edge: SupportsFloat | str | None = ...,
        amplitude_stiffness: SupportsFloat | str | None = ...,
        absorption: SupportsFloat | str | None = ...,
        still: SupportsFloat | str | None = ...,
        slow_phase: SupportsFloat | str | None = ...,
        momentum: SupportsFloat | str | None = ...,
        start: _File | None = ...,
        resume: bool | None = ...,
        overwrite: bool | None = ...,
        half_sets: bool | None = ...,
        no_verdict: bool | None = ...,
        probe: str | _File | None = ...,
        lens_diameter: SupportsFloat | str | None = ...,
        outermost_zone: SupportsFloat | str | None = ...,
        focal_length: SupportsFloat | str | None = ...,
        central_stop: SupportsFloat | str | None = ...,
        cs: SupportsFloat | str | None = ...,
        defocus: SupportsFloat | str | None = ...,
        beam_diameter: SupportsFloat | str | None = ...,
        zernike: Sequence[float] | str | None = ...,
        keep_probe: str | _File | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        no_check: bool | None = ...,
        threads: SupportsIndex | None = ...,
        memory: str | _File | None = ...,
        scratch: _File | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Reconstruction: ...
    def start(
        self,
        scan: _Files,
        solver: str | _File | None = ...,
        *,
        output_dir: _File | None = ...,
        probe_modes: SupportsIndex | None = ...,
        fixed_probe: bool | None = ...,
        background: bool | None = ...,
        refine_positions: Literal['none', 'jitter', 'affine'] | bool | None = ...,
        intensities: Literal['auto', 'on', 'off'] | None = ...,
        interpolation: Literal['probe_fourier', 'bilinear'] | None = ...,
        max_amplitude: SupportsFloat | str | None = ...,
        probe_support: SupportsFloat | str | None = ...,
        device: Literal['auto', 'cpu', 'cuda'] | None = ...,
        every: SupportsIndex | None = ...,
        seed: SupportsIndex | None = ...,
        batch: SupportsFloat | str | None = ...,
        engine: Literal['auto', 'fused', 'reference'] | None = ...,
        likelihood: Literal['auto', 'poisson', 'amplitude'] | None = ...,
        position_step: SupportsFloat | str | None = ...,
        object_step: SupportsFloat | str | None = ...,
        probe_step: SupportsFloat | str | None = ...,
        object_slope: SupportsFloat | str | None = ...,
        plateau: SupportsFloat | str | None = ...,
        slow_momentum: SupportsFloat | str | None = ...,
        object_edge: SupportsFloat | str | None = ...,
        amplitude_stiffness: SupportsFloat | str | None = ...,
        absorption: SupportsFloat | str | None = ...,
        still: SupportsFloat | str | None = ...,
        slow_phase: SupportsFloat | str | None = ...,
        momentum: SupportsFloat | str | None = ...,
        start: _File | None = ...,
        resume: bool | None = ...,
        overwrite: bool | None = ...,
        half_sets: bool | None = ...,
        no_verdict: bool | None = ...,
        probe: str | _File | None = ...,
        lens_diameter: SupportsFloat | str | None = ...,
        outermost_zone: SupportsFloat | str | None = ...,
        focal_length: SupportsFloat | str | None = ...,
        central_stop: SupportsFloat | str | None = ...,
        cs: SupportsFloat | str | None = ...,
        defocus: SupportsFloat | str | None = ...,
        beam_diameter: SupportsFloat | str | None = ...,
        zernike: Sequence[float] | str | None = ...,
        keep_probe: str | _File | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        no_check: bool | None = ...,
        threads: SupportsIndex | None = ...,
        memory: str | _File | None = ...,
        scratch: _File | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Reconstruction]: ...

solve: _Solve

class _Train(Protocol):
    """Train a network on a scan, or one on many.

    preset: ptychopinn: PtychoPINN's way of training (network, loss, merge, learning rate, scale); other options change single things ('none' | 'ptychopinn', default 'none')
    scan_list: file with a scan in each line, and perhaps how many times an epoch goes over it (1) (default '')
    universe: TOML file that says what scans are simulated without end, instead of SCAN: for a network that knows any scan; an epoch is 100 steps of --groups-per-batch scans (default '')
    stored_weights: numbers in which model.ptyche holds the network's weights; float16 takes half the space ('float32' | 'float16', default 'float32')
    output_dir: folder for the model (required)
    overwrite: new start where the output folder holds results, which are moved to FOLDER.old (default False)
    probe: first probe: auto (the file's, or one found from the patterns where the file has none or that one explains more), library (auto, kept ones first: see probes), scan (the file's), zone-plate, electron, disk, gaussian (by their own options), or the path of a result or of an .npy file (default 'auto')
    lens_diameter: zone-plate: its diameter (0.., m, default 0.0)
    outermost_zone: zone-plate: width of its outermost zone, instead of --focal-length (0.., m, default 0.0)
    focal_length: zone-plate: its focal length, for any lens behind a round aperture (0.., m, default 0.0)
    central_stop: zone-plate: diameter of its central stop (0.., m, default 0.0)
    cs: electron: spherical aberration (m, default 0.0)
    defocus: zone-plate, electron: from the focus to the sample; > 0: the sample lies behind the focus (overfocus) (m, default 0.0)
    beam_diameter: disk: its diameter; gaussian: its width at half the intensity (0.., m, default 0.0)
    zernike: zone-plate, electron: aberrations, root mean square over the aperture, Noll index 4, 5, 6, ... (rad, default [])
    probe_smoothing_sigma: standard deviation of the Gaussian that smooths the first probe; 0 = none (0..1000, px, default 0.0)
    probe_mask: first probe cut to a disc, as PtychoPINN does (default False)
    probe_mask_diameter: diameter of the disc; 0 = N / 2 (0..100000, px, default 0.0)
    probe_mask_sigma: standard deviation of the Gaussian that blurs the disc's edge (0.001..1000, px, default 1.0)
    format: format of the file: a name or a recipe's file (.toml); empty = by its content (docs/formats.md) (default '')
    patterns: place of the patterns, instead of a format: [FILE:]NAME, a path of an HDF5 file or an array's name (default '')
    positions: place of the positions: [FILE:]X,[FILE:]Y in metres; *1e-6 behind a name brings micrometres to them, *px says object pixels (default '')
    scan_shape: rows x columns of a raster without written positions, such as 16x32 (default '')
    scan_step: step from one point of that raster to the next (0.., m, default 0.0)
    flyback: patterns at the end of each row, recorded while the beam flew back, for which there are no positions: left out. A raster's shape may count them or not (0..1e+06, default 0)
    scan_rotation: angle in degrees from the detector's columns to the raster's, towards the rows; of written positions, too; auto: found from the patterns (what all agree on of the phase, where light is deflected), for a transposed detector too (default '0')
    voltage: electrons: acceleration voltage, instead of an energy (0.., V, default 0.0)
    semi_angle: electrons: convergence semi-angle; with the bright disk's radius it gives the detector's pixel where nothing else does (0..0.5, rad, default 0.0)
    orientation: flips of the patterns, a sum: 4 = transposed, 2 = rows reversed, 1 = columns reversed, as PtyPy counts; -1 = as the file says (-1..7, default -1)
    domain: meaning of the file's patterns, counts or amplitudes, where it does not say ('auto' | 'counts' | 'amplitude', default 'auto')
    mask: file, none (every pixel counts), or [FILE:]NAME of (rows, cols): true = counted; of whole numbers the light tells which (default 'file')
    mask_counts: values of the mask that count, whatever the light says: zero (false; codes of bad pixels) or nonzero (true) ('auto' | 'zero' | 'nonzero', default 'auto')
    scan_index: number of the scan, where the file's array scan_index tells several apart; -1 = there is one (-1..1e+09, default -1)
    frames: patterns that are used: FIRST:END[:STEP] from 0 on, END not among them, or several ranges (0:70,71:144); of other positions than patterns those that have one (default '')
    exposures: patterns that were taken at each position, one after the other: their sums are used (1..1e+06, default 1)
    crop: side of the square of detector pixels around the zero frequency that is used, padded where the detector ends before; 0 = all (0..1e+06, px, default 0)
    bin: sums of B x B detector pixels, after --crop; a sum with a masked pixel is masked (1..64, default 1)
    center: row,col of the zero frequency, where it is not at (N/2, N/2) (px, default [])
    energy: photon energy; 0 = from the file (0.., eV, default 0.0)
    distance: sample to detector; 0 = from the file (0.., m, default 0.0)
    detector_pixel: detector pixel pitch; 0 = from the file (0.., m, default 0.0)
    flip_x: mirrored columns of the positions (default False)
    flip_y: mirrored rows of the positions (default False)
    swap_xy: exchanged rows and columns of the positions (default False)
    photons: photons per pattern through an empty sample; 0 = from the mean counts (0.., photons, default 0.0)
    mean_counts: mean counts per pattern for amplitudes without a scale; 0 = by their noise, with a warning (0.., photons, default 0.0)
    hold_out: share of patterns kept out of everything, to score the image on; auto = a twentieth, at least 8, but none where there are fewer than 80; 0 = none (0..0.5, default 0.0)
    hold_out_file: JSON file with heldout_indices, instead of --hold-out (default '')
    unseen_half: half of the scan that is kept from training, then inferred in single passes of the network ('none' | 'upper' | 'lower', default 'none')
    group_size: number of neighbouring patterns that one merged object must predict (1..64, patterns, default 32)
    merged: number of patterns of a group that are merged, drawn anew each time; 0 = half (0..64, patterns, default 0)
    epochs: passes over the patterns (1..1e+06, default 40)
    groups_per_batch: groups in one step (1..100000, groups, default 1)
    learning_rate: learning rate of the network, at its highest (1e-09..1, default 0.0015)
    probe_learning_rate: learning rate of the probe, in shares of its peak (0..1, default 0.0001)
    fixed_probe: no change of the probe that training starts from (default False)
    probe_modes: incoherent probe modes that are trained (1..32, default 1)
    background: trained background per detector pixel (--background=false: none) (default True)
    probe_start: solver: rPIE on the used patterns; guess: the file's probe ('solver' | 'guess', default 'solver')
    probe_start_epochs: passes of the solver of --probe-start (1..10000, default 30)
    network: unet: ours; ptychopinn: PtychoPINN's; supervised: PtychoPINN's baseline, which is shown the truth ('unet' | 'ptychopinn' | 'supervised', default 'unet')
    n_filters_scale: width of PtychoPINN's networks: factor on the number of features of each layer (1..64, default 2)
    amp_activation: activation function that gives the amplitudes of PtychoPINN's network ('sigmoid' | 'swish' | 'softplus' | 'relu', default 'sigmoid')
    object_big: a patch of PtychoPINN's network for each pattern of a group, not one for all (default True)
    probe_big: border of low resolution, not of zeros, around the patches of PtychoPINN's network (default True)
    start: model.ptyche, or its folder, whose network is trained further; none = a new one (default '')
    resume: continuation from the folder's checkpoint (default False)
    seed: seed of every random choice; the same seed gives the same result (default 1)
    refine_positions: none, jitter (each pattern's own error; what the bare option means) or affine (scale, rotation, shear too) ('none' | 'jitter' | 'affine', default 'none')
    position_step: largest move of a position in two epochs, about (0..10, px, default 0.1)
    tv_weight: weight of the patches' total variation in the loss, which makes them smooth (0..1e+06, default 0.0)
    realspace_mae_weight: weight in the loss of the patches' distance from the true object, which only a simulated scan has (0..1e+06, default 0.0)
    device: processor for data and arithmetic; cuda needs ./run build cuda and an NVIDIA GPU, auto is cpu ('auto' | 'cpu' | 'cuda', default 'auto')
    engine: implementation of the physics (ptyche info --engines) ('fused' | 'reference', default 'fused')
    precision: number type of the network's arithmetic; auto = bfloat16 where the processor is faster with it; images by the network unet then in bytes, too (infer --precision int8) ('auto' | 'float32' | 'bfloat16', default 'auto')
    nll_weight: weight of the Poisson likelihood of the counts in the loss, which is all of it where neither weight is given; where both weights are above 0 their ratio counts (0..1e+06, default 0.0)
    mae_weight: weight of the absolute error of the amplitudes in the loss; where both weights are above 0 their ratio counts (0..1e+06, default 0.0)
    gridsize: groups of gridsize^2 patterns, chosen once; 0 = drawn anew in every epoch (0..8, default 0)
    n_groups: number of groups; 0 = patterns / gridsize^2 (0..1e+09, groups, default 0)
    neighbor_count: number of nearest patterns from which the rest of a group is drawn (1..4096, patterns, default 4)
    grouping: nearest: a pattern and some near it; ptychopinn: some near a pattern, without it ('nearest' | 'ptychopinn', default 'nearest')
    sequential_sampling: first patterns of the file, not random ones (default False)
    enable_oversampling: more groups than patterns: different choices of neighbours (default False)
    neighbor_pool_size: number of nearest patterns from which --enable-oversampling draws; 0 = as --neighbor-count (0..4096, patterns, default 0)
    n_subsample: number of patterns that are used, drawn at random; 0 = all (0..1e+09, patterns, default 0)
    subsample_seed: seed of the choice of --n-subsample (default 1)
    train_data_file: the scan, instead of SCAN (default '')
    test_data_file: scan for --do-stitching; none = the one that is trained on (default '')
    do_stitching: inference and stitching after training, as infer does with --ptychopinn-pictures (default False)
    model_type: supervised: the same as --network supervised ('pinn' | 'supervised', default 'pinn')
    probe_scale: divisor of the probe, in units of its mean amplitude, with --preset ptychopinn; sets how bright the object is (0..1e+06, default 0.0)
    probe_trainable: false: the same as --fixed-probe ('true' | 'false', default 'true')
    torch_loss_mode: poisson: the same as --nll-weight 1; mae: as --mae-weight 1 ('' | 'poisson' | 'mae', default '')
    backend: no effect: --engine chooses ('' | 'tensorflow' | 'pytorch', default '')
    use_xla_translate: no effect: nothing is compiled while the program runs (default False)
    torch_accelerator: no effect, as all of PtychoPINN's --torch-* settings (default '')
    torch_deterministic: no effect, as all of PtychoPINN's --torch-* switches (default False)
    threads: threads; 0 = one per core (0..4096, default 0)
    memory: most memory to use, like 8G; auto = 80 % of what is free. Arrays that do not fit lie in nameless files in --scratch (default 'auto')
    scratch: folder for arrays that do not fit into --memory; default $TMPDIR, else /var/tmp (default '')
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        *scans: _Files,
        preset: Literal['none', 'ptychopinn'] | bool | None = ...,
        scan_list: _File | None = ...,
        universe: _File | None = ...,
        stored_weights: Literal['float32', 'float16'] | None = ...,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        probe: str | _File | None = ...,
        lens_diameter: SupportsFloat | str | None = ...,
        outermost_zone: SupportsFloat | str | None = ...,
        focal_length: SupportsFloat | str | None = ...,
        central_stop: SupportsFloat | str | None = ...,
        cs: SupportsFloat | str | None = ...,
        defocus: SupportsFloat | str | None = ...,
        beam_diameter: SupportsFloat | str | None = ...,
        zernike: Sequence[float] | str | None = ...,
        probe_smoothing_sigma: SupportsFloat | str | None = ...,
        probe_mask: bool | None = ...,
        probe_mask_diameter: SupportsFloat | str | None = ...,
        probe_mask_sigma: SupportsFloat | str | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        group_size: SupportsIndex | None = ...,
        merged: SupportsIndex | None = ...,
        epochs: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        learning_rate: SupportsFloat | str | None = ...,
        probe_learning_rate: SupportsFloat | str | None = ...,
        fixed_probe: bool | None = ...,
        probe_modes: SupportsIndex | None = ...,
        background: bool | None = ...,
        probe_start: Literal['solver', 'guess'] | None = ...,
        probe_start_epochs: SupportsIndex | None = ...,
        network: Literal['unet', 'ptychopinn', 'supervised'] | None = ...,
        n_filters_scale: SupportsIndex | None = ...,
        amp_activation: Literal['sigmoid', 'swish', 'softplus', 'relu'] | None = ...,
        object_big: bool | None = ...,
        probe_big: bool | None = ...,
        start: _File | None = ...,
        resume: bool | None = ...,
        seed: SupportsIndex | None = ...,
        refine_positions: Literal['none', 'jitter', 'affine'] | bool | None = ...,
        position_step: SupportsFloat | str | None = ...,
        tv_weight: SupportsFloat | str | None = ...,
        realspace_mae_weight: SupportsFloat | str | None = ...,
        device: Literal['auto', 'cpu', 'cuda'] | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        nll_weight: SupportsFloat | str | None = ...,
        mae_weight: SupportsFloat | str | None = ...,
        gridsize: SupportsIndex | None = ...,
        n_groups: SupportsIndex | None = ...,
        neighbor_count: SupportsIndex | None = ...,
        grouping: Literal['nearest', 'ptychopinn'] | None = ...,
        sequential_sampling: bool | None = ...,
        enable_oversampling: bool | None = ...,
        neighbor_pool_size: SupportsIndex | None = ...,
        n_subsample: SupportsIndex | None = ...,
        subsample_seed: SupportsIndex | None = ...,
        train_data_file: _File | None = ...,
        test_data_file: _File | None = ...,
        do_stitching: bool | None = ...,
        model_type: Literal['pinn', 'supervised'] | None = ...,
        probe_scale: SupportsFloat | str | None = ...,
        probe_trainable: Literal['true', 'false'] | bool | None = ...,
        torch_loss_mode: Literal['', 'poisson', 'mae'] | None = ...,
        backend: Literal['', 'tensorflow', 'pytorch'] | None = ...,
        use_xla_translate: bool | None = ...,
        torch_accelerator: str | _File | bool | None = ...,
        torch_deterministic: bool | None = ...,
        threads: SupportsIndex | None = ...,
        memory: str | _File | None = ...,
        scratch: _File | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Model: ...
    def start(
        self,
        *scans: _Files,
        preset: Literal['none', 'ptychopinn'] | bool | None = ...,
        scan_list: _File | None = ...,
        universe: _File | None = ...,
        stored_weights: Literal['float32', 'float16'] | None = ...,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        probe: str | _File | None = ...,
        lens_diameter: SupportsFloat | str | None = ...,
        outermost_zone: SupportsFloat | str | None = ...,
        focal_length: SupportsFloat | str | None = ...,
        central_stop: SupportsFloat | str | None = ...,
        cs: SupportsFloat | str | None = ...,
        defocus: SupportsFloat | str | None = ...,
        beam_diameter: SupportsFloat | str | None = ...,
        zernike: Sequence[float] | str | None = ...,
        probe_smoothing_sigma: SupportsFloat | str | None = ...,
        probe_mask: bool | None = ...,
        probe_mask_diameter: SupportsFloat | str | None = ...,
        probe_mask_sigma: SupportsFloat | str | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        group_size: SupportsIndex | None = ...,
        merged: SupportsIndex | None = ...,
        epochs: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        learning_rate: SupportsFloat | str | None = ...,
        probe_learning_rate: SupportsFloat | str | None = ...,
        fixed_probe: bool | None = ...,
        probe_modes: SupportsIndex | None = ...,
        background: bool | None = ...,
        probe_start: Literal['solver', 'guess'] | None = ...,
        probe_start_epochs: SupportsIndex | None = ...,
        network: Literal['unet', 'ptychopinn', 'supervised'] | None = ...,
        n_filters_scale: SupportsIndex | None = ...,
        amp_activation: Literal['sigmoid', 'swish', 'softplus', 'relu'] | None = ...,
        object_big: bool | None = ...,
        probe_big: bool | None = ...,
        start: _File | None = ...,
        resume: bool | None = ...,
        seed: SupportsIndex | None = ...,
        refine_positions: Literal['none', 'jitter', 'affine'] | bool | None = ...,
        position_step: SupportsFloat | str | None = ...,
        tv_weight: SupportsFloat | str | None = ...,
        realspace_mae_weight: SupportsFloat | str | None = ...,
        device: Literal['auto', 'cpu', 'cuda'] | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        nll_weight: SupportsFloat | str | None = ...,
        mae_weight: SupportsFloat | str | None = ...,
        gridsize: SupportsIndex | None = ...,
        n_groups: SupportsIndex | None = ...,
        neighbor_count: SupportsIndex | None = ...,
        grouping: Literal['nearest', 'ptychopinn'] | None = ...,
        sequential_sampling: bool | None = ...,
        enable_oversampling: bool | None = ...,
        neighbor_pool_size: SupportsIndex | None = ...,
        n_subsample: SupportsIndex | None = ...,
        subsample_seed: SupportsIndex | None = ...,
        train_data_file: _File | None = ...,
        test_data_file: _File | None = ...,
        do_stitching: bool | None = ...,
        model_type: Literal['pinn', 'supervised'] | None = ...,
        probe_scale: SupportsFloat | str | None = ...,
        probe_trainable: Literal['true', 'false'] | bool | None = ...,
        torch_loss_mode: Literal['', 'poisson', 'mae'] | None = ...,
        backend: Literal['', 'tensorflow', 'pytorch'] | None = ...,
        use_xla_translate: bool | None = ...,
        torch_accelerator: str | _File | bool | None = ...,
        torch_deterministic: bool | None = ...,
        threads: SupportsIndex | None = ...,
        memory: str | _File | None = ...,
        scratch: _File | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Model]: ...

train: _Train

class _Infer(Protocol):
    """The image of a scan by a model that is already trained.

    model: model.ptyche written by train or reconstruct, or its folder; without it the network that comes with the program (default '')
    probe: auto (the model's, where it was trained on one scan or on this one; else the scan's; by a network for any scan refined by a short solve), library (as auto, beginning with kept ones that fit: see probes), model, scan, or the path of a result or of an .npy file (default 'auto')
    keep_probe: name under which the image's probe is kept for scans of the same instrument: see probes, and --probe library (default '')
    output_dir: folder for all results (required)
    overwrite: new start where the output folder holds results, which are moved to FOLDER.old (default False)
    no_trust: no map of expected errors and no warning of a scan that is unlike those that the program's network knows; they take four short solves of a part of the patterns (default False)
    no_polish: the image as it is stitched, of a network for any scan; else two steps of maximum likelihood over all patterns follow, with a background, the probe held (default False)
    test_data_file: the scan, instead of SCAN; with --ptychopinn-pictures (default '')
    seed: seed of the choice of held-out patterns (default 1)
    batch: patterns at a time at inference, 0 = 64, on a GPU up to 2048; no influence on the image (0..1e+06, patterns, default 0)
    background: fitted background per detector pixel, where the model has none (default False)
    device: processor for data and arithmetic; cuda needs ./run build cuda and an NVIDIA GPU, auto is cpu ('auto' | 'cpu' | 'cuda', default 'auto')
    engine: implementation of the physics (ptyche info --engines) ('fused' | 'reference', default 'fused')
    precision: number type of the network's arithmetic; auto = bfloat16 and bytes (int8) where the processor is faster with them ('auto' | 'float32' | 'bfloat16' | 'int8', default 'auto')
    n_subsample: number of patterns that are used, drawn at random; 0 = all (0..1e+09, patterns, default 0)
    subsample_seed: seed of the choice of --n-subsample (default 1)
    ptychopinn_pictures: also reconstructed_amplitude.png and reconstructed_phase.png, for scripts that look for PtychoPINN's names (default False)
    phase_vmin: phase at the dark end of the colours of these pictures; auto = 1st percentile (rad, default 'auto')
    phase_vmax: phase at the bright end; auto = 99th percentile (rad, default 'auto')
    n_groups: number of patterns that are inferred, as --n-subsample, which wins where both are given (0..1e+09, groups, default 0)
    gridsize: no effect: the model knows how many patterns go in together (0..8, default 0)
    neighbor_count: no effect: the nearest ones go in together (0..4096, patterns, default 0)
    comparison_plot: also comparison_plot.png: the image beside the truth, where the scan has one (default False)
    backend: no effect: --engine chooses ('' | 'tensorflow' | 'pytorch', default '')
    use_xla_translate: no effect: nothing is compiled while the program runs (default False)
    torch_accelerator: no effect, as all of PtychoPINN's --torch-* settings (default '')
    torch_deterministic: no effect, as all of PtychoPINN's --torch-* switches (default False)
    format: format of the file: a name or a recipe's file (.toml); empty = by its content (docs/formats.md) (default '')
    patterns: place of the patterns, instead of a format: [FILE:]NAME, a path of an HDF5 file or an array's name (default '')
    positions: place of the positions: [FILE:]X,[FILE:]Y in metres; *1e-6 behind a name brings micrometres to them, *px says object pixels (default '')
    scan_shape: rows x columns of a raster without written positions, such as 16x32 (default '')
    scan_step: step from one point of that raster to the next (0.., m, default 0.0)
    flyback: patterns at the end of each row, recorded while the beam flew back, for which there are no positions: left out. A raster's shape may count them or not (0..1e+06, default 0)
    scan_rotation: angle in degrees from the detector's columns to the raster's, towards the rows; of written positions, too; auto: found from the patterns (what all agree on of the phase, where light is deflected), for a transposed detector too (default '0')
    voltage: electrons: acceleration voltage, instead of an energy (0.., V, default 0.0)
    semi_angle: electrons: convergence semi-angle; with the bright disk's radius it gives the detector's pixel where nothing else does (0..0.5, rad, default 0.0)
    orientation: flips of the patterns, a sum: 4 = transposed, 2 = rows reversed, 1 = columns reversed, as PtyPy counts; -1 = as the file says (-1..7, default -1)
    domain: meaning of the file's patterns, counts or amplitudes, where it does not say ('auto' | 'counts' | 'amplitude', default 'auto')
    mask: file, none (every pixel counts), or [FILE:]NAME of (rows, cols): true = counted; of whole numbers the light tells which (default 'file')
    mask_counts: values of the mask that count, whatever the light says: zero (false; codes of bad pixels) or nonzero (true) ('auto' | 'zero' | 'nonzero', default 'auto')
    scan_index: number of the scan, where the file's array scan_index tells several apart; -1 = there is one (-1..1e+09, default -1)
    frames: patterns that are used: FIRST:END[:STEP] from 0 on, END not among them, or several ranges (0:70,71:144); of other positions than patterns those that have one (default '')
    exposures: patterns that were taken at each position, one after the other: their sums are used (1..1e+06, default 1)
    crop: side of the square of detector pixels around the zero frequency that is used, padded where the detector ends before; 0 = all (0..1e+06, px, default 0)
    bin: sums of B x B detector pixels, after --crop; a sum with a masked pixel is masked (1..64, default 1)
    center: row,col of the zero frequency, where it is not at (N/2, N/2) (px, default [])
    energy: photon energy; 0 = from the file (0.., eV, default 0.0)
    distance: sample to detector; 0 = from the file (0.., m, default 0.0)
    detector_pixel: detector pixel pitch; 0 = from the file (0.., m, default 0.0)
    flip_x: mirrored columns of the positions (default False)
    flip_y: mirrored rows of the positions (default False)
    swap_xy: exchanged rows and columns of the positions (default False)
    photons: photons per pattern through an empty sample; 0 = from the mean counts (0.., photons, default 0.0)
    mean_counts: mean counts per pattern for amplitudes without a scale; 0 = by their noise, with a warning (0.., photons, default 0.0)
    hold_out: share of patterns kept out of everything, to score the image on; auto = a twentieth, at least 8, but none where there are fewer than 80; 0 = none (0..0.5, default 0.0)
    hold_out_file: JSON file with heldout_indices, instead of --hold-out (default '')
    unseen_half: half of the scan that is kept from training, then inferred in single passes of the network ('none' | 'upper' | 'lower', default 'none')
    threads: threads; 0 = one per core (0..4096, default 0)
    memory: most memory to use, like 8G; auto = 80 % of what is free. Arrays that do not fit lie in nameless files in --scratch (default 'auto')
    scratch: folder for arrays that do not fit into --memory; default $TMPDIR, else /var/tmp (default '')
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        scan: _Files | None = ...,
        model: _File | None = ...,
        *,
        probe: str | _File | None = ...,
        keep_probe: str | _File | None = ...,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        no_trust: bool | None = ...,
        no_polish: bool | None = ...,
        test_data_file: _File | None = ...,
        seed: SupportsIndex | None = ...,
        batch: SupportsIndex | None = ...,
        background: bool | None = ...,
        device: Literal['auto', 'cpu', 'cuda'] | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16', 'int8'] | None = ...,
        n_subsample: SupportsIndex | None = ...,
        subsample_seed: SupportsIndex | None = ...,
        ptychopinn_pictures: bool | None = ...,
        phase_vmin: SupportsFloat | str | None = ...,
        phase_vmax: SupportsFloat | str | None = ...,
        n_groups: SupportsIndex | None = ...,
        gridsize: SupportsIndex | None = ...,
        neighbor_count: SupportsIndex | None = ...,
        comparison_plot: bool | None = ...,
        backend: Literal['', 'tensorflow', 'pytorch'] | None = ...,
        use_xla_translate: bool | None = ...,
        torch_accelerator: str | _File | bool | None = ...,
        torch_deterministic: bool | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        threads: SupportsIndex | None = ...,
        memory: str | _File | None = ...,
        scratch: _File | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Reconstruction: ...
    def start(
        self,
        scan: _Files | None = ...,
        model: _File | None = ...,
        *,
        probe: str | _File | None = ...,
        keep_probe: str | _File | None = ...,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        no_trust: bool | None = ...,
        no_polish: bool | None = ...,
        test_data_file: _File | None = ...,
        seed: SupportsIndex | None = ...,
        batch: SupportsIndex | None = ...,
        background: bool | None = ...,
        device: Literal['auto', 'cpu', 'cuda'] | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16', 'int8'] | None = ...,
        n_subsample: SupportsIndex | None = ...,
        subsample_seed: SupportsIndex | None = ...,
        ptychopinn_pictures: bool | None = ...,
        phase_vmin: SupportsFloat | str | None = ...,
        phase_vmax: SupportsFloat | str | None = ...,
        n_groups: SupportsIndex | None = ...,
        gridsize: SupportsIndex | None = ...,
        neighbor_count: SupportsIndex | None = ...,
        comparison_plot: bool | None = ...,
        backend: Literal['', 'tensorflow', 'pytorch'] | None = ...,
        use_xla_translate: bool | None = ...,
        torch_accelerator: str | _File | bool | None = ...,
        torch_deterministic: bool | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        threads: SupportsIndex | None = ...,
        memory: str | _File | None = ...,
        scratch: _File | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Reconstruction]: ...

infer: _Infer

class _Live(Protocol):
    """Images while the scan runs.

    output_dir: folder for all results (required)
    overwrite: new start where the output folder holds results, which are moved to FOLDER.old (default False)
    model: model.ptyche by train, or its folder; none = images of single patterns by physics alone, without a network (default '')
    like: earlier result that gives probe, energy, distance and pixels (default '')
    record: HDF5 file for all messages with their times, for replay:FILE (default '')
    resume: continuation of a run that was ended: the messages of --record, then those that still come (default False)
    at_end: the final image: go-on = the solver goes on from the live one until it rests; solve = anew, as reconstruct does; infer = the network's alone; none = the one on show ('go-on' | 'solve' | 'infer' | 'none', default 'go-on')
    keep_scan: joined patterns as scan.cxi, too (default True)
    stop_when: condition for an end before the scan's: frc=X (the images of even and odd patterns agree up to X cycles per pixel), deviance=X (of held-out patterns, per photon), or plateau (default '')
    stop_notify: receiver of a notice when --stop-when or the page's Stop ends the run: http://HOST:PORT/PATH (a POST of JSON) or zmq+push://HOST:PORT (to a PULL socket) (default '')
    keep_every: time between two writings of reconstruction.h5 while the scan runs; 0 = at the end only (0..1e+06, s, default 60.0)
    patience: time after the scan's end for which frames and positions may wait for each other (0..1e+06, s, default 5.0)
    frames_memory: most memory for frames; more wait in files in the output folder, and the solver, which has half of it, takes the last that fit; 0 = half of the machine's (0..1e+09, MB, default 0)
    only_receive: reception alone: frames are joined, counted and recorded (--record), none is kept and no image made (default False)
    background_solver: solver that works on what is there while the scan runs; off: only single patterns (default True)
    live_seed: seed of the choice of patterns that judge the images while the scan runs (default 1)
    view: web page that shows the run: PORT (on this machine alone) or ADDRESS:PORT (default '')
    token: password of the page for Stop, Keep and Pause; a new one is printed where none is given (default '')
    batch: patterns at a time at inference, 0 = 64, on a GPU up to 2048; no influence on the image (0..1e+06, patterns, default 0)
    background: fitted background per detector pixel, where the model has none (default False)
    engine: implementation of the physics (ptyche info --engines) ('fused' | 'reference', default 'fused')
    precision: number type of the network's arithmetic; auto = bfloat16 and bytes (int8) where the processor is faster with them ('auto' | 'float32' | 'bfloat16' | 'int8', default 'auto')
    probe: first probe: auto (the file's, or one found from the patterns where the file has none or that one explains more), library (auto, kept ones first: see probes), scan (the file's), zone-plate, electron, disk, gaussian (by their own options), or the path of a result or of an .npy file (default 'auto')
    lens_diameter: zone-plate: its diameter (0.., m, default 0.0)
    outermost_zone: zone-plate: width of its outermost zone, instead of --focal-length (0.., m, default 0.0)
    focal_length: zone-plate: its focal length, for any lens behind a round aperture (0.., m, default 0.0)
    central_stop: zone-plate: diameter of its central stop (0.., m, default 0.0)
    cs: electron: spherical aberration (m, default 0.0)
    defocus: zone-plate, electron: from the focus to the sample; > 0: the sample lies behind the focus (overfocus) (m, default 0.0)
    beam_diameter: disk: its diameter; gaussian: its width at half the intensity (0.., m, default 0.0)
    zernike: zone-plate, electron: aberrations, root mean square over the aperture, Noll index 4, 5, 6, ... (rad, default [])
    voltage: electrons: acceleration voltage, instead of an energy (0.., V, default 0.0)
    semi_angle: electrons: convergence semi-angle; with the bright disk's radius it gives the detector's pixel where nothing else does (0..0.5, rad, default 0.0)
    orientation: flips of the patterns, a sum: 4 = transposed, 2 = rows reversed, 1 = columns reversed, as PtyPy counts; -1 = as the file says (-1..7, default -1)
    domain: meaning of the file's patterns, counts or amplitudes, where it does not say ('auto' | 'counts' | 'amplitude', default 'auto')
    mask: file, none (every pixel counts), or [FILE:]NAME of (rows, cols): true = counted; of whole numbers the light tells which (default 'file')
    mask_counts: values of the mask that count, whatever the light says: zero (false; codes of bad pixels) or nonzero (true) ('auto' | 'zero' | 'nonzero', default 'auto')
    exposures: patterns that were taken at each position, one after the other: their sums are used (1..1e+06, default 1)
    crop: side of the square of detector pixels around the zero frequency that is used, padded where the detector ends before; 0 = all (0..1e+06, px, default 0)
    center: row,col of the zero frequency, where it is not at (N/2, N/2) (px, default [])
    energy: photon energy; 0 = from the file (0.., eV, default 0.0)
    distance: sample to detector; 0 = from the file (0.., m, default 0.0)
    detector_pixel: detector pixel pitch; 0 = from the file (0.., m, default 0.0)
    flip_x: mirrored columns of the positions (default False)
    flip_y: mirrored rows of the positions (default False)
    swap_xy: exchanged rows and columns of the positions (default False)
    photons: photons per pattern through an empty sample; 0 = from the mean counts (0.., photons, default 0.0)
    mean_counts: mean counts per pattern for amplitudes without a scale; 0 = by their noise, with a warning (0.., photons, default 0.0)
    threads: threads; 0 = one per core (0..4096, default 0)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        *sources: _Files,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        model: _File | None = ...,
        like: _File | None = ...,
        record: _File | None = ...,
        resume: bool | None = ...,
        at_end: Literal['go-on', 'solve', 'infer', 'none'] | bool | None = ...,
        keep_scan: bool | None = ...,
        stop_when: str | _File | None = ...,
        stop_notify: str | _File | None = ...,
        keep_every: SupportsFloat | str | None = ...,
        patience: SupportsFloat | str | None = ...,
        frames_memory: SupportsIndex | None = ...,
        only_receive: bool | None = ...,
        background_solver: bool | None = ...,
        live_seed: SupportsIndex | None = ...,
        view: str | _File | bool | None = ...,
        token: str | _File | None = ...,
        batch: SupportsIndex | None = ...,
        background: bool | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16', 'int8'] | None = ...,
        probe: str | _File | None = ...,
        lens_diameter: SupportsFloat | str | None = ...,
        outermost_zone: SupportsFloat | str | None = ...,
        focal_length: SupportsFloat | str | None = ...,
        central_stop: SupportsFloat | str | None = ...,
        cs: SupportsFloat | str | None = ...,
        defocus: SupportsFloat | str | None = ...,
        beam_diameter: SupportsFloat | str | None = ...,
        zernike: Sequence[float] | str | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        *sources: _Files,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        model: _File | None = ...,
        like: _File | None = ...,
        record: _File | None = ...,
        resume: bool | None = ...,
        at_end: Literal['go-on', 'solve', 'infer', 'none'] | bool | None = ...,
        keep_scan: bool | None = ...,
        stop_when: str | _File | None = ...,
        stop_notify: str | _File | None = ...,
        keep_every: SupportsFloat | str | None = ...,
        patience: SupportsFloat | str | None = ...,
        frames_memory: SupportsIndex | None = ...,
        only_receive: bool | None = ...,
        background_solver: bool | None = ...,
        live_seed: SupportsIndex | None = ...,
        view: str | _File | bool | None = ...,
        token: str | _File | None = ...,
        batch: SupportsIndex | None = ...,
        background: bool | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16', 'int8'] | None = ...,
        probe: str | _File | None = ...,
        lens_diameter: SupportsFloat | str | None = ...,
        outermost_zone: SupportsFloat | str | None = ...,
        focal_length: SupportsFloat | str | None = ...,
        central_stop: SupportsFloat | str | None = ...,
        cs: SupportsFloat | str | None = ...,
        defocus: SupportsFloat | str | None = ...,
        beam_diameter: SupportsFloat | str | None = ...,
        zernike: Sequence[float] | str | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

live: _Live

class _View(Protocol):
    """A result on a web page, to zoom and to measure in.

    view: web page that shows the run: PORT (on this machine alone) or ADDRESS:PORT (default '8642')
    seconds: time after which the page ends by itself; 0 = at Ctrl-C (0..1e+09, s, default 0.0)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        result: _Files,
        other: _Files | None = ...,
        /,
        *,
        view: str | _File | bool | None = ...,
        seconds: SupportsFloat | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        result: _Files,
        other: _Files | None = ...,
        /,
        *,
        view: str | _File | bool | None = ...,
        seconds: SupportsFloat | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

view: _View

class _Simulate(Protocol):
    """Make a scan with known truth.

    output: file to write, .cxi, or .npz as PtychoPINN reads it (required)
    like: a scan whose own object, probe and positions are simulated (default '')
    universe: TOML file that says what scans there are, as of train (default '')
    number: number of the scan of --universe (default 0)
    object: kind of object ('dead-leaves' | 'siemens-star' | 'bars' | 'lines' | 'random-field' | 'photograph' | 'crystal' | 'image', default 'dead-leaves')
    object_file: .png or .npy for the object image; black or the smallest number absorbs most (default '')
    object_phase_file: another one for its phase; none = --object-file gives both (default '')
    material: one thickness for amplitude and phase, or independent ('one' | 'independent', default 'one')
    probe: kind of probe ('defocused' | 'disk' | 'gaussian' | 'zernike' | 'ptychopinn', default 'defocused')
    zernike: aberrations of the probe zernike, root mean square, Noll index 4, 5, 6, ... (-100..100, rad, default [])
    trajectory: layout of the positions ('jittered' | 'fermat' | 'raster', default 'jittered')
    N: side of a pattern, even (16..1024, px, default 64)
    n_patterns: number of patterns (1..1e+06, patterns, default 900)
    step: distance of neighbouring positions (0.1..1000, px, default 4.0)
    jitter: largest shift of a position of a jittered grid (0..0.5, steps, default 0.3)
    photons: photons per pattern through an empty sample (1..1e+10, photons, default 100000.0)
    amplitude_min: least amplitude of the object (0..1, default 0.5)
    amplitude_max: largest amplitude of the object (0..2, default 1.0)
    phase_range: range of the object's phases, which lie in +- half of it (0..6.28, rad, default 1.2)
    probe_diameter: diameter of the probe at --relative-defocus 1; auto = 22, or .4 N where N is small (2..512, px, default 'auto')
    relative_defocus: defocus of the probe over the default one; 0 = in focus (-10..10, default 1.0)
    probe_defocus_error: relative error of the defocus in the probe that the file gives (-1..10, default 0.0)
    position_error: error of the positions that the file gives, root mean square per axis (0..100, px, default 0.0)
    position_scale_error: relative error of the given grid's scale (-0.5..0.5, default 0.0)
    position_rotation: rotation of the given grid (-45..45, degrees, default 0.0)
    energy: photon energy; with the two below the file's lengths are metres; 0 = object pixels (0.., eV, default 0.0)
    distance: sample to detector (0.., m, default 0.0)
    detector_pixel: detector pixel pitch (0.., m, default 0.0)
    near_field: near-field geometry: the sample's shadow at the detector, not its far field (default False)
    source_distance: near field: focus to sample; 0 = parallel light (0.., m, default 0.0)
    seed: seed of object, positions and noise (default 1)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        *,
        output: _File | None = ...,
        like: _File | None = ...,
        universe: _File | None = ...,
        number: SupportsIndex | None = ...,
        object: Literal['dead-leaves', 'siemens-star', 'bars', 'lines', 'random-field', 'photograph', 'crystal', 'image'] | None = ...,
        object_file: _File | None = ...,
        object_phase_file: _File | None = ...,
        material: Literal['one', 'independent'] | None = ...,
        probe: Literal['defocused', 'disk', 'gaussian', 'zernike', 'ptychopinn'] | None = ...,
        zernike: Sequence[float] | str | None = ...,
        trajectory: Literal['jittered', 'fermat', 'raster'] | None = ...,
        N: SupportsIndex | None = ...,
        n_patterns: SupportsIndex | None = ...,
        step: SupportsFloat | str | None = ...,
        jitter: SupportsFloat | str | None = ...,
        photons: SupportsFloat | str | None = ...,
        amplitude_min: SupportsFloat | str | None = ...,
        amplitude_max: SupportsFloat | str | None = ...,
        phase_range: SupportsFloat | str | None = ...,
        probe_diameter: SupportsFloat | str | None = ...,
        relative_defocus: SupportsFloat | str | None = ...,
        probe_defocus_error: SupportsFloat | str | None = ...,
        position_error: SupportsFloat | str | None = ...,
        position_scale_error: SupportsFloat | str | None = ...,
        position_rotation: SupportsFloat | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        seed: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Scan: ...
    def start(
        self,
        *,
        output: _File | None = ...,
        like: _File | None = ...,
        universe: _File | None = ...,
        number: SupportsIndex | None = ...,
        object: Literal['dead-leaves', 'siemens-star', 'bars', 'lines', 'random-field', 'photograph', 'crystal', 'image'] | None = ...,
        object_file: _File | None = ...,
        object_phase_file: _File | None = ...,
        material: Literal['one', 'independent'] | None = ...,
        probe: Literal['defocused', 'disk', 'gaussian', 'zernike', 'ptychopinn'] | None = ...,
        zernike: Sequence[float] | str | None = ...,
        trajectory: Literal['jittered', 'fermat', 'raster'] | None = ...,
        N: SupportsIndex | None = ...,
        n_patterns: SupportsIndex | None = ...,
        step: SupportsFloat | str | None = ...,
        jitter: SupportsFloat | str | None = ...,
        photons: SupportsFloat | str | None = ...,
        amplitude_min: SupportsFloat | str | None = ...,
        amplitude_max: SupportsFloat | str | None = ...,
        phase_range: SupportsFloat | str | None = ...,
        probe_diameter: SupportsFloat | str | None = ...,
        relative_defocus: SupportsFloat | str | None = ...,
        probe_defocus_error: SupportsFloat | str | None = ...,
        position_error: SupportsFloat | str | None = ...,
        position_scale_error: SupportsFloat | str | None = ...,
        position_rotation: SupportsFloat | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        seed: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Scan]: ...

simulate: _Simulate

class _Evaluate(Protocol):
    """Score a reconstruction against its scan or truth.

    output: file for the scores, JSON (default '')
    seed: seed of the choice of held-out patterns (default 1)
    format: format of the file: a name or a recipe's file (.toml); empty = by its content (docs/formats.md) (default '')
    patterns: place of the patterns, instead of a format: [FILE:]NAME, a path of an HDF5 file or an array's name (default '')
    positions: place of the positions: [FILE:]X,[FILE:]Y in metres; *1e-6 behind a name brings micrometres to them, *px says object pixels (default '')
    scan_shape: rows x columns of a raster without written positions, such as 16x32 (default '')
    scan_step: step from one point of that raster to the next (0.., m, default 0.0)
    flyback: patterns at the end of each row, recorded while the beam flew back, for which there are no positions: left out. A raster's shape may count them or not (0..1e+06, default 0)
    scan_rotation: angle in degrees from the detector's columns to the raster's, towards the rows; of written positions, too; auto: found from the patterns (what all agree on of the phase, where light is deflected), for a transposed detector too (default '0')
    voltage: electrons: acceleration voltage, instead of an energy (0.., V, default 0.0)
    semi_angle: electrons: convergence semi-angle; with the bright disk's radius it gives the detector's pixel where nothing else does (0..0.5, rad, default 0.0)
    orientation: flips of the patterns, a sum: 4 = transposed, 2 = rows reversed, 1 = columns reversed, as PtyPy counts; -1 = as the file says (-1..7, default -1)
    domain: meaning of the file's patterns, counts or amplitudes, where it does not say ('auto' | 'counts' | 'amplitude', default 'auto')
    mask: file, none (every pixel counts), or [FILE:]NAME of (rows, cols): true = counted; of whole numbers the light tells which (default 'file')
    mask_counts: values of the mask that count, whatever the light says: zero (false; codes of bad pixels) or nonzero (true) ('auto' | 'zero' | 'nonzero', default 'auto')
    scan_index: number of the scan, where the file's array scan_index tells several apart; -1 = there is one (-1..1e+09, default -1)
    frames: patterns that are used: FIRST:END[:STEP] from 0 on, END not among them, or several ranges (0:70,71:144); of other positions than patterns those that have one (default '')
    exposures: patterns that were taken at each position, one after the other: their sums are used (1..1e+06, default 1)
    crop: side of the square of detector pixels around the zero frequency that is used, padded where the detector ends before; 0 = all (0..1e+06, px, default 0)
    bin: sums of B x B detector pixels, after --crop; a sum with a masked pixel is masked (1..64, default 1)
    center: row,col of the zero frequency, where it is not at (N/2, N/2) (px, default [])
    energy: photon energy; 0 = from the file (0.., eV, default 0.0)
    distance: sample to detector; 0 = from the file (0.., m, default 0.0)
    detector_pixel: detector pixel pitch; 0 = from the file (0.., m, default 0.0)
    near_field: near-field geometry: the sample's shadow at the detector, not its far field (by solvers only) (default False)
    source_distance: near field: focus to sample; 0 = from the file, or parallel light (0.., m, default 0.0)
    flip_x: mirrored columns of the positions (default False)
    flip_y: mirrored rows of the positions (default False)
    swap_xy: exchanged rows and columns of the positions (default False)
    photons: photons per pattern through an empty sample; 0 = from the mean counts (0.., photons, default 0.0)
    mean_counts: mean counts per pattern for amplitudes without a scale; 0 = by their noise, with a warning (0.., photons, default 0.0)
    hold_out: share of patterns kept out of everything, to score the image on; auto = a twentieth, at least 8, but none where there are fewer than 80; 0 = none (0..0.5, default 0.0)
    hold_out_file: JSON file with heldout_indices, instead of --hold-out (default '')
    unseen_half: half of the scan that is kept from training, then inferred in single passes of the network ('none' | 'upper' | 'lower', default 'none')
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        reconstruction: _Files,
        scan: _Files,
        /,
        *,
        output: _File | None = ...,
        seed: SupportsIndex | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> dict[str, Any]: ...
    def start(
        self,
        reconstruction: _Files,
        scan: _Files,
        /,
        *,
        output: _File | None = ...,
        seed: SupportsIndex | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[dict[str, Any]]: ...

evaluate: _Evaluate

class _Compare(Protocol):
    """How far one image of a sample is from another.

    output_dir: folder for compare.json, figures and report.html (default '')
    overwrite: new start where the output folder holds results, which are moved to FOLDER.old (default False)
    window: row_begin,row_end,col_begin,col_end of B to compare; default: the lit part of its central half (px, default [])
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        a: _Files,
        b: _Files,
        /,
        *,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        window: Sequence[float] | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Comparison: ...
    def start(
        self,
        a: _Files,
        b: _Files,
        /,
        *,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        window: Sequence[float] | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Comparison]: ...

compare: _Compare

class _CompareModels(Protocol):
    """Several models or results on one simulated scan.

    output_dir: folder for all results (required)
    overwrite: new start where the output folder holds results, which are moved to FOLDER.old (default False)
    format: format of the file: a name or a recipe's file (.toml); empty = by its content (docs/formats.md) (default '')
    patterns: place of the patterns, instead of a format: [FILE:]NAME, a path of an HDF5 file or an array's name (default '')
    positions: place of the positions: [FILE:]X,[FILE:]Y in metres; *1e-6 behind a name brings micrometres to them, *px says object pixels (default '')
    scan_shape: rows x columns of a raster without written positions, such as 16x32 (default '')
    scan_step: step from one point of that raster to the next (0.., m, default 0.0)
    flyback: patterns at the end of each row, recorded while the beam flew back, for which there are no positions: left out. A raster's shape may count them or not (0..1e+06, default 0)
    scan_rotation: angle in degrees from the detector's columns to the raster's, towards the rows; of written positions, too; auto: found from the patterns (what all agree on of the phase, where light is deflected), for a transposed detector too (default '0')
    voltage: electrons: acceleration voltage, instead of an energy (0.., V, default 0.0)
    semi_angle: electrons: convergence semi-angle; with the bright disk's radius it gives the detector's pixel where nothing else does (0..0.5, rad, default 0.0)
    orientation: flips of the patterns, a sum: 4 = transposed, 2 = rows reversed, 1 = columns reversed, as PtyPy counts; -1 = as the file says (-1..7, default -1)
    domain: meaning of the file's patterns, counts or amplitudes, where it does not say ('auto' | 'counts' | 'amplitude', default 'auto')
    mask: file, none (every pixel counts), or [FILE:]NAME of (rows, cols): true = counted; of whole numbers the light tells which (default 'file')
    mask_counts: values of the mask that count, whatever the light says: zero (false; codes of bad pixels) or nonzero (true) ('auto' | 'zero' | 'nonzero', default 'auto')
    scan_index: number of the scan, where the file's array scan_index tells several apart; -1 = there is one (-1..1e+09, default -1)
    frames: patterns that are used: FIRST:END[:STEP] from 0 on, END not among them, or several ranges (0:70,71:144); of other positions than patterns those that have one (default '')
    exposures: patterns that were taken at each position, one after the other: their sums are used (1..1e+06, default 1)
    crop: side of the square of detector pixels around the zero frequency that is used, padded where the detector ends before; 0 = all (0..1e+06, px, default 0)
    bin: sums of B x B detector pixels, after --crop; a sum with a masked pixel is masked (1..64, default 1)
    center: row,col of the zero frequency, where it is not at (N/2, N/2) (px, default [])
    energy: photon energy; 0 = from the file (0.., eV, default 0.0)
    distance: sample to detector; 0 = from the file (0.., m, default 0.0)
    detector_pixel: detector pixel pitch; 0 = from the file (0.., m, default 0.0)
    flip_x: mirrored columns of the positions (default False)
    flip_y: mirrored rows of the positions (default False)
    swap_xy: exchanged rows and columns of the positions (default False)
    photons: photons per pattern through an empty sample; 0 = from the mean counts (0.., photons, default 0.0)
    mean_counts: mean counts per pattern for amplitudes without a scale; 0 = by their noise, with a warning (0.., photons, default 0.0)
    hold_out: share of patterns kept out of everything, to score the image on; auto = a twentieth, at least 8, but none where there are fewer than 80; 0 = none (0..0.5, default 0.0)
    hold_out_file: JSON file with heldout_indices, instead of --hold-out (default '')
    unseen_half: half of the scan that is kept from training, then inferred in single passes of the network ('none' | 'upper' | 'lower', default 'none')
    threads: threads; 0 = one per core (0..4096, default 0)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        scan: _Files,
        *images: _Files,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        scan: _Files,
        *images: _Files,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        hold_out: SupportsFloat | str | None = ...,
        hold_out_file: str | _File | None = ...,
        unseen_half: Literal['none', 'upper', 'lower'] | bool | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

compare_models: _CompareModels

class _Info(Protocol):
    """What is in a file: shapes, counts, overlap, dose.

    engines: list of what each engine of the physics covers, instead of a file (default False)
    check: of a scan what is wrong with it, and what reconstruct and solve would mend; the exit code is 1 where they would refuse it (default False)
    output_dir: folder for checks.png and checks.json of --check (default '')
    full: of a scan read all patterns and not a few of them; also its SHA-256, and how long the reading took (default False)
    groups: of a scan also the groups that --gridsize and the like make, and their overlap (default False)
    gridsize: groups of gridsize^2 patterns, chosen once; 0 = drawn anew in every epoch (0..8, default 1)
    n_groups: number of groups; 0 = patterns / gridsize^2 (0..1e+09, groups, default 0)
    neighbor_count: number of nearest patterns from which the rest of a group is drawn (1..4096, patterns, default 4)
    grouping: nearest: a pattern and some near it; ptychopinn: some near a pattern, without it ('nearest' | 'ptychopinn', default 'nearest')
    sequential_sampling: first patterns of the file, not random ones (default False)
    enable_oversampling: more groups than patterns: different choices of neighbours (default False)
    neighbor_pool_size: number of nearest patterns from which --enable-oversampling draws; 0 = as --neighbor-count (0..4096, patterns, default 0)
    n_subsample: number of patterns that are used, drawn at random; 0 = all (0..1e+09, patterns, default 0)
    subsample_seed: seed of the choice of --n-subsample (default 1)
    seed: seed of the choice of groups (default 1)
    format: format of the file: a name or a recipe's file (.toml); empty = by its content (docs/formats.md) (default '')
    patterns: place of the patterns, instead of a format: [FILE:]NAME, a path of an HDF5 file or an array's name (default '')
    positions: place of the positions: [FILE:]X,[FILE:]Y in metres; *1e-6 behind a name brings micrometres to them, *px says object pixels (default '')
    scan_shape: rows x columns of a raster without written positions, such as 16x32 (default '')
    scan_step: step from one point of that raster to the next (0.., m, default 0.0)
    flyback: patterns at the end of each row, recorded while the beam flew back, for which there are no positions: left out. A raster's shape may count them or not (0..1e+06, default 0)
    scan_rotation: angle in degrees from the detector's columns to the raster's, towards the rows; of written positions, too; auto: found from the patterns (what all agree on of the phase, where light is deflected), for a transposed detector too (default '0')
    voltage: electrons: acceleration voltage, instead of an energy (0.., V, default 0.0)
    semi_angle: electrons: convergence semi-angle; with the bright disk's radius it gives the detector's pixel where nothing else does (0..0.5, rad, default 0.0)
    orientation: flips of the patterns, a sum: 4 = transposed, 2 = rows reversed, 1 = columns reversed, as PtyPy counts; -1 = as the file says (-1..7, default -1)
    domain: meaning of the file's patterns, counts or amplitudes, where it does not say ('auto' | 'counts' | 'amplitude', default 'auto')
    mask: file, none (every pixel counts), or [FILE:]NAME of (rows, cols): true = counted; of whole numbers the light tells which (default 'file')
    mask_counts: values of the mask that count, whatever the light says: zero (false; codes of bad pixels) or nonzero (true) ('auto' | 'zero' | 'nonzero', default 'auto')
    scan_index: number of the scan, where the file's array scan_index tells several apart; -1 = there is one (-1..1e+09, default -1)
    frames: patterns that are used: FIRST:END[:STEP] from 0 on, END not among them, or several ranges (0:70,71:144); of other positions than patterns those that have one (default '')
    exposures: patterns that were taken at each position, one after the other: their sums are used (1..1e+06, default 1)
    crop: side of the square of detector pixels around the zero frequency that is used, padded where the detector ends before; 0 = all (0..1e+06, px, default 0)
    bin: sums of B x B detector pixels, after --crop; a sum with a masked pixel is masked (1..64, default 1)
    center: row,col of the zero frequency, where it is not at (N/2, N/2) (px, default [])
    energy: photon energy; 0 = from the file (0.., eV, default 0.0)
    distance: sample to detector; 0 = from the file (0.., m, default 0.0)
    detector_pixel: detector pixel pitch; 0 = from the file (0.., m, default 0.0)
    near_field: near-field geometry: the sample's shadow at the detector, not its far field (by solvers only) (default False)
    source_distance: near field: focus to sample; 0 = from the file, or parallel light (0.., m, default 0.0)
    flip_x: mirrored columns of the positions (default False)
    flip_y: mirrored rows of the positions (default False)
    swap_xy: exchanged rows and columns of the positions (default False)
    photons: photons per pattern through an empty sample; 0 = from the mean counts (0.., photons, default 0.0)
    mean_counts: mean counts per pattern for amplitudes without a scale; 0 = by their noise, with a warning (0.., photons, default 0.0)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        scan: _Files | None = ...,
        /,
        *,
        engines: bool | None = ...,
        check: bool | None = ...,
        output_dir: _File | None = ...,
        full: bool | None = ...,
        groups: bool | None = ...,
        gridsize: SupportsIndex | None = ...,
        n_groups: SupportsIndex | None = ...,
        neighbor_count: SupportsIndex | None = ...,
        grouping: Literal['nearest', 'ptychopinn'] | None = ...,
        sequential_sampling: bool | None = ...,
        enable_oversampling: bool | None = ...,
        neighbor_pool_size: SupportsIndex | None = ...,
        n_subsample: SupportsIndex | None = ...,
        subsample_seed: SupportsIndex | None = ...,
        seed: SupportsIndex | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        scan: _Files | None = ...,
        /,
        *,
        engines: bool | None = ...,
        check: bool | None = ...,
        output_dir: _File | None = ...,
        full: bool | None = ...,
        groups: bool | None = ...,
        gridsize: SupportsIndex | None = ...,
        n_groups: SupportsIndex | None = ...,
        neighbor_count: SupportsIndex | None = ...,
        grouping: Literal['nearest', 'ptychopinn'] | None = ...,
        sequential_sampling: bool | None = ...,
        enable_oversampling: bool | None = ...,
        neighbor_pool_size: SupportsIndex | None = ...,
        n_subsample: SupportsIndex | None = ...,
        subsample_seed: SupportsIndex | None = ...,
        seed: SupportsIndex | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

info: _Info

class _Report(Protocol):
    """Draw a result's pictures and report again.

    output_dir: folder for pictures and report; none = that of the result (default '')
    scan: the scan, where it is no longer where it was (default '')
    empty: ROW,COL,ROWS,COLS of a part of the object without a sample, whose amplitude is drawn as 1; none = the brightest even part (px, default [])
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        result: _Files,
        /,
        *,
        output_dir: _File | None = ...,
        scan: _File | None = ...,
        empty: Sequence[int] | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        result: _Files,
        /,
        *,
        output_dir: _File | None = ...,
        scan: _File | None = ...,
        empty: Sequence[int] | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

report: _Report

class _Convert(Protocol):
    """Write a scan in another program's layout.

    as_: the layout; empty = the one that goes with OUT's ending ('' | 'CXI' | 'NXcxi_ptycho' | 'ptychodus' | 'ptyd' | 'PtychoPINN', default '')
    n_subsample: number of patterns that are used, drawn at random; 0 = all (0..1e+09, patterns, default 0)
    subsample_seed: seed of the choice of --n-subsample (default 1)
    shuffle: patterns in random order (default False)
    split: two files, OUT_train and OUT_test: this share of the scan's extent, and the rest (0..1, default 0.0)
    split_axis: axis of --split; none: the share of the patterns, in their order ('y' | 'x' | 'none', default 'y')
    seed: seed of --shuffle (default 1)
    format: format of the file: a name or a recipe's file (.toml); empty = by its content (docs/formats.md) (default '')
    patterns: place of the patterns, instead of a format: [FILE:]NAME, a path of an HDF5 file or an array's name (default '')
    positions: place of the positions: [FILE:]X,[FILE:]Y in metres; *1e-6 behind a name brings micrometres to them, *px says object pixels (default '')
    scan_shape: rows x columns of a raster without written positions, such as 16x32 (default '')
    scan_step: step from one point of that raster to the next (0.., m, default 0.0)
    flyback: patterns at the end of each row, recorded while the beam flew back, for which there are no positions: left out. A raster's shape may count them or not (0..1e+06, default 0)
    scan_rotation: angle in degrees from the detector's columns to the raster's, towards the rows; of written positions, too; auto: found from the patterns (what all agree on of the phase, where light is deflected), for a transposed detector too (default '0')
    voltage: electrons: acceleration voltage, instead of an energy (0.., V, default 0.0)
    semi_angle: electrons: convergence semi-angle; with the bright disk's radius it gives the detector's pixel where nothing else does (0..0.5, rad, default 0.0)
    orientation: flips of the patterns, a sum: 4 = transposed, 2 = rows reversed, 1 = columns reversed, as PtyPy counts; -1 = as the file says (-1..7, default -1)
    domain: meaning of the file's patterns, counts or amplitudes, where it does not say ('auto' | 'counts' | 'amplitude', default 'auto')
    mask: file, none (every pixel counts), or [FILE:]NAME of (rows, cols): true = counted; of whole numbers the light tells which (default 'file')
    mask_counts: values of the mask that count, whatever the light says: zero (false; codes of bad pixels) or nonzero (true) ('auto' | 'zero' | 'nonzero', default 'auto')
    scan_index: number of the scan, where the file's array scan_index tells several apart; -1 = there is one (-1..1e+09, default -1)
    frames: patterns that are used: FIRST:END[:STEP] from 0 on, END not among them, or several ranges (0:70,71:144); of other positions than patterns those that have one (default '')
    exposures: patterns that were taken at each position, one after the other: their sums are used (1..1e+06, default 1)
    crop: side of the square of detector pixels around the zero frequency that is used, padded where the detector ends before; 0 = all (0..1e+06, px, default 0)
    bin: sums of B x B detector pixels, after --crop; a sum with a masked pixel is masked (1..64, default 1)
    center: row,col of the zero frequency, where it is not at (N/2, N/2) (px, default [])
    energy: photon energy; 0 = from the file (0.., eV, default 0.0)
    distance: sample to detector; 0 = from the file (0.., m, default 0.0)
    detector_pixel: detector pixel pitch; 0 = from the file (0.., m, default 0.0)
    near_field: near-field geometry: the sample's shadow at the detector, not its far field (by solvers only) (default False)
    source_distance: near field: focus to sample; 0 = from the file, or parallel light (0.., m, default 0.0)
    flip_x: mirrored columns of the positions (default False)
    flip_y: mirrored rows of the positions (default False)
    swap_xy: exchanged rows and columns of the positions (default False)
    photons: photons per pattern through an empty sample; 0 = from the mean counts (0.., photons, default 0.0)
    mean_counts: mean counts per pattern for amplitudes without a scale; 0 = by their noise, with a warning (0.., photons, default 0.0)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        scan: _Files,
        out: _Files,
        /,
        *,
        as_: Literal['', 'CXI', 'NXcxi_ptycho', 'ptychodus', 'ptyd', 'PtychoPINN'] | None = ...,
        n_subsample: SupportsIndex | None = ...,
        subsample_seed: SupportsIndex | None = ...,
        shuffle: bool | None = ...,
        split: SupportsFloat | str | None = ...,
        split_axis: Literal['y', 'x', 'none'] | bool | None = ...,
        seed: SupportsIndex | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        scan: _Files,
        out: _Files,
        /,
        *,
        as_: Literal['', 'CXI', 'NXcxi_ptycho', 'ptychodus', 'ptyd', 'PtychoPINN'] | None = ...,
        n_subsample: SupportsIndex | None = ...,
        subsample_seed: SupportsIndex | None = ...,
        shuffle: bool | None = ...,
        split: SupportsFloat | str | None = ...,
        split_axis: Literal['y', 'x', 'none'] | bool | None = ...,
        seed: SupportsIndex | None = ...,
        format: str | _File | None = ...,
        patterns: str | _File | None = ...,
        positions: str | _File | None = ...,
        scan_shape: str | _File | None = ...,
        scan_step: SupportsFloat | str | None = ...,
        flyback: SupportsIndex | None = ...,
        scan_rotation: str | _File | None = ...,
        voltage: SupportsFloat | str | None = ...,
        semi_angle: SupportsFloat | str | None = ...,
        orientation: SupportsIndex | None = ...,
        domain: Literal['auto', 'counts', 'amplitude'] | None = ...,
        mask: str | _File | None = ...,
        mask_counts: Literal['auto', 'zero', 'nonzero'] | None = ...,
        scan_index: SupportsIndex | None = ...,
        frames: str | _File | None = ...,
        exposures: SupportsIndex | None = ...,
        crop: SupportsIndex | None = ...,
        bin: SupportsIndex | None = ...,
        center: Sequence[float] | str | None = ...,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        near_field: bool | None = ...,
        source_distance: SupportsFloat | str | None = ...,
        flip_x: bool | None = ...,
        flip_y: bool | None = ...,
        swap_xy: bool | None = ...,
        photons: SupportsFloat | str | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

convert: _Convert

class _Export(Protocol):
    """Write a result or a model for other programs, or as pictures.

    as_: the layout; empty = the one that goes with OUT's ending ('' | 'ptychodus' | 'PyNX' | 'ptyr' | 'images' | 'NPY' | 'onnx' | 'safetensors', default '')
    output: the same as OUT (default '')
    unwrap: of images: the phase without jumps of 2 pi, of samples of more (default False)
    onnx: a model as OUT.onnx; without OUT network.onnx (default False)
    safetensors: a model as OUT.safetensors; both may be asked for (default False)
    pattern_size: of a graph, for a network of any scan; 0 = the network's (0..1024, px, default 0)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        result: _Files | None = ...,
        out: _Files | None = ...,
        /,
        *,
        as_: Literal['', 'ptychodus', 'PyNX', 'ptyr', 'images', 'NPY', 'onnx', 'safetensors'] | None = ...,
        output: _File | None = ...,
        unwrap: bool | None = ...,
        onnx: bool | None = ...,
        safetensors: bool | None = ...,
        pattern_size: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        result: _Files | None = ...,
        out: _Files | None = ...,
        /,
        *,
        as_: Literal['', 'ptychodus', 'PyNX', 'ptyr', 'images', 'NPY', 'onnx', 'safetensors'] | None = ...,
        output: _File | None = ...,
        unwrap: bool | None = ...,
        onnx: bool | None = ...,
        safetensors: bool | None = ...,
        pattern_size: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

export: _Export

class _Probes(Protocol):
    """Probes kept for later scans of the same instrument.

    energy: of add: the light's; 0 = the file's (0.., eV, default 0.0)
    distance: of add: sample to detector; 0 = the file's (0.., m, default 0.0)
    detector_pixel: of add: its pitch; 0 = the file's object pixel counts (0.., m, default 0.0)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        action: str | None = ...,
        name: str | None = ...,
        file: _Files | None = ...,
        /,
        *,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        action: str | None = ...,
        name: str | None = ...,
        file: _Files | None = ...,
        /,
        *,
        energy: SupportsFloat | str | None = ...,
        distance: SupportsFloat | str | None = ...,
        detector_pixel: SupportsFloat | str | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

probes: _Probes

class _GridLines(Protocol):
    """PtychoPINN's study of line drawings, its networks beside ours.

    output_dir: folder for all results (required)
    overwrite: new start where the output folder holds results, which are moved to FOLDER.old (default False)
    N: side of a pattern (16..1024, px, default 64)
    gridsize: side of a group, which has gridsize^2 patterns (1..8, default 1)
    object_size: side of a drawing (32..100000, px, default 392)
    offset: distance of neighbouring patterns in a group (1..10000, px, default 4)
    outer_offset_train: twice the distance of neighbouring groups, an even number, in training (2..10000, px, default 8)
    nimgs_train: number of drawings to train on (1..1000, default 2)
    mean_counts: mean counts of a pattern (1..1e+10, photons, default 1000000000.0)
    set_phi: objects with a phase, not only an amplitude (default False)
    outer_offset_test: the same distance in the test; half of it is the tile on which a group is scored (2..10000, px, default 20)
    nimgs_test: number of drawings in the test; the first one is scored (1..1000, default 2)
    probe_source: the probe: a disc with a soft edge, or that of a file ('ideal_disk' | 'custom', default 'ideal_disk')
    probe_npz: file with probeGuess, for --probe-source custom (default '')
    probe_scale_mode: method by which the file's probe is brought to N x N pixels ('pad_preserve' | 'pad_extrapolate' | 'interpolate', default 'pad_preserve')
    probe_smoothing_sigma: standard deviation of the Gaussian that smooths the probe; 0 = none (0..100, px, default 0.5)
    probe_mask_diameter: diameter of the disc that limits the probe, with an edge of 1 px; 0 = none (0..1024, px, default 0.0)
    models: networks to train: ptyche (ours), pinn (PtychoPINN's), baseline (PtychoPINN's supervised one) (default 'ptyche,pinn,baseline')
    epochs: passes over the training patterns (1..1e+06, default 60)
    groups_per_batch: groups in a training step of PtychoPINN's networks (1..100000, groups, default 16)
    object_big: a patch of PtychoPINN's network for each pattern of a group, not one for all (default False)
    probe_big: border of low resolution, not of zeros, around the patches of PtychoPINN's network (default False)
    seed: seed of all networks; the drawings are always PtychoPINN's (default 1)
    resume: continuation of the study in the output folder: networks that are done are not trained again (default False)
    nll_weight: weight of the Poisson likelihood of the counts in the loss; where both weights are above 0 their ratio counts (0..1e+06, default 0.0)
    mae_weight: weight of the absolute error of the amplitudes in the loss, which is all of it where neither weight is given; where both weights are above 0 their ratio counts (0..1e+06, default 0.0)
    engine: implementation of the physics (ptyche info --engines) ('fused' | 'reference', default 'fused')
    precision: number type of the network's arithmetic; auto = bfloat16 where the processor is faster with it; images by the network unet then in bytes, too (infer --precision int8) ('auto' | 'float32' | 'bfloat16', default 'auto')
    threads: threads; 0 = one per core (0..4096, default 0)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        *,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        N: SupportsIndex | None = ...,
        gridsize: SupportsIndex | None = ...,
        object_size: SupportsIndex | None = ...,
        offset: SupportsIndex | None = ...,
        outer_offset_train: SupportsIndex | None = ...,
        nimgs_train: SupportsIndex | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        set_phi: bool | None = ...,
        outer_offset_test: SupportsIndex | None = ...,
        nimgs_test: SupportsIndex | None = ...,
        probe_source: Literal['ideal_disk', 'custom'] | None = ...,
        probe_npz: _File | None = ...,
        probe_scale_mode: Literal['pad_preserve', 'pad_extrapolate', 'interpolate'] | None = ...,
        probe_smoothing_sigma: SupportsFloat | str | None = ...,
        probe_mask_diameter: SupportsFloat | str | None = ...,
        models: str | _File | None = ...,
        epochs: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        object_big: bool | None = ...,
        probe_big: bool | None = ...,
        seed: SupportsIndex | None = ...,
        resume: bool | None = ...,
        nll_weight: SupportsFloat | str | None = ...,
        mae_weight: SupportsFloat | str | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        *,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        N: SupportsIndex | None = ...,
        gridsize: SupportsIndex | None = ...,
        object_size: SupportsIndex | None = ...,
        offset: SupportsIndex | None = ...,
        outer_offset_train: SupportsIndex | None = ...,
        nimgs_train: SupportsIndex | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        set_phi: bool | None = ...,
        outer_offset_test: SupportsIndex | None = ...,
        nimgs_test: SupportsIndex | None = ...,
        probe_source: Literal['ideal_disk', 'custom'] | None = ...,
        probe_npz: _File | None = ...,
        probe_scale_mode: Literal['pad_preserve', 'pad_extrapolate', 'interpolate'] | None = ...,
        probe_smoothing_sigma: SupportsFloat | str | None = ...,
        probe_mask_diameter: SupportsFloat | str | None = ...,
        models: str | _File | None = ...,
        epochs: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        object_big: bool | None = ...,
        probe_big: bool | None = ...,
        seed: SupportsIndex | None = ...,
        resume: bool | None = ...,
        nll_weight: SupportsFloat | str | None = ...,
        mae_weight: SupportsFloat | str | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

grid_lines: _GridLines

class _DoseResponse(Protocol):
    """PtychoPINN's study of two doses and two losses.

    output_dir: folder for all results (required)
    overwrite: new start where the output folder holds results, which are moved to FOLDER.old (default False)
    N: side of a pattern (16..1024, px, default 64)
    gridsize: side of a group, which has gridsize^2 patterns (1..8, default 2)
    network: our network, or PtychoPINN's ('unet' | 'ptychopinn', default 'unet')
    train_patterns: number of patterns of the drawing to train on (1..1e+06, patterns, default 2000)
    test_patterns: number of patterns of the drawing that is scored (1..1e+06, patterns, default 128)
    n_groups: number of groups to train on; 0 = one around every pattern (0..1e+06, groups, default 0)
    neighbor_count: number of nearest patterns from which a group is drawn (1..4096, patterns, default 7)
    object_size: side of a drawing (32..10000, px, default 128)
    buffer: least distance of a position from the drawing's edges (0..10000, px, default 15)
    mean_counts_high: mean counts of a pattern at the high dose (1..1e+10, photons, default 1000000000.0)
    mean_counts_low: mean counts of a pattern at the low dose (1..1e+10, photons, default 10000.0)
    epochs: passes over the training groups (1..1e+06, default 50)
    groups_per_batch: groups in a training step (1..100000, groups, default 16)
    seed: seed of drawings, positions, noise and networks (default 1)
    resume: continuation of the study in the output folder: networks that are done are not trained again (default False)
    engine: implementation of the physics (ptyche info --engines) ('fused' | 'reference', default 'fused')
    precision: number type of the network's arithmetic; auto = bfloat16 where the processor is faster with it; images by the network unet then in bytes, too (infer --precision int8) ('auto' | 'float32' | 'bfloat16', default 'auto')
    threads: threads; 0 = one per core (0..4096, default 0)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        *,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        N: SupportsIndex | None = ...,
        gridsize: SupportsIndex | None = ...,
        network: Literal['unet', 'ptychopinn'] | None = ...,
        train_patterns: SupportsIndex | None = ...,
        test_patterns: SupportsIndex | None = ...,
        n_groups: SupportsIndex | None = ...,
        neighbor_count: SupportsIndex | None = ...,
        object_size: SupportsIndex | None = ...,
        buffer: SupportsIndex | None = ...,
        mean_counts_high: SupportsFloat | str | None = ...,
        mean_counts_low: SupportsFloat | str | None = ...,
        epochs: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        seed: SupportsIndex | None = ...,
        resume: bool | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        *,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        N: SupportsIndex | None = ...,
        gridsize: SupportsIndex | None = ...,
        network: Literal['unet', 'ptychopinn'] | None = ...,
        train_patterns: SupportsIndex | None = ...,
        test_patterns: SupportsIndex | None = ...,
        n_groups: SupportsIndex | None = ...,
        neighbor_count: SupportsIndex | None = ...,
        object_size: SupportsIndex | None = ...,
        buffer: SupportsIndex | None = ...,
        mean_counts_high: SupportsFloat | str | None = ...,
        mean_counts_low: SupportsFloat | str | None = ...,
        epochs: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        seed: SupportsIndex | None = ...,
        resume: bool | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

dose_response: _DoseResponse

class _Generalization(Protocol):
    """PtychoPINN's study of training sizes.

    output_dir: folder for all results (required)
    overwrite: new start where the output folder holds results, which are moved to FOLDER.old (default False)
    sizes: numbers of patterns to learn from, each in turn (1..1e+06, patterns, default [512, 1024, 2048, 4096])
    trials: networks of each size, each with patterns and weights of its own (1..1000, default 5)
    models: networks to train: ptyche (ours), pinn (PtychoPINN's), baseline (PtychoPINN's supervised one) (default 'pinn,baseline')
    gridsize: side of a group, which has gridsize^2 patterns (1..8, default 1)
    neighbor_count: number of nearest patterns from which a group is drawn (1..4096, patterns, default 7)
    epochs: passes over the training patterns (1..1e+06, default 50)
    groups_per_batch: groups in a training step of PtychoPINN's networks (1..100000, groups, default 16)
    seed: seed of the first trial: patterns, groups and weights (default 1)
    resume: continuation of the study in the output folder: networks that are done are not trained again (default False)
    N: side of a pattern (16..1024, px, default 64)
    object_size: side of a drawing (32..100000, px, default 392)
    outer_offset_train: twice the distance of neighbouring groups, an even number, in training (2..10000, px, default 8)
    nimgs_train: number of drawings to train on (1..1000, default 2)
    mean_counts: mean counts of a pattern (1..1e+10, photons, default 1000000000.0)
    set_phi: objects with a phase, not only an amplitude (default False)
    nll_weight: weight of the Poisson likelihood of the counts in the loss, which is all of it where neither weight is given; where both weights are above 0 their ratio counts (0..1e+06, default 0.0)
    mae_weight: weight of the absolute error of the amplitudes in the loss; where both weights are above 0 their ratio counts (0..1e+06, default 0.0)
    engine: implementation of the physics (ptyche info --engines) ('fused' | 'reference', default 'fused')
    precision: number type of the network's arithmetic; auto = bfloat16 where the processor is faster with it; images by the network unet then in bytes, too (infer --precision int8) ('auto' | 'float32' | 'bfloat16', default 'auto')
    threads: threads; 0 = one per core (0..4096, default 0)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        train: _Files | None = ...,
        test: _Files | None = ...,
        /,
        *,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        sizes: Sequence[int] | str | None = ...,
        trials: SupportsIndex | None = ...,
        models: str | _File | None = ...,
        gridsize: SupportsIndex | None = ...,
        neighbor_count: SupportsIndex | None = ...,
        epochs: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        seed: SupportsIndex | None = ...,
        resume: bool | None = ...,
        N: SupportsIndex | None = ...,
        object_size: SupportsIndex | None = ...,
        outer_offset_train: SupportsIndex | None = ...,
        nimgs_train: SupportsIndex | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        set_phi: bool | None = ...,
        nll_weight: SupportsFloat | str | None = ...,
        mae_weight: SupportsFloat | str | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        train: _Files | None = ...,
        test: _Files | None = ...,
        /,
        *,
        output_dir: _File | None = ...,
        overwrite: bool | None = ...,
        sizes: Sequence[int] | str | None = ...,
        trials: SupportsIndex | None = ...,
        models: str | _File | None = ...,
        gridsize: SupportsIndex | None = ...,
        neighbor_count: SupportsIndex | None = ...,
        epochs: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        seed: SupportsIndex | None = ...,
        resume: bool | None = ...,
        N: SupportsIndex | None = ...,
        object_size: SupportsIndex | None = ...,
        outer_offset_train: SupportsIndex | None = ...,
        nimgs_train: SupportsIndex | None = ...,
        mean_counts: SupportsFloat | str | None = ...,
        set_phi: bool | None = ...,
        nll_weight: SupportsFloat | str | None = ...,
        mae_weight: SupportsFloat | str | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

generalization: _Generalization

class _Bench(Protocol):
    """How fast this machine trains and infers.

    N: side of a pattern (16..256, px, default 64)
    gridsize: side of a group: PtychoPINN's network takes gridsize^2 patterns at once (1..3, default 1)
    groups_per_batch: groups in a training step of PtychoPINN's network (1..1024, groups, default 16)
    seconds: time for which each case trains, and again infers, about (0..3600, s, default 3.0)
    seed: seed of the networks' weights (default 1)
    network: bench engines: our network, or PtychoPINN's ('unet' | 'ptychopinn', default 'unet')
    json: file that the lines are written to (default '')
    engine: implementation of the physics (ptyche info --engines) ('fused' | 'reference', default 'fused')
    precision: number type of the network's arithmetic; auto = bfloat16 where the processor is faster with it; images by the network unet then in bytes, too (infer --precision int8) ('auto' | 'float32' | 'bfloat16', default 'auto')
    threads: threads; 0 = one per core (0..4096, default 0)
    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        topic: str,
        /,
        *,
        N: SupportsIndex | None = ...,
        gridsize: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        seconds: SupportsFloat | str | None = ...,
        seed: SupportsIndex | None = ...,
        network: Literal['unet', 'ptychopinn'] | None = ...,
        json: _File | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        topic: str,
        /,
        *,
        N: SupportsIndex | None = ...,
        gridsize: SupportsIndex | None = ...,
        groups_per_batch: SupportsIndex | None = ...,
        seconds: SupportsFloat | str | None = ...,
        seed: SupportsIndex | None = ...,
        network: Literal['unet', 'ptychopinn'] | None = ...,
        json: _File | None = ...,
        engine: Literal['fused', 'reference'] | None = ...,
        precision: Literal['auto', 'float32', 'bfloat16'] | None = ...,
        threads: SupportsIndex | None = ...,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

bench: _Bench

class _Completion(Protocol):
    """Print a completion script for the shell.

    quiet: warnings and errors alone, no progress, no summary (default False)
    verbose: every step and all scores (default False)
    log: file to which all messages are added, each with its time (default '')
    log_level: least important messages in that file ('error' | 'warning' | 'info' | 'debug', default 'debug')
    """
    def __call__(
        self,
        shell: str,
        /,
        *,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
        on_progress: _OnProgress = ...,
    ) -> Output: ...
    def start(
        self,
        shell: str,
        /,
        *,
        quiet: bool | None = ...,
        verbose: bool | None = ...,
        log: _File | None = ...,
        log_level: Literal['error', 'warning', 'info', 'debug'] | None = ...,
    ) -> Job[Output]: ...

completion: _Completion
