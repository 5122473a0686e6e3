#include "ptyche/storage/hdf5_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>

#include "ptyche/storage/hdf5_types.h"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace ptyche {
namespace {

/// What the library knows of a file, first as it has to be, and what the driver needs besides.
struct Output {
  H5FD_t common = {};
  int descriptor = -1;
  int* fault = nullptr;
  haddr_t addresses_end = 0, end = 0;  ///< of what the library has given out, and of the file
};

Output& output(H5FD_t* file) { return *reinterpret_cast<Output*>(file); }
const Output& output(const H5FD_t* file) { return *reinterpret_cast<const Output*>(file); }

void remember_fault(Output& file) {
  if (*file.fault == 0) *file.fault = errno;
}

H5FD_t* open_output(const char* name, unsigned, hid_t access, haddr_t) {
  auto file = std::make_unique<Output>();
  file->fault = *static_cast<int* const*>(H5Pget_driver_info(access));
  file->descriptor = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file->descriptor >= 0) return &file.release()->common;
  remember_fault(*file);
  return nullptr;
}

herr_t close_output(H5FD_t* file) {
  const std::unique_ptr<Output> owned(&output(file));
  if (close(owned->descriptor) != 0) remember_fault(*owned);
  return 0;
}

herr_t query_output(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t addresses_end(const H5FD_t* file, H5FD_mem_t) { return output(file).addresses_end; }

herr_t set_addresses_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  output(file).addresses_end = end;
  return 0;
}

haddr_t end_of_output(const H5FD_t* file, H5FD_mem_t) { return output(file).end; }

/// Zeros where nothing is.
herr_t read_output(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size, void* to) {
  auto* bytes = static_cast<char*>(to);
  for (std::size_t done = 0; done < size;) {
    const ssize_t some =
        pread(output(file).descriptor, bytes + done, size - done, static_cast<off_t>(at + done));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return -1;
    if (some == 0) {
      std::memset(bytes + done, 0, size - done);
      break;
    }
    done += static_cast<std::size_t>(some);
  }
  return 0;
}

herr_t write_output(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size,
                    const void* from) {
  Output& out = output(file);
  const auto* bytes = static_cast<const char*>(from);
  for (std::size_t done = 0; done < size && *out.fault == 0;) {
    const ssize_t some =
        pwrite(out.descriptor, bytes + done, size - done, static_cast<off_t>(at + done));
    if (some > 0) done += static_cast<std::size_t>(some);
    if (some == 0) errno = EIO;
    if (some <= 0 && errno != EINTR) remember_fault(out);
  }
  out.end = std::max(out.end, at + size);
  return 0;
}

herr_t truncate_output(H5FD_t* file, hid_t, hbool_t) {
  Output& out = output(file);
  if (out.end == out.addresses_end) return 0;
  if (ftruncate(out.descriptor, static_cast<off_t>(out.addresses_end)) != 0) remember_fault(out);
  out.end = out.addresses_end;
  return 0;
}

H5FD_class_t output_driver() {
  H5FD_class_t driver = {};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(612);  // 512..65535 are for such as we are
#endif
  driver.name = "ptyche";
  driver.maxaddr = static_cast<haddr_t>(std::numeric_limits<off_t>::max());
  driver.fc_degree = H5F_CLOSE_STRONG;  // `fault` does not outlive it
  driver.fapl_size = sizeof(int*);
  driver.open = open_output;
  driver.close = close_output;
  driver.query = query_output;
  driver.get_eoa = addresses_end;
  driver.set_eoa = set_addresses_end;
  driver.get_eof = end_of_output;
  driver.read = read_output;
  driver.write = write_output;
  driver.truncate = truncate_output;
  constexpr H5FD_mem_t kKinds[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kKinds), std::end(kKinds), std::begin(driver.fl_map));
  return driver;
}

}  // namespace

Hdf5Id writing_access(int& fault) {
  static const H5FD_class_t driver = output_driver();
  static const hid_t number = H5FDregister(&driver);
  fault = 0;
  int* const where = &fault;
  Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const bool set = H5Pset_driver(access.get(), number, static_cast<const void*>(&where)) >= 0;
  require_success(number >= 0 && set, "no driver for what is written");
  return access;
}

}  // namespace ptyche
