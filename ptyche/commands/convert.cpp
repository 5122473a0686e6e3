// Scans, results and models in the layouts of other programs.
#include <fmt/format.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/commands/scan_parts.h"
#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/io/result.h"
#include "ptyche/io/write_result.h"
#include "ptyche/io/write_scan.h"
#include "ptyche/model/export.h"
#include "ptyche/model/shipped_model.h"
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
  std::filesystem::path source, output;
  std::string format;
  std::int64_t pattern_size = 0;
  bool onnx = false, safetensors = false, unwrap = false;
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

struct ModelFormat {
  const char *name, *ending;
  void (*write)(const std::filesystem::path& file, const Model& model, std::int64_t pattern_size);
};

const std::vector<ModelFormat>& model_formats() {
  static const std::vector<ModelFormat> formats = {
      {"onnx", ".onnx", write_onnx},
      {"safetensors", ".safetensors",
       [](const std::filesystem::path& file, const Model& model, std::int64_t) {
         write_safetensors(file, model);
       }}};
  return formats;
}

/// The layouts of a model that are asked for, by name or by the ending of OUT; none for a result.
std::vector<ModelFormat> asked_of_model(const ExportOptions& options) {
  std::vector<ModelFormat> asked;
  for (const ModelFormat& format : model_formats()) {
    const std::string name = format.name;
    const bool flag = name == "onnx" ? options.onnx : options.safetensors;
    const bool ending = options.format.empty() && options.output.extension() == format.ending;
    if (flag || ending || options.format == name) asked.push_back(format);
  }
  return asked;
}

/// OUT with the format's ending in place of that of a model's format, or behind it.
std::filesystem::path file_for(const ModelFormat& format, const std::filesystem::path& output) {
  std::filesystem::path file = output.empty() ? "network" : output;
  for (const ModelFormat& other : model_formats())
    if (file.extension() == other.ending) file.replace_extension();
  file += format.ending;
  return file;
}

Model model_to_export(const std::filesystem::path& source) {
  if (source.empty()) return shipped_model();
  return read_model(std::filesystem::is_directory(source) ? source / "model.ptyche" : source);
}

void export_model(const ExportOptions& options, const std::vector<ModelFormat>& formats) {
  require(!options.unwrap, "--unwrap: it is an option of images, not of a model");
  require(options.pattern_size == 0 || formats.front().name == std::string("onnx"),
          "--pattern-size: it is an option of ONNX; weights are the same for every pattern");
  const Model model = model_to_export(options.source);
  for (const ModelFormat& format : formats) {
    const std::filesystem::path file = file_for(format, options.output);
    format.write(file, model, options.pattern_size);
    show("{} ({})\n", file.string(), format.name);
  }
}

void export_result(const ExportOptions& options) {
  if (options.source.empty() || options.output.empty())
    throw UsageError(
        "expected RESULT and OUT; without RESULT the network that comes with the "
        "program is written, as --onnx or --safetensors");
  require(options.pattern_size == 0, "--pattern-size: it is an option of ONNX, not of a result");
  const std::string format =
      options.format.empty() ? result_format_for(options.output) : options.format;
  const Reconstruction image = read_result(options.source).image;
  require(image.object.defined(), "{}: expected an object, found a probe alone",
          options.source.string());
  write_result_as(format, options.output, image, options.unwrap);
  show("{} ({})\n", options.output.string(), format);
}

void run_export(const ExportOptions& options) {
  const std::vector<ModelFormat> formats = asked_of_model(options);
  if (formats.empty()) return export_result(options);
  export_model(options, formats);
}

std::vector<std::string> formats_of_export() {
  std::vector<std::string> formats = result_formats_written();
  for (const ModelFormat& format : model_formats()) formats.emplace_back(format.name);
  return formats;
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
      .summary = "write a result or a model for other programs, or as pictures",
      .description =
          "Writes a reconstruction as ptychodus' product (OUT ends in .h5), PyNX' CXI (.cxi), "
          "PtyPy's .ptyr, the complex object as .npy, or (no ending) as a folder with amplitude "
          "and phase, each as TIFF of float32 and PNG of 16 bits with scale.json. A model (of "
          "train; without RESULT the network that comes with the program) as a graph (.onnx) or as "
          "weights alone (.safetensors).",
      .arguments = {{"RESULT", &options->source,
                     "reconstruction of any program, or model.ptyche or its folder", false},
                    {"OUT", &options->output, "file or folder to write", false}},
      .options = {format_field(options->format, formats_of_export()),
                  {.name = "output",
                   .target = &options->output,
                   .help = "the same as OUT",
                   .short_name = "o"},
                  {.name = "unwrap",
                   .target = &options->unwrap,
                   .help = "of images: the phase without jumps of 2 pi, of samples of more"},
                  {.name = "onnx",
                   .target = &options->onnx,
                   .help = "a model as OUT.onnx; without OUT network.onnx"},
                  {.name = "safetensors",
                   .target = &options->safetensors,
                   .help = "a model as OUT.safetensors; both may be asked for"},
                  {.name = "pattern-size",
                   .target = &options->pattern_size,
                   .unit = "px",
                   .help = "of a graph, for a network of any scan; 0 = the network's",
                   .range = {0, 1024}}},
      .references = {},
      .run = [options] { run_export(*options); }};
}

}  // namespace ptyche
