// Scans and results in the layouts of other programs.
#include <fmt/format.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/scan_parts.h"
#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/io/result.h"
#include "ptyche/io/write_result.h"
#include "ptyche/io/write_scan.h"
#include "ptyche/prepare/scan_rotation.h"

namespace ptyche {
namespace {

struct ConvertOptions {
  ReadOptions scan;
  PartOptions parts;
  std::filesystem::path output;
  std::string format;
};

struct ExportOptions {
  std::filesystem::path result, output;
  std::string format;
};

std::vector<std::string> or_by_name(std::vector<std::string> formats) {
  formats.insert(formats.begin(), "");
  return formats;
}

Field format_field(std::string& format, const std::vector<std::string>& formats) {
  return {.name = "as",
          .target = &format,
          .help = "the layout; empty = the one that goes with OUT's ending",
          .choices = or_by_name(formats)};
}

void run_convert(const ConvertOptions& options) {
  const std::string format =
      options.format.empty() ? scan_format_for(options.output) : options.format;
  for (const ScanPart& part : parts_of(read_turned_scan(options.scan), options.parts)) {
    const std::filesystem::path file = named_part(options.output, part.name);
    write_scan_as(format, file, part.scan);
    show("{} ({}): {} patterns of {} x {}\n", file.string(), format, part.scan.frames(),
         part.scan.pattern_size(), part.scan.pattern_size());
  }
}

void run_export(const ExportOptions& options) {
  const std::string format =
      options.format.empty() ? result_format_for(options.output) : options.format;
  const Reconstruction image = read_result(options.result).image;
  require(image.object.defined(), "{}: expected an object, found a probe alone",
          options.result.string());
  write_result_as(format, options.output, image);
  show("{} ({})\n", options.output.string(), format);
}

}  // namespace

Command convert_command() {
  const auto options = std::make_shared<ConvertOptions>();
  return {
      .name = "convert",
      .summary = "write a scan in another program's layout",
      .description =
          "Reads a scan as `solve` does, with the same options, and writes all its patterns: as "
          "CXI (OUT ends in .cxi), NXcxi_ptycho (.nxs), PtyPy's .ptyd, PtychoPINN's .npz, or "
          "ptychodus' folder of diffraction.h5 and product.h5 (no ending). A probe is written "
          "where the scan has one; ptychodus, which loads no product without, else gets one made "
          "of the mean pattern.",
      .arguments = {{"SCAN", &options->scan.file, "scan of any format"},
                    {"OUT", &options->output, "file or folder to write"}},
      .options = joined({{format_field(options->format, scan_formats_written())},
                         fields(options->parts),
                         whole_scan_options(options->scan)}),
      .references = {},
      .run = [options] { run_convert(*options); },
      .basic = {"as", "split", "format", "patterns", "positions", "mask", "frames", "crop", "bin",
                "energy", "distance"}};
}

Command export_command() {
  const auto options = std::make_shared<ExportOptions>();
  return {
      .name = "export",
      .summary = "write a result in another program's layout, or as pictures",
      .description =
          "Writes a reconstruction as ptychodus' product (OUT ends in .h5), PyNX' CXI (.cxi), "
          "PtyPy's .ptyr, the complex object as .npy, or (no ending) as a folder with amplitude "
          "and phase, each as TIFF of float32 and PNG of 16 bits with scale.json.",
      .arguments = {{"RESULT", &options->result, "reconstruction of any program"},
                    {"OUT", &options->output, "file or folder to write"}},
      .options = {format_field(options->format, result_formats_written())},
      .references = {},
      .run = [options] { run_export(*options); }};
}

}  // namespace ptyche
