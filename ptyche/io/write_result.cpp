#include "ptyche/io/write_result.h"

#include <png.h>
#include <tiffio.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/data/probe.h"
#include "ptyche/io/cxi.h"
#include "ptyche/io/named_writer.h"
#include "ptyche/io/product.h"
#include "ptyche/io/unwrapped_phase.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/numpy.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

void scalar(Hdf5File& file, const std::string& path, double value) {
  if (value > 0) file.write(path, at::scalar_tensor(value, at::kDouble));
}

/// Positions from the object's middle, pixel size / 2, in metres (object pixels without lengths).
at::Tensor from_middle(const Reconstruction& image) {
  const at::Tensor middle = at::tensor(
      {image.origin_row + image.rows() / 2, image.origin_col + image.cols() / 2}, at::kDouble);
  const double pixel = image.geometry.has_object_pixel() ? image.geometry.object_pixel_m : 1;
  return (image.positions - middle) * pixel;
}

void write_ptyr(const fs::path& path, const Reconstruction& image) {
  require(image.probe.defined(), "ptyr: expected a result with a probe, found none");
  const Geometry& geometry = image.geometry;
  write_hdf5(path, [&](Hdf5File& file) {
    const std::string object = "content/obj/SMFG00/", probe = "content/probe/SMFG00/";
    file.write(object + "data", image.object);
    file.write(probe + "data", image.main_probe());
    const double pixel = geometry.has_object_pixel() ? geometry.object_pixel_m : 1;
    file.write(object + "_origin", at::tensor({-static_cast<double>(image.rows() / 2),
                                               -static_cast<double>(image.cols() / 2)},
                                              at::kDouble) *
                                       pixel);
    for (const std::string& group : {object, probe}) {
      scalar(file, group + "_energy", geometry.energy_ev / 1000);
      if (geometry.has_object_pixel())
        file.write(group + "_psize", at::full({2}, geometry.object_pixel_m, at::kDouble));
    }
    if (image.positions.defined())
      file.write("content/positions/SMFG00/positions", from_middle(image));
  });
}

/// Layers and modes one behind the other, from the top left corner, as PyNX saves them.
void write_pynx(const fs::path& path, const Reconstruction& image) {
  require(image.probe.defined(), "PyNX: expected a result with a probe, found none");
  const Geometry& geometry = image.geometry;
  write_hdf5(path, [&](Hdf5File& file) {
    file.set("/", "creator", "ptyche " + version());
    file.write("cxi_version", at::scalar_tensor(std::int64_t{140}, at::kLong));
    file.write("entry_1/object/data", image.object);
    file.write("entry_1/probe/data", image.main_probe());
    file.write("entry_1/result_1/Object-layer00", image.projection());
    for (const char* group : {"entry_1/object/", "entry_1/probe/", "entry_1/result_1/"})
      for (const char* axis : {"x_pixel_size", "y_pixel_size"})
        scalar(file, std::string(group) + axis, geometry.object_pixel_m);
    scalar(file, cxi::kSourceEnergy, geometry.energy_ev * cxi::kJoulesPerEv);
    scalar(file, cxi::kDistance, geometry.distance_m);
  });
}

// Pictures.

struct TiffEnd {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};

