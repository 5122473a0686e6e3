// Files that grow while the scan runs, and records.
#include "ptyche/core/error.h"
#include "ptyche/live/source.h"

namespace ptyche {

SourceWork open_growing(const SourceUrl& url) {
  require(is_record(url.place), "{}: expected a record", url.text);
  return [url](SourceSink& sink) {
    DialectState state;
    read_record(url.place,
                [&](const RawMessage& raw, double) { return pass_on(sink, raw, {}, state); });
  };
}

}  // namespace ptyche
