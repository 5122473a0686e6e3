// What libptyche_pva.so (PVXS, the EPICS PV Access client) offers to the program: one table, found
// by name. PVXS comes compiled with the C++ library's old strings and LibTorch with the new ones,
// so that nothing but plain C types stands here, and no exception crosses the border.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptyche::pva {

/// Counted up with every change of what stands below.
inline constexpr int kInterface = 1;

inline constexpr int kMostDimensions = 4;

/// A PV that changes is an image (NTNDArray); others are numbers with times.
struct PvName {
  const char* name = nullptr;
  bool is_image = false;
};

struct Request {
  const PvName* pvs = nullptr;
  int count = 0;
  const char* attributes[2] = {};  ///< of the image, read as numbers; nullptr = not wanted
  int queue = 0;                   ///< updates that may wait here and at the server, per PV
};

enum class Event : int {
  nothing,       ///< within the time that was given
  connected,     ///< the next update of this PV is what it held before
  disconnected,  ///< `text`: why
  image,
  numbers,
  refused  ///< `text`: what came instead
};

/// What a PV has sent. Pointers hold until the next call of the same session. Nothing is checked:
/// all numbers are the sender's.
struct Update {
  Event event = Event::nothing;
  int pv = 0;  ///< its place in the request
  char text[256] = {};

  // An image. Times are seconds since 1970; 0 = not set.
  const void* bytes = nullptr;  ///< nullptr: no array in it, as before the first exposure
  std::size_t size = 0;
  char type[12] = {};   ///< NumPy's name of the array's elements
  char codec[16] = {};  ///< empty = plain
  /// Of the unpacked pixels: pvData's number of their type, and their bytes; 0 = not said.
  std::int64_t codec_type = 0, unpacked_bytes = 0;
  std::int64_t packed_bytes = 0;  ///< of `size`, those that count; 0 = all
  int dimensions = 0;             ///< may be more than kMostDimensions
  std::int64_t sizes[kMostDimensions] = {};
  std::int64_t unique_id = 0;
  double data_time = 0, time = 0;
  double attributes[2] = {};
  bool has_attribute[2] = {};

  // Numbers; `times` is nullptr where not every number has one.
  const double* values = nullptr;
  const double* times = nullptr;
  std::size_t count = 0;
};

struct Table {
  int interface_number = kInterface;
  /// sizeof what crosses the border, as the plug-in was compiled.
  std::size_t request_bytes = sizeof(Request), update_bytes = sizeof(Update);

  /// Subscribes to all PVs. nullptr where the client cannot begin; `text` says why, ended by 0.
  void* (*open)(const Request& request, char* text, std::size_t bytes) = nullptr;
  /// What came next, after at most `wait_s`.
  void (*next)(void* session, double wait_s, Update& update) = nullptr;
  void (*close)(void* session) = nullptr;
};

}  // namespace ptyche::pva

/// The plug-in's only symbol that is visible.
extern "C" const ptyche::pva::Table* ptyche_pva_plugin();
