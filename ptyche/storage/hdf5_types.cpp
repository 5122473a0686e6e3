#include "ptyche/storage/hdf5_types.h"

#include <algorithm>
#include <array>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

Hdf5Id copy_of(hid_t type) { return {H5Tcopy(type), H5Tclose}; }

std::string member_name(hid_t type, unsigned index) {
  char* name = H5Tget_member_name(type, index);
  const std::string copy = name ? name : "";
  H5free_memory(name);
  return copy;
}

/// A compound of two floats; the members keep the file's names, by which HDF5 matches them.
Hdf5Id complex_type(hid_t part, const std::string& real, const std::string& imaginary) {
  const std::size_t bytes = H5Tget_size(part);
  Hdf5Id type(H5Tcreate(H5T_COMPOUND, 2 * bytes), H5Tclose);
  H5Tinsert(type.get(), real.c_str(), 0, part);
  H5Tinsert(type.get(), imaginary.c_str(), bytes, part);
  return type;
}

/// The library converts members wherever a damaged file says that they lie, past the ends of its
/// own buffers, too.
void require_members_inside(hid_t file_type) {
  std::array<std::array<std::size_t, 2>, 2> members{};  // begin and end of each, in bytes
  for (unsigned i = 0; i < 2; ++i) {
    const Hdf5Id part(H5Tget_member_type(file_type, i), H5Tclose);
    const std::size_t begin = H5Tget_member_offset(file_type, i);
    members[i] = {begin, begin + H5Tget_size(part.get())};
  }
  const auto [first, second] = std::minmax(members[0], members[1]);
  const std::size_t whole = H5Tget_size(file_type);
  require(
      first[0] < first[1] && first[1] <= second[0] && second[0] < second[1] && second[1] <= whole,
      "expected two numbers in {} bytes, found them at {} to {} and {} to {}: damaged", whole,
      first[0], first[1], second[0], second[1]);
}

Hdf5Reading complex_reading(hid_t file_type) {
  bool two_floats = H5Tget_nmembers(file_type) == 2;
  bool narrow = true;
  for (unsigned i = 0; two_floats && i < 2; ++i) {
    const Hdf5Id part(H5Tget_member_type(file_type, i), H5Tclose);
    two_floats = H5Tget_class(part.get()) == H5T_FLOAT;
    narrow = narrow && H5Tget_size(part.get()) <= 4;
  }
  require(two_floats, "expected numbers, found a compound of {} members",
          H5Tget_nmembers(file_type));
  require_members_inside(file_type);
  return {narrow ? at::kComplexFloat : at::kComplexDouble,
          complex_type(narrow ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, member_name(file_type, 0),
                       member_name(file_type, 1))};
}

Hdf5Reading integer_reading(hid_t file_type) {
  const auto bytes = static_cast<std::int64_t>(H5Tget_size(file_type));
  const bool is_signed = H5Tget_sign(file_type) != H5T_SGN_NONE;
  const double ceiling = integer_ceiling(bytes, is_signed);
  const bool wide_bits = !is_signed && bytes > 1;
  if (bytes == 1 && is_signed) return {at::kChar, copy_of(H5T_NATIVE_INT8), false, ceiling};
  if (bytes == 1) return {at::kByte, copy_of(H5T_NATIVE_UINT8), false, ceiling};
  if (bytes == 2) {
    return {at::kShort, copy_of(is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16), wide_bits,
            ceiling};
  }
  if (bytes <= 4) {
    return {at::kInt, copy_of(is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32), wide_bits,
            ceiling};
  }
  return {at::kLong, copy_of(is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64), wide_bits, ceiling};
}

Hdf5Id bool_type() {
  Hdf5Id type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
  const std::array<std::int8_t, 2> values{0, 1};
  H5Tenum_insert(type.get(), "FALSE", &values[0]);
  H5Tenum_insert(type.get(), "TRUE", &values[1]);
  return type;
}

Hdf5Reading enum_reading(hid_t file_type) {
  require(H5Tget_size(file_type) == 1 && H5Tget_nmembers(file_type) == 2 &&
              member_name(file_type, 0) == "FALSE",
          "expected numbers, found an enumeration of {} names", H5Tget_nmembers(file_type));
  return {at::kBool, bool_type()};
}

herr_t keep_first(unsigned n, const H5E_error2_t* error, void* text) {
  if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

/// The innermost message on the library's error stack: why the last call failed.
std::string reason_of_failure() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  return text.empty() ? "no reason given by HDF5" : text;
}

}  // namespace

Hdf5Reading reading_of(hid_t file_type) {
  switch (H5Tget_class(file_type)) {
    case H5T_INTEGER:
      return integer_reading(file_type);
    case H5T_FLOAT:
      return H5Tget_size(file_type) <= 4 ? Hdf5Reading{at::kFloat, copy_of(H5T_NATIVE_FLOAT)}
                                         : Hdf5Reading{at::kDouble, copy_of(H5T_NATIVE_DOUBLE)};
    case H5T_COMPOUND:
      return complex_reading(file_type);
    case H5T_ENUM:
      return enum_reading(file_type);
    default:
      throw InvalidInput("expected numbers, found text or another kind of data");
  }
}

namespace {

/// IEEE 754 binary16, for which the library has no name of its own.
Hdf5Id half_type() {
  Hdf5Id type = copy_of(H5T_NATIVE_FLOAT);
  H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), 15);
  return type;
}

}  // namespace

Hdf5Id writing_of(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return half_type();
    case at::kBool:
      return bool_type();
    case at::kByte:
      return copy_of(H5T_NATIVE_UINT8);
    case at::kShort:
      return copy_of(H5T_NATIVE_INT16);
    case at::kInt:
      return copy_of(H5T_NATIVE_INT32);
    case at::kLong:
      return copy_of(H5T_NATIVE_INT64);
    case at::kFloat:
      return copy_of(H5T_NATIVE_FLOAT);
    case at::kDouble:
      return copy_of(H5T_NATIVE_DOUBLE);
    case at::kComplexFloat:
      return complex_type(H5T_NATIVE_FLOAT, "r", "i");
    case at::kComplexDouble:
      return complex_type(H5T_NATIVE_DOUBLE, "r", "i");
    default:
      throw InvalidInput("expected a type that HDF5 has, found " + type_name(type));
  }
}

Hdf5Id text_type() {
  Hdf5Id type = copy_of(H5T_C_S1);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

void require_success(bool ok, const std::string& what) {
  if (!ok) throw InvalidInput(what + ": " + reason_of_failure());
}

}  // namespace ptyche
