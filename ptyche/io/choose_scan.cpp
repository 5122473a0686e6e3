#include <fmt/ranges.h>

#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/io/file_array.h"
#include "ptyche/io/prepare.h"

namespace ptyche {
namespace {

/// The file's numbers in words.
std::string numbers_in_words(const at::Tensor& numbers) {
  std::vector<std::string> words;
  for (std::int64_t i = 0; i < numbers.size(0); ++i)
    words.push_back(fmt::format("{}", numbers[i].item<std::int64_t>()));
  return list_of(words);
}

}  // namespace

void choose_scan(RawScan& raw, std::int64_t scan_index) {
  if (!raw.scan_index.defined()) {
    require(scan_index < 0, "--scan-index: expected a file with an array scan_index, found none");
    return;
  }
  const at::Tensor numbers = std::get<0>(at::_unique(raw.scan_index.contiguous()));
  require(scan_index >= 0 || numbers.size(0) == 1,
          "scan_index: expected one scan, found {}: {}; --scan-index K takes one of them",
          numbers.size(0), numbers_in_words(numbers));
  if (scan_index < 0) return;
  const at::Tensor chosen = at::nonzero(raw.scan_index.eq(scan_index)).flatten();
  require(chosen.size(0) > 0, "--scan-index: expected one of {}, found {}",
          numbers_in_words(numbers), scan_index);
  if (chosen.size(0) < raw.frames())
    note("scan {}: {} of the file's {} patterns, counted from 0 among themselves", scan_index,
         chosen.size(0), raw.frames());
  raw.patterns = raw.patterns.index_select(0, chosen);
  raw.positions = raw.positions.index_select(0, chosen);
  if (raw.true_positions.defined()) raw.true_positions = raw.true_positions.index_select(0, chosen);
  raw.scan_index = raw.scan_index.index_select(0, chosen);
}

}  // namespace ptyche
