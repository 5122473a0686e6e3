#include "ptyche/engine/int8_convolution.h"

#include <gtest/gtest.h>

namespace ptyche {
namespace {

constexpr ByteUnits kUnits{20, 40};

struct Drawn {
  at::Tensor bytes, weight, bias;

  explicit Drawn(std::int64_t images, std::int64_t in = 24, std::int64_t out = 32) {
    at::manual_seed(7);
    bytes = at::randint(0, 256, {images, in, 10, 7}, at::kByte)
                .contiguous(at::MemoryFormat::ChannelsLast);
    weight = at::randn({out, in, 3, 3});
    bias = at::randn({out});
  }

  at::Tensor exact() const {
    const at::Tensor values = (bytes.to(at::kDouble) - kUnits.zero) / kUnits.per_unit;
    return at::conv2d(values, weight.to(at::kDouble), bias.to(at::kDouble), 1, 1);
  }

  at::Tensor ours(at::ScalarType type) const {
    return Int8Convolution(weight, bias, kUnits)(bytes, type);
  }
};

#define NEEDS_BYTES() \
  if (!processor_multiplies_bytes()) GTEST_SKIP() << "this processor does not multiply bytes"

double distance(const at::Tensor& a, const at::Tensor& b) {
  return ((a.to(at::kDouble) - b).norm() / b.norm()).item<double>();
}

TEST(Int8Convolution, AgreesWithTheConvolutionToTheRoundingOfItsWeights) {
  NEEDS_BYTES();
  for (const std::int64_t in : {8, 24, 64}) {
    const Drawn drawn(3, in);
    EXPECT_LT(distance(drawn.ours(at::kFloat), drawn.exact()), 0.01) << in;
    const at::Tensor half = drawn.ours(at::kBFloat16);
    EXPECT_EQ(half.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(half.is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_LT(distance(half, drawn.exact()), 0.012) << in;
  }
}

TEST(Int8Convolution, OfWeightsThatBytesHoldIsExact) {
  NEEDS_BYTES();
  Drawn drawn(2);
  drawn.weight = at::randint(-127, 128, drawn.weight.sizes()).to(at::kFloat);
  drawn.weight.select(1, 0).fill_(127);  // the largest of each feature
  EXPECT_LT(distance(drawn.ours(at::kFloat), drawn.exact()), 1e-6);
}

TEST(Int8Convolution, TakesTheBorderForZeros) {
  NEEDS_BYTES();
  Drawn drawn(1);
  drawn.bytes.fill_(kUnits.zero);
  const at::Tensor found = drawn.ours(at::kFloat);
  EXPECT_LT((found - drawn.bias.view({1, -1, 1, 1})).abs().max().item<double>(), 1e-5);
}

TEST(Int8Convolution, IsTheSameForAnyNumberOfImagesAtATime) {
  NEEDS_BYTES();
  const Drawn all(5);
  const Int8Convolution convolution(all.weight, all.bias, kUnits);
  const at::Tensor together = convolution(all.bytes, at::kFloat);
  for (std::int64_t i = 0; i < 5; ++i) {
    const at::Tensor one = all.bytes.slice(0, i, i + 1).contiguous(at::MemoryFormat::ChannelsLast);
    EXPECT_TRUE(at::equal(convolution(one, at::kFloat)[0], together[i])) << i;
  }
}

TEST(Int8Convolution, OfAFeatureWithoutWeightsIsItsBias) {
  NEEDS_BYTES();
  Drawn drawn(1);
  drawn.weight[3].zero_();
  const at::Tensor found = drawn.ours(at::kFloat).select(1, 3);
  EXPECT_LT((found - drawn.bias[3]).abs().max().item<double>(), 1e-6);
}

}  // namespace
}  // namespace ptyche
