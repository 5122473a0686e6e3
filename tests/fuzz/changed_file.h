// Files of ours with changes that the fuzzer chooses: its bytes name a dataset and what is done to
// it, and the file is sealed again, so that only the checks of the content stand in the way.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "ptyche/storage/hdf5.h"
#include "tests/fuzz/fuzz_file.h"
#include "tests/support/rewritten.h"

namespace ptyche::fuzz {

inline at::ScalarType any_type(FuzzedDataProvider& input) {
  return input.PickValueInArray({at::kBool, at::kByte, at::kShort, at::kInt, at::kLong, at::kFloat,
                                 at::kDouble, at::kComplexFloat, at::kComplexDouble});
}

/// As a tensor, which takes any number into any type.
inline at::Tensor any_number(FuzzedDataProvider& input) {
  const double number = input.PickValueInArray(
      {0.0, -1.0, 0.5, 1.0, 2.0, 1e4, 1e9, 1e18, 1e30, 1e300, -1e300,
       std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()});
  return at::scalar_tensor(number, at::kDouble);
}

/// The array with another shape, another type, another number, or not there at all.
inline at::Tensor changed(at::Tensor values, FuzzedDataProvider& input) {
  switch (input.ConsumeIntegralInRange(0, 5)) {
    case 0:
      return {};
    case 1: {
      std::vector<std::int64_t> shape;
      for (int axes = input.ConsumeIntegralInRange(0, 4); axes > 0; --axes)
        shape.push_back(input.ConsumeIntegralInRange(0, 40));
      return at::ones(shape, any_type(input));
    }
    case 2:
      return values.is_complex() ? at::real(values).to(any_type(input))
                                 : values.to(any_type(input));
    case 3:
      return values.unsqueeze(0).contiguous();
    case 4:
      return at::empty_like(values).copy_(any_number(input));
    default: {
      values = values.clone();
      const std::int64_t size = values.numel();
      if (size > 0)
        values.view({-1})[input.ConsumeIntegralInRange<std::int64_t>(0, size - 1)].copy_(
            any_number(input));
      return values;
    }
  }
}

/// Those that hold numbers.
inline std::vector<std::string> datasets_of_numbers(const Hdf5File& file) {
  std::vector<std::string> names = file.datasets();
  std::erase_if(names, [&](const std::string& name) {
    try {
      file.read(name);
      return false;
    } catch (const InvalidInput&) {
      return true;
    }
  });
  return names;
}

/// Changes 1 to 3 datasets of the file.
inline void change(const std::filesystem::path& file, FuzzedDataProvider& input) {
  const Hdf5File in = Hdf5File::open(file);
  const std::vector<std::string> names = datasets_of_numbers(in);
  std::map<std::string, at::Tensor> others;
  for (int left = input.ConsumeIntegralInRange(1, 3); left > 0; --left) {
    const std::string& name = names[input.ConsumeIntegralInRange<std::size_t>(0, names.size() - 1)];
    others[name] = changed(in.read(name).values, input);
  }
  rewrite(file, others);
}

}  // namespace ptyche::fuzz
