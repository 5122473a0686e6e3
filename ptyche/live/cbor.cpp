#include "ptyche/live/cbor.h"

#include <cbor.h>

#include <optional>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

/// Builds the tree as the library calls out item after item: a container stays open until it has
/// all that it announced. An announced length reserves nothing.
class Builder {
 public:
  void add(CborValue value) {
    require(++count_ <= kMostCborItems, "CBOR: more than {} items", kMostCborItems);
    require(!root_, "CBOR: bytes behind the first item");
    if (open_.empty()) return void(root_ = std::move(value));
    open_.back().value.items.push_back(std::move(value));
    close_full();
  }
  void open(CborValue::Kind kind, std::uint64_t items, std::uint64_t tag = 0) {
    require(++count_ <= kMostCborItems, "CBOR: more than {} items", kMostCborItems);
    require(open_.size() < kDeepestCbor, "CBOR: nested deeper than {}", kDeepestCbor);
    require(items <= kMostCborItems || items == kUntilBreak, "CBOR: a list of {} items", items);
    CborValue value;
    value.kind = kind;
    value.whole = tag;
    open_.push_back({std::move(value), items});
    close_full();
  }
  void close_at_break() {
    require(!open_.empty() && open_.back().left == kUntilBreak, "CBOR: an end without a beginning");
    close();
  }
  std::optional<CborValue>& root() { return root_; }
  static constexpr std::uint64_t kUntilBreak = ~std::uint64_t{0};

 private:
  struct Open {
    CborValue value;
    std::uint64_t left;  // all items that were announced
  };
  void close_full() {
    while (!open_.empty() && open_.back().value.items.size() == open_.back().left) {
      CborValue done = std::move(open_.back().value);
      open_.pop_back();
      if (open_.empty()) return void(root_ = std::move(done));
      open_.back().value.items.push_back(std::move(done));
    }
  }
  void close() {
    CborValue done = std::move(open_.back().value);
    open_.pop_back();
    if (open_.empty()) return void(root_ = std::move(done));
    open_.back().value.items.push_back(std::move(done));
    close_full();
  }
  std::vector<Open> open_;
  std::optional<CborValue> root_;
  std::size_t count_ = 0;
};

/// The callbacks are C: an exception may not pass through the library, and is kept for afterwards.
struct Context {
  Builder builder;
  std::string fault;
};

template <class Work>
void guarded(void* context, Work&& work) {
  auto* const mine = static_cast<Context*>(context);
  if (!mine->fault.empty()) return;
  try {
    work(mine->builder);
  } catch (const InvalidInput& error) {
    mine->fault = error.what();
  }
}

CborValue number(double value, CborValue::Kind kind) {
  CborValue made;
  made.kind = kind;
  made.number = value;
  return made;
}

void add_unsigned(void* context, std::uint64_t value) {
  guarded(context, [&](Builder& builder) {
    CborValue made = number(static_cast<double>(value), CborValue::Kind::integer);
    made.whole = value;
    builder.add(std::move(made));
  });
}
void add_negative(void* context, std::uint64_t value) {
  guarded(context, [&](Builder& builder) {
    builder.add(number(-1.0 - static_cast<double>(value), CborValue::Kind::number));
  });
}
void add_float(void* context, double value) {
  guarded(context, [&](Builder& builder) { builder.add(number(value, CborValue::Kind::number)); });
}
void add_text(void* context, cbor_data data, size_t length, CborValue::Kind kind) {
  guarded(context, [&](Builder& builder) {
    CborValue made;
    made.kind = kind;
    made.text = {reinterpret_cast<const char*>(data), length};
    builder.add(std::move(made));
  });
}
void open_list(void* context, CborValue::Kind kind, std::uint64_t items) {
  guarded(context, [&](Builder& builder) { builder.open(kind, items); });
}
/// Strings in pieces would have to be copied; no detector sends them.
void refuse_pieces(void* context) {
  guarded(context, [](Builder&) { throw InvalidInput("CBOR: a string in pieces"); });
}

cbor_callbacks callbacks() {
  using Kind = CborValue::Kind;
  cbor_callbacks calls = cbor_empty_callbacks;
  calls.uint8 = [](void* c, uint8_t v) { add_unsigned(c, v); };
  calls.uint16 = [](void* c, uint16_t v) { add_unsigned(c, v); };
  calls.uint32 = [](void* c, uint32_t v) { add_unsigned(c, v); };
  calls.uint64 = [](void* c, uint64_t v) { add_unsigned(c, v); };
  calls.negint8 = [](void* c, uint8_t v) { add_negative(c, v); };
  calls.negint16 = [](void* c, uint16_t v) { add_negative(c, v); };
  calls.negint32 = [](void* c, uint32_t v) { add_negative(c, v); };
  calls.negint64 = [](void* c, uint64_t v) { add_negative(c, v); };
  calls.float2 = [](void* c, float v) { add_float(c, v); };
  calls.float4 = [](void* c, float v) { add_float(c, v); };
  calls.float8 = [](void* c, double v) { add_float(c, v); };
  calls.boolean = [](void* c, bool v) {
    guarded(c, [&](Builder& builder) { builder.add(number(v, Kind::truth)); });
  };
  calls.null = [](void* c) { guarded(c, [](Builder& builder) { builder.add({}); }); };
  calls.undefined = calls.null;
  calls.string = [](void* c, cbor_data d, size_t n) { add_text(c, d, n, Kind::text); };
  calls.byte_string = [](void* c, cbor_data d, size_t n) { add_text(c, d, n, Kind::bytes); };
  calls.string_start = refuse_pieces;
  calls.byte_string_start = refuse_pieces;
  calls.array_start = [](void* c, size_t n) { open_list(c, Kind::array, n); };
  calls.indef_array_start = [](void* c) { open_list(c, Kind::array, Builder::kUntilBreak); };
  // Twice the pairs, and above the limit whatever the product would wrap to.
  calls.map_start = [](void* c, size_t n) {
    open_list(c, Kind::map, n > kMostCborItems ? kMostCborItems + 1 : 2 * n);
  };
  calls.indef_map_start = [](void* c) { open_list(c, Kind::map, Builder::kUntilBreak); };
  calls.tag = [](void* c, uint64_t v) {
    guarded(c, [&](Builder& builder) { builder.open(Kind::tag, 1, v); });
  };
  calls.indef_break = [](void* c) {
    guarded(c, [](Builder& builder) { builder.close_at_break(); });
  };
  return calls;
}

}  // namespace

const CborValue* CborValue::at(std::string_view key) const {
  if (kind != Kind::map) return nullptr;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i].kind == Kind::text && items[i].text == key) return &items[i + 1];
  return nullptr;
}

CborValue parse_cbor(std::string_view bytes) {
  const cbor_callbacks calls = callbacks();
  Context context;
  const auto* const data = reinterpret_cast<cbor_data>(bytes.data());
  for (std::size_t done = 0; done < bytes.size();) {
    const cbor_decoder_result step =
        cbor_stream_decode(data + done, bytes.size() - done, &calls, &context);
    require(context.fault.empty(), "{}", context.fault);
    require(step.status == CBOR_DECODER_FINISHED && step.read > 0, "CBOR: damaged at byte {} of {}",
            done, bytes.size());
    done += step.read;
  }
  require(context.builder.root().has_value(), "CBOR: ends after {} bytes, before the item does",
          bytes.size());
  return std::move(*context.builder.root());
}

}  // namespace ptyche
