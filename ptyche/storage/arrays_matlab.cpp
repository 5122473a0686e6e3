// MATLAB 5 files through libmatio. (7.3 is HDF5.)
#include <matio.h>

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/data/array.h"
#include "ptyche/storage/arrays.h"
#include "ptyche/storage/file_identity.h"
#include "ptyche/storage/trial.h"
#include "ptyche/storage/zip_members.h"

namespace ptyche {
namespace {

struct MatCloser {
  void operator()(mat_t* file) const { Mat_Close(file); }
};
struct VariableCloser {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};
using Variable = std::unique_ptr<matvar_t, VariableCloser>;

std::optional<at::ScalarType> tensor_type(const matvar_t& variable) {
  switch (variable.class_type) {
    case MAT_C_DOUBLE:
      return at::kDouble;
    case MAT_C_SINGLE:
      return at::kFloat;
    case MAT_C_INT8:
      return at::kChar;
    case MAT_C_UINT8:
      return at::kByte;
    case MAT_C_INT16:
    case MAT_C_UINT16:
      return at::kShort;
    case MAT_C_INT32:
    case MAT_C_UINT32:
      return at::kInt;
    case MAT_C_INT64:
    case MAT_C_UINT64:
      return at::kLong;
    default:
      return std::nullopt;
  }
}

bool has_unsigned_bits(const matvar_t& variable) {
  return variable.class_type == MAT_C_UINT16 || variable.class_type == MAT_C_UINT32 ||
         variable.class_type == MAT_C_UINT64;
}

at::Tensor copied(const void* data, const std::vector<std::int64_t>& shape, at::ScalarType type) {
  require(data != nullptr, "expected numbers, found none");
  checked_bytes(shape, static_cast<std::int64_t>(at::elementSize(type)));
  return at::from_blob(const_cast<void*>(data), shape, type).clone();
}

// The values of larger variables are read by the same code as those of small ones.
constexpr double kMostValues = 1 << 23;

double values_of(const matvar_t& variable) {
  double values = 1;
  for (int axis = 0; axis < variable.rank && variable.dims != nullptr; ++axis)
    values *= static_cast<double>(variable.dims[axis]);
  return values;
}

/// libmatio reserves what a damaged header asks for. A value takes a byte at least, those of sparse
/// matrices aside, which nobody reads; a structure's fields are variables, too.
void require_room(const matvar_t& variable, double file_bytes) {
  if (variable.class_type == MAT_C_SPARSE) return;
  const double most =
      file_bytes * (variable.compression == MAT_COMPRESSION_NONE ? 1 : kLargestDeflateRatio);
  require(
      values_of(variable) <= most,
      "{}: the file is damaged: it says {:.0f} values, and {:.0f} bytes hold no more than {:.0f}",
      variable.name == nullptr ? "a variable" : variable.name, values_of(variable), file_bytes,
      most);
  const bool has_parts = variable.class_type == MAT_C_STRUCT || variable.class_type == MAT_C_CELL;
  if (!has_parts || variable.data == nullptr) return;
  const auto* const* const parts = static_cast<const matvar_t* const*>(variable.data);
  const std::size_t count = variable.nbytes / sizeof(matvar_t*);
  for (std::size_t i = 0; i < count; ++i)
    if (parts[i] != nullptr) require_room(*parts[i], file_bytes);
}

/// In a process of its own: libmatio has been known to crash on damaged files.
TrialEnd try_file(const char* name) {
  const std::unique_ptr<mat_t, MatCloser> file(Mat_Open(name, MAT_ACC_RDONLY));
  if (!file) return TrialEnd::sound;  // whoever opens it is told why
  while (const Variable variable{Mat_VarReadNextInfo(file.get())}) {
    if (values_of(*variable) <= kMostValues) Mat_VarReadDataAll(file.get(), variable.get());
  }
  return TrialEnd::sound;
}

void require_sound_matlab(const std::filesystem::path& file) {
  static KnownFiles<std::string> known;
  const std::string fault = known.of(file, [&] { return fault_in_trial(file, try_file); });
  require(fault.empty(), "the file is damaged (libmatio failed while reading it: {})", fault);
}

/// The variable with MATLAB's shape: its first index runs fastest in the file.
at::Tensor as_tensor(const matvar_t& variable) {
  const auto type = tensor_type(variable);
  require(type.has_value(), "expected numbers, found another kind of data");
  require(variable.rank > 0 && variable.dims != nullptr &&
              variable.data_size == static_cast<int>(at::elementSize(*type)),
          "expected numbers, found a damaged variable");
  std::vector<std::int64_t> shape(variable.dims, variable.dims + variable.rank);
  std::reverse(shape.begin(), shape.end());
  at::Tensor values;
  if (variable.isComplex) {
    const auto& parts = *static_cast<const mat_complex_split_t*>(variable.data);
    values = at::complex(copied(parts.Re, shape, *type), copied(parts.Im, shape, *type));
  } else {
    values = copied(variable.data, shape, *type);
    if (has_unsigned_bits(variable)) values = from_unsigned_bits(values);
  }
  std::vector<std::int64_t> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<std::int64_t>(order.size() - 1 - i);
  return values.permute(order).contiguous();
}

/// An array (rows, cols, n), of which MATLAB's order puts whole frames one after another, each with
/// its columns first.
class MatlabStack : public FrameStack {
 public:
  MatlabStack(const StackShape& shape, std::filesystem::path file, std::string name)
      : FrameStack(shape), file_(std::move(file)), name_(std::move(name)) {}

