// Messages of a live run: the first byte chooses the dialect, a line end divides JSON from its
// blobs.
#include "ptyche/core/error.h"
#include "ptyche/live/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const bool is_cbor = bytes[0] % 2 == 0;
  std::vector<std::string_view> parts = {rest};
  if (!is_cbor)
    for (std::size_t end = parts.back().find('\n');
         end != std::string_view::npos && parts.size() < 4; end = parts.back().find('\n')) {
      const std::string_view last = parts.back();
      parts.back() = last.substr(0, end);
      parts.push_back(last.substr(end + 1));
    }
  ptyche::DialectState state;
  const ptyche::DialectOptions options{.x = "X", .y = "Y", .upsample = 2};
  try {
    ptyche::decode(is_cbor ? "eiger2" : "json", parts, options, state);
  } catch (const ptyche::InvalidInput&) {
  }
  return 0;
}
