// A scan with known truth, as a CXI file.
#include "ptyche/simulate/simulate.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/verbs.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/io/cxi.h"

namespace ptyche {
namespace {

struct SimulateVerbOptions {
  SimulateOptions simulate;
  std::filesystem::path output;
};

std::vector<Field> simulate_option_list(SimulateOptions& options) {
  return {
      {.name = "object",
       .target = &options.object,
       .help = "what is scanned",
       .choices = {"dead-leaves", "siemens-star", "bars", "lines", "random-field", "image"}},
      {.name = "object-file",
       .target = &options.object_file,
       .help = ".png or .npy for the object image; black or the smallest number absorbs most"},
      {.name = "object-phase-file",
       .target = &options.object_phase_file,
       .help = "another one for its phase; none = --object-file gives both"},
      {.name = "material",
       .target = &options.material,
       .help = "one thickness for amplitude and phase, or independent",
       .choices = {"one", "independent"}},
      {.name = "probe",
       .target = &options.probe,
       .help = "the illumination",
       .choices = {"defocused", "disk", "gaussian", "zernike", "ptychopinn"}},
      {.name = "zernike",
       .target = &options.zernike_rad,
       .unit = "rad",
       .help = "aberrations of the probe zernike, root mean square, Noll index 4, 5, 6, ...",
       .range = {-100, 100}},
      {.name = "scan",
       .target = &options.scan,
       .help = "where it falls",
       .choices = {"jittered", "fermat", "raster"}},
      {.name = "N",
       .target = &options.pattern_size,
       .unit = "px",
       .help = "side of a pattern, even",
       .range = {16, 1024}},
      {.name = "frames",
       .target = &options.frames,
       .unit = "patterns",
       .help = "how many",
       .range = {2, 1e6}},
      {.name = "step",
       .target = &options.step_px,
       .unit = "px",
       .help = "distance of neighbouring positions",
       .range = {0.1, 1000}},
      {.name = "jitter",
       .target = &options.jitter,
       .unit = "steps",
       .help = "of a jittered grid, uniform in +-",
       .range = {0, 1}},
      {.name = "photons",
       .target = &options.photons,
       .unit = "photons",
       .help = "per pattern through an empty sample",
       .range = {1, 1e10}},
      {.name = "amplitude-min",
       .target = &options.amplitude_min,
       .help = "of the object",
       .range = {0, 1}},
      {.name = "amplitude-max",
       .target = &options.amplitude_max,
       .help = "of the object",
       .range = {0, 2}},
      {.name = "phase-range",
       .target = &options.phase_range_rad,
       .unit = "rad",
       .help = "phases lie in +- half of it",
       .range = {0, 6.28}},
      {.name = "probe-diameter",
       .target = &options.probe_diameter_px,
       .unit = "px",
       .help = "at defocus 1",
       .range = {2, 512}},
      {.name = "defocus",
       .target = &options.defocus,
       .help = "relative to the default; 0 = in focus",
       .range = {-10, 10}},
      {.name = "probe-defocus-error",
       .target = &options.probe_defocus_error,
       .help = "relative error of the defocus in the probe that the file gives",
       .range = {-1, 10}},
      {.name = "position-error",
       .target = &options.position_error_px,
       .unit = "px",
       .help = "of the positions that the file gives, root mean square per axis",
       .range = {0, 100}},
      {.name = "position-scale-error",
       .target = &options.position_scale_error,
       .help = "the given grid is too large by this share",
       .range = {-0.5, 0.5}},
      {.name = "position-rotation",
       .target = &options.position_rotation_deg,
       .unit = "degrees",
       .help = "the given grid is turned by this",
       .range = {-45, 45}},
      {.name = "energy",
       .target = &options.geometry.energy_ev,
       .unit = "eV",
       .help = "photon energy; with the two below the file's lengths are metres; 0 = object pixels",
       .range = {0}},
      {.name = "distance",
       .target = &options.geometry.distance_m,
       .unit = "m",
       .help = "sample to detector",
       .range = {0}},
      {.name = "detector-pixel",
       .target = &options.geometry.detector_pixel_m,
       .unit = "m",
       .help = "detector pixel pitch",
       .range = {0}},
      {.name = "near-field",
       .target = &options.geometry.near_field,
       .help = "the detector sees the sample's shadow and not its far field"},
      {.name = "source-distance",
       .target = &options.geometry.source_distance_m,
       .unit = "m",
       .help = "near field: focus to sample; 0 = parallel light",
       .range = {0}},
      {.name = "seed", .target = &options.seed, .help = "of object, positions and noise"},
  };
}

void run_simulate(const SimulateVerbOptions& options) {
  const auto extension = options.output.extension();
  require(extension == ".cxi" || extension == ".h5",
          "{}: expected an output file that ends in .cxi or .h5", options.output.string());
  if (options.output.has_parent_path()) require_writable_folder(options.output.parent_path());
  const Scan scan = simulate(options.simulate);
  write_cxi(options.output, scan);
  fmt::print("{}: {} patterns of {} x {} pixels\n", options.output.string(), scan.frames(),
             scan.pattern_size(), scan.pattern_size());
}

}  // namespace

Command simulate_command() {
  const auto options = std::make_shared<SimulateVerbOptions>();
  return {.name = "simulate",
          .summary = "make a scan with known truth",
          .description =
              "Writes a CXI file with Poisson counts, positions, probe and, for scoring, "
              "the true object.",
          .arguments = {},
          .options = joined({{{.name = "output",
                               .target = &options->output,
                               .help = "file to write, .cxi",
                               .short_name = "o",
                               .required = true}},
                             simulate_option_list(options->simulate)}),
          .references = {},
          .run = [options] { run_simulate(*options); }};
}

}  // namespace ptyche