void write_tiff(const fs::path& path, const at::Tensor& image) {
  write_atomically(path, [&](const fs::path& temporary) {
    const std::unique_ptr<TIFF, TiffEnd> tiff(TIFFOpen(temporary.c_str(), "w"));
    require(tiff != nullptr, "{}: could not be written", path.string());
    const auto cols = static_cast<std::uint32_t>(image.size(1));
    TIFFSetField(tiff.get(), TIFFTAG_IMAGEWIDTH, cols);
    TIFFSetField(tiff.get(), TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(image.size(0)));
    TIFFSetField(tiff.get(), TIFFTAG_BITSPERSAMPLE, 32);
    TIFFSetField(tiff.get(), TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff.get(), TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
    TIFFSetField(tiff.get(), TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff.get(), TIFFTAG_ROWSPERSTRIP, 64);
    at::Tensor rows = image.to(at::kFloat).contiguous().clone();
    for (std::int64_t row = 0; row < rows.size(0); ++row)
      require(TIFFWriteScanline(tiff.get(), rows[row].mutable_data_ptr(),
                                static_cast<std::uint32_t>(row)) == 1,
              "{}: could not be written", path.string());
  });
}

/// `low` becomes 0, `high` 65535.
void write_png16(const fs::path& path, const at::Tensor& image, double low, double high) {
  const double range = high > low ? high - low : 1;
  const at::Tensor levels = ((image.to(at::kDouble) - low) / range * 65535)
                                .round()
                                .clamp(0, 65535)
                                .to(at::kInt)
                                .contiguous();
  std::vector<std::uint16_t> pixels(static_cast<std::size_t>(levels.numel()));
  std::copy_n(levels.const_data_ptr<std::int32_t>(), pixels.size(), pixels.begin());
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.size(1));
  png.height = static_cast<png_uint_32>(image.size(0));
  png.format = PNG_FORMAT_LINEAR_Y;
  write_atomically(path, [&](const fs::path& temporary) {
    require(png_image_write_to_file(&png, temporary.c_str(), 0, pixels.data(), 0, nullptr) != 0,
            "{}: could not be written: {}", path.string(), png.message);
  });
}

nlohmann::ordered_json write_picture(const fs::path& folder, const std::string& name,
                                     const at::Tensor& image) {
  const double low = image.min().item<double>(), high = image.max().item<double>();
  write_tiff(folder / (name + ".tif"), image);
  write_png16(folder / (name + ".png"), image, low, high);
  return {{"png_0", low}, {"png_65535", high > low ? high : low + 1}};
}

void write_images_with(const fs::path& folder, const Reconstruction& image,
                       const at::Tensor& phase) {
  require_writable_folder(folder);
  nlohmann::ordered_json scale;
  scale["amplitude"] = write_picture(folder, "amplitude", at::abs(image.projection()));
  scale["phase_rad"] = write_picture(folder, "phase", phase);
  scale["pixel_m"] = image.geometry.object_pixel_m;
  scale["rows"] = image.rows();
  scale["cols"] = image.cols();
  scale["source"] = image.provenance.source;
  write_text(folder / "scale.json", scale.dump(2) + "\n");
}

void write_images(const fs::path& folder, const Reconstruction& image) {
  write_images_with(folder, image, at::angle(image.projection()));
}

void write_npy(const fs::path& path, const Reconstruction& image) {
  const at::Tensor object = image.projection().contiguous();
  write_atomically(path, [&](const fs::path& temporary) {
    std::ofstream out(temporary, std::ios::binary);
    out << npy_header(object);
    out.write(static_cast<const char*>(object.const_data_ptr()),
              static_cast<std::streamsize>(object.nbytes()));
    out.close();
    require(!out.fail(), "{}: could not be written", path.string());
  });
}

void write_product(const fs::path& path, const Reconstruction& image) {
  require(image.probe.defined() && image.positions.defined(),
          "ptychodus: expected a result with probe and positions, found one without");
  write_reconstruction(path, image);
}

const std::vector<NamedWriter<Reconstruction>>& result_writers() {
  static const std::vector<NamedWriter<Reconstruction>> all{{"ptychodus", ".h5", write_product},
                                                            {"PyNX", ".cxi", write_pynx},
                                                            {"ptyr", ".ptyr", write_ptyr},
                                                            {"images", "", write_images},
                                                            {"NPY", ".npy", write_npy}};
  return all;
}

}  // namespace

const std::vector<std::string>& result_formats_written() {
  static const std::vector<std::string> names = formats_of(result_writers());
  return names;
}

std::string result_format_for(const fs::path& file) { return format_for(result_writers(), file); }

void write_result_as(const std::string& format, const fs::path& file, const Reconstruction& image,
                     bool unwrap) {
  require(!unwrap || format == "images",
          "--unwrap: it goes with images (OUT without an ending, or --as images), whose phase is a "
          "number of its own, found {}",
          format);
  if (!unwrap) return write_as(result_writers(), format, file, image);
  const at::Tensor lit =
      image.coverage.defined() ? lit_pixels(image.coverage, kLitToJudge) : at::Tensor();
  write_images_with(file, image, unwrapped_phase(image.projection(), lit));
}

}  // namespace ptyche