  void read(std::int64_t first, const Window& window, at::Tensor to) const override {
    const std::unique_ptr<mat_t, MatCloser> file(Mat_Open(file_.c_str(), MAT_ACC_RDONLY));
    const Variable variable(file ? Mat_VarReadInfo(file.get(), name_.c_str()) : nullptr);
    require(variable != nullptr, "{}: could not be read", name_);
    constexpr std::int64_t kAtOnce = std::int64_t{32} << 20;
    const std::int64_t step = std::max<std::int64_t>(1, kAtOnce / shape_.frame_bytes());
    for (std::int64_t done = 0; done < to.size(0); done += step) {
      const std::int64_t count = std::min(step, to.size(0) - done);
      at::Tensor frames = at::empty({count, shape_.cols, shape_.rows}, shape_.type);
      int start[] = {0, 0, static_cast<int>(first + done)}, stride[] = {1, 1, 1};
      int edge[] = {static_cast<int>(shape_.rows), static_cast<int>(shape_.cols),
                    static_cast<int>(count)};
      require(Mat_VarReadData(file.get(), variable.get(), frames.mutable_data_ptr(), start, stride,
                              edge) == 0,
              "{}: could not be read", name_);
      to.narrow(0, done, count).copy_(cut(frames.transpose(1, 2), window));
    }
  }
  bool in_order_only() const override { return true; }  // where it is packed

 private:
  std::filesystem::path file_;
  std::string name_;
};

class MatlabArrays : public ArrayFile {
 public:
  explicit MatlabArrays(const std::filesystem::path& file) : path_(file) {
    require_sound_matlab(file);
    file_.reset(Mat_Open(file.c_str(), MAT_ACC_RDONLY));
    require(file_ != nullptr, "expected a MATLAB 5 file, found a damaged one");
    const auto bytes = static_cast<double>(std::filesystem::file_size(file));
    while (Variable variable{Mat_VarReadNextInfo(file_.get())}) {
      require_room(*variable, bytes);
      append_names(*variable);
    }
  }
  std::vector<std::string> names() const override { return names_; }
  bool has(const std::string& name) const override {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  FileArray read(const std::string& name) const override {
    return with_context(name, [&] {
      require(has(name), "expected a variable of this name, found {}", list_of(names_));
      const std::vector<std::string> parts = split(name, '.');
      const Variable info(Mat_VarReadInfo(file_.get(), parts.front().c_str()));
      require(info != nullptr && (tensor_type(*info) || info->class_type == MAT_C_STRUCT),
              "expected numbers, found another kind of data");
      const Variable variable(Mat_VarRead(file_.get(), parts.front().c_str()));
      matvar_t* field = variable.get();
      for (std::size_t i = 1; i < parts.size() && field != nullptr; ++i)
        field = Mat_VarGetStructFieldByName(field, parts[i].c_str(), 0);
      require(field != nullptr && field->data != nullptr, "could not be read");
      return FileArray{as_tensor(*field), 0};
    });
  }
  std::unique_ptr<FrameStack> frames(const std::string& name) const override {
    const Variable variable(Mat_VarReadInfo(file_.get(), name.c_str()));
    const auto type = variable ? tensor_type(*variable) : std::nullopt;
    if (!type || variable->rank != 3 || variable->isComplex) return nullptr;
    const std::size_t* const lengths = variable->dims;
    StackShape shape{.frames = static_cast<std::int64_t>(lengths[2]),
                     .rows = static_cast<std::int64_t>(lengths[0]),
                     .cols = static_cast<std::int64_t>(lengths[1]),
                     .type = *type,
                     .unsigned_bits = has_unsigned_bits(*variable),
                     .last_axis = true};
    if (shape.frames == 0 || shape.frame_bytes() == 0) return nullptr;
    return std::make_unique<MatlabStack>(shape, path_, name);
  }

 private:
  void append_names(const matvar_t& variable) {
    require(variable.name != nullptr, "expected variables with names, found one without");
    names_.push_back(variable.name);
    if (variable.class_type != MAT_C_STRUCT) return;
    char* const* const fields = Mat_VarGetStructFieldnames(&variable);
    const unsigned count = Mat_VarGetNumberOfFields(const_cast<matvar_t*>(&variable));
    for (unsigned i = 0; fields != nullptr && i < count && fields[i] != nullptr; ++i)
      names_.push_back(std::string(variable.name) + "." + fields[i]);
  }

  std::filesystem::path path_;
  std::unique_ptr<mat_t, MatCloser> file_;
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<ArrayFile> open_matlab_arrays(const std::filesystem::path& file) {
  return std::make_unique<MatlabArrays>(file);
}

}  // namespace ptyche
