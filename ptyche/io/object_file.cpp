#include "ptyche/io/object_file.h"

#include <fstream>

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"
#include "ptyche/io/cxi_paths.h"
#include "ptyche/io/hdf5.h"
#include "ptyche/io/npz.h"
#include "ptyche/io/product.h"

namespace ptyche {
namespace {

bool is_zip(const std::filesystem::path& path) {
  char start[2] = {};
  std::ifstream(path, std::ios::binary).read(start, 2);
  return start[0] == 'P' && start[1] == 'K';
}

Reconstruction with_object(const at::Tensor& array, const std::string& name) {
  const at::Tensor object = array.squeeze();
  require(object.dim() == 2 && object.is_complex() && object.numel() > 0,
          "{}: expected complex (rows, cols), found {}", name, describe(array));
  Reconstruction image;
  image.object = object.to(at::kComplexFloat).contiguous();
  return image;
}

Reconstruction read_npz_object(const std::filesystem::path& path) {
  const NpzFile file(path);
  const std::string name = file.first_of({"object", "objectGuess", "truth", "YY_pred"});
  return with_object(file.read(name).values, name);
}

Reconstruction read_truth(const Hdf5File& file) {
  require(file.has(cxi::kTruth),
          "expected an object: 'object' of a reconstruction or 'ptyche/truth' of a simulated scan, "
          "found neither");
  Reconstruction image = with_object(file.read(cxi::kTruth).values, cxi::kTruth);
  image.geometry.object_pixel_m = file.number(cxi::kOurs, "object_pixel_m").value_or(0);
  return image;
}

bool is_product(const std::filesystem::path& path) {
  return !is_zip(path) && Hdf5File::open(path).has("object");
}

Reconstruction read_bare_object(const std::filesystem::path& path) {
  Reconstruction image = is_zip(path) ? read_npz_object(path) : read_truth(Hdf5File::open(path));
  image.provenance.source = path.string();
  return image;
}

}  // namespace

Reconstruction read_object_file(const std::filesystem::path& path) {
  const bool product = with_context(path.string(), [&] { return is_product(path); });
  if (product) return read_reconstruction(path);
  return with_context(path.string(), [&] { return read_bare_object(path); });
}

}  // namespace ptyche
