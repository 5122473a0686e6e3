// What of our physics and layers NVIDIA GPUs do in one kernel each, where LibTorch's operations
// would read and write every pixel some hundred times. Compiled by NVRTC to PTX when the program is
// built (cmake/DeviceKernels.cmake); launched by device_kernels.cpp, which says what the arguments
// are.

#ifdef __CUDACC_RTC__
#define UNROLL _Pragma("unroll")
#else  // tests/support/cuda_on_cpu.h
#define UNROLL
#endif

namespace {

__device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ float2 operator*(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
__device__ float2 conj(float2 a) { return make_float2(a.x, -a.y); }
__device__ float power(float2 a) { return a.x * a.x + a.y * a.y; }

// Transforms of 64 points: eight threads hold eight points each, thread j the points j + 8 k,
// before and after (Cooley & Tukey, Math. Comput. 19, 297 (1965), with 64 = 8 x 8). Sign is that of
// the exponent; nothing is scaled.

/// times exp(Sign i pi / 2)
template <int Sign>
__device__ float2 quarter_turn(float2 a) {
  return Sign > 0 ? make_float2(-a.y, a.x) : make_float2(a.y, -a.x);
}
/// times exp(Sign i pi / 4)
template <int Sign>
__device__ float2 eighth_turn(float2 a) {
  const float2 b = quarter_turn<Sign>(a);
  return make_float2(0.70710678118654752f * (a.x + b.x), 0.70710678118654752f * (a.y + b.y));
}

template <int Sign>
__device__ void fft_8(float2 (&x)[8]) {
  const float2 a0 = x[0] + x[4], a1 = x[1] + x[5], a2 = x[2] + x[6], a3 = x[3] + x[7];
  const float2 b0 = x[0] - x[4], b1 = eighth_turn<Sign>(x[1] - x[5]);
  const float2 b2 = quarter_turn<Sign>(x[2] - x[6]);
  const float2 b3 = quarter_turn<Sign>(eighth_turn<Sign>(x[3] - x[7]));
  const float2 c0 = a0 + a2, c1 = a1 + a3, c2 = a0 - a2, c3 = quarter_turn<Sign>(a1 - a3);
  const float2 d0 = b0 + b2, d1 = b1 + b3, d2 = b0 - b2, d3 = quarter_turn<Sign>(b1 - b3);
  x[0] = c0 + c1, x[4] = c0 - c1, x[2] = c2 + c3, x[6] = c2 - c3;
  x[1] = d0 + d1, x[5] = d0 - d1, x[3] = d2 + d3, x[7] = d2 - d3;
}

constexpr int kSide = 64, kPoints = 8;
constexpr int kRow = 73;  // of shared memory: 8 x 9, so that threads meet in few banks
constexpr int kThreads = kSide * kSide / kPoints;

/// exchange  of this row alone, whose eight threads are of one warp
/// roots     exp(-2 pi i n / 64)
template <int Sign>
__device__ void fft_64(float2 (&x)[8], float2* exchange, const float2* roots, int j) {
  fft_8<Sign>(x);
  UNROLL
  for (int q = 0; q < kPoints; ++q)
    exchange[9 * j + q] = x[q] * (Sign > 0 ? conj(roots[j * q]) : roots[j * q]);
  __syncwarp();
  UNROLL
  for (int i = 0; i < kPoints; ++i) x[i] = exchange[9 * i + j];
  __syncwarp();
  fft_8<Sign>(x);
}

/// Rows become columns.
__device__ void transpose(float2 (&x)[8], float2* exchange, int row, int j) {
  UNROLL
  for (int k = 0; k < kPoints; ++k) exchange[row * kRow + j + 8 * k] = x[k];
  __syncthreads();
  UNROLL
  for (int k = 0; k < kPoints; ++k) x[k] = exchange[(j + 8 * k) * kRow + row];
  __syncthreads();
}

template <int Sign>
__device__ void fft_64_by_64(float2 (&x)[8], float2* exchange, const float2* roots, int row,
                             int j) {
  fft_64<Sign>(x, exchange + row * kRow, roots, j);
  transpose(x, exchange, row, j);
  fft_64<Sign>(x, exchange + row * kRow, roots, j);
}

/// The largest of a block's values, in every thread.
__device__ float largest(float value, float* of_warps) {
  for (int apart = 16; apart > 0; apart /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, apart));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  for (int warp = 0; warp < kThreads / 32; ++warp) value = fmaxf(value, of_warps[warp]);
  return value;
}

}  // namespace

/// single_pattern_objects (ptyche/engine/single_pattern.h) of one mode at N = 64: a block of 512
/// threads per pattern, which stays in its registers from the first step to the last.
///   steps  (kept) after which the object is written
extern "C" __global__ void __launch_bounds__(kThreads)
    single_pattern_64(const float2* probes, const float* amplitudes, const bool* mask,
                      const int* steps, int kept, float alpha, float floor, float2* objects) {
  __shared__ float2 exchange[kSide * kRow];
  __shared__ float2 roots[kSide];
  __shared__ float of_warps[kThreads / 32];
  constexpr float kScale = 1.0f / kSide;  // of a unitary transform
  const int row = threadIdx.x / kPoints, j = threadIdx.x % kPoints;
  const long long first = static_cast<long long>(blockIdx.x) * kSide * kSide;
  if (threadIdx.x < kSide) {
    float sine, cosine;
    sincospif(-2.0f * static_cast<float>(threadIdx.x) / kSide, &sine, &cosine);
    roots[threadIdx.x] = make_float2(cosine, sine);
  }
  float2 probe[kPoints], object[kPoints], wave[kPoints];
  float factor[kPoints], amplitude[kPoints];
  float peak = 0;
  UNROLL
  for (int k = 0; k < kPoints; ++k) {
    probe[k] = probes[first + row * kSide + j + 8 * k];
    factor[k] = power(probe[k]);
    peak = fmaxf(peak, factor[k]);
  }
  peak = largest(peak, of_warps);
  UNROLL
  for (int k = 0; k < kPoints; ++k) {
    factor[k] = kScale / ((1 - alpha) * factor[k] + alpha * peak);
    object[k] = make_float2(1, 0);
    const int pixel = (j + 8 * k) * kSide + row;
    amplitude[k] = mask[pixel] ? amplitudes[first + pixel] : -1.0f;
  }
  for (int step = 1, done = 0; done < kept; ++step) {
    UNROLL
    for (int k = 0; k < kPoints; ++k) wave[k] = probe[k] * object[k];
    fft_64_by_64<-1>(wave, exchange, roots, row, j);
    UNROLL
    for (int k = 0; k < kPoints; ++k) {
      const float modelled = sqrtf(power(wave[k])) * kScale;
      const float excess =
          amplitude[k] >= 0 ? (amplitude[k] - modelled) / (modelled + floor) * kScale : 0.0f;
      wave[k] = make_float2(excess * wave[k].x, excess * wave[k].y);
    }
    fft_64_by_64<1>(wave, exchange, roots, row, j);
    UNROLL
    for (int k = 0; k < kPoints; ++k) {
      const float2 along = conj(probe[k]) * wave[k];
      object[k] = object[k] + make_float2(factor[k] * along.x, factor[k] * along.y);
    }
    if (step != steps[done]) continue;
    float2* const to = objects + (static_cast<long long>(blockIdx.x) * kept + done) * kSide * kSide;
    UNROLL
    for (int k = 0; k < kPoints; ++k) to[row * kSide + j + 8 * k] = object[k];
    ++done;
  }
}

namespace {

constexpr int kNormThreads = 256, kTogether = 8;  // features that a thread has

struct Eight {
  float value[kTogether];
};

struct Bfloat16 {
  unsigned short bits;
};

__device__ Eight load(const float* from) {
  const float4* const parts = reinterpret_cast<const float4*>(from);
  const float4 a = parts[0], b = parts[1];
  return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}
__device__ Eight load(const Bfloat16* from) {
  const uint4 packed = *reinterpret_cast<const uint4*>(from);
  const unsigned pairs[] = {packed.x, packed.y, packed.z, packed.w};
  Eight found;
  UNROLL
  for (int i = 0; i < 4; ++i) {
    found.value[2 * i] = __uint_as_float(pairs[i] << 16);
    found.value[2 * i + 1] = __uint_as_float(pairs[i] & 0xffff0000u);
  }
  return found;
}

/// Round half to even; NaN stays NaN.
__device__ unsigned rounded(float x) {
  const unsigned bits = __float_as_uint(x);
  return x != x ? 0x7fc0u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

__device__ void store(float* to, const Eight& x) {
  float4* const parts = reinterpret_cast<float4*>(to);
  parts[0] = make_float4(x.value[0], x.value[1], x.value[2], x.value[3]);
  parts[1] = make_float4(x.value[4], x.value[5], x.value[6], x.value[7]);
}
__device__ void store(Bfloat16* to, const Eight& x) {
  unsigned pairs[4];
  UNROLL
  for (int i = 0; i < 4; ++i)
    pairs[i] = rounded(x.value[2 * i]) | rounded(x.value[2 * i + 1]) << 16;
  *reinterpret_cast<uint4*>(to) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

constexpr int kMostFeatures = 512;

/// group_norm_gelu (ptyche/engine/norm_gelu.h) of one image by a block; features innermost, a
/// multiple of 8 and at most 512. Sums are of what differs from the first pixel.
template <class T>
__device__ void norm_gelu(const T* images, const float* weight, const float* bias, int pixels,
                          int features, int groups, float eps, T* results) {
  __shared__ float sums[2][kTogether][kNormThreads];
  __shared__ float shift[kMostFeatures];
  __shared__ float scale[2 * kMostFeatures];
  const int lanes = features / kTogether, active = kNormThreads / lanes * lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes, first = lane * kTogether;
  const long long image = static_cast<long long>(blockIdx.x) * pixels * features;
  const T* const from = images + image + first;
  const bool works = static_cast<int>(threadIdx.x) < active;
  const int begin = static_cast<int>(threadIdx.x) / lanes, stride = active / lanes;
  float* const offset = scale + features;
  const Eight own_shift = load(from);
  Eight sum = {}, square = {};
  if (works)
    for (int pixel = begin; pixel < pixels; pixel += stride) {
      const Eight x = load(from + static_cast<long long>(pixel) * features);
      UNROLL
      for (int i = 0; i < kTogether; ++i) {
        const float away = x.value[i] - own_shift.value[i];
        sum.value[i] += away;
        square.value[i] += away * away;
      }
    }
  UNROLL
  for (int i = 0; i < kTogether; ++i) {
    sums[0][i][threadIdx.x] = sum.value[i];
    sums[1][i][threadIdx.x] = square.value[i];
    if (static_cast<int>(threadIdx.x) < lanes) shift[first + i] = own_shift.value[i];
  }
  __syncthreads();
  for (int task = static_cast<int>(threadIdx.x); task < 2 * features; task += kNormThreads) {
    const int which = task / features, feature = task % features;
    float total = 0;
    for (int thread = feature / kTogether; thread < active; thread += lanes)
      total += sums[which][feature % kTogether][thread];
    scale[task] = total;  // and, of squares, offset
  }
  __syncthreads();
  // Each group by the thread of its first feature; scale and offset become 1 / deviation and mean.
  const int in_group = features / groups;
  for (int group = static_cast<int>(threadIdx.x); group < groups; group += kNormThreads) {
    const float count = static_cast<float>(pixels) * static_cast<float>(in_group);
    float mean = 0, squares = 0;
    for (int c = group * in_group; c < (group + 1) * in_group; ++c)
      mean += scale[c] + static_cast<float>(pixels) * shift[c];
    mean /= count;
    for (int c = group * in_group; c < (group + 1) * in_group; ++c) {
      const float away = mean - shift[c];
      squares += offset[c] - 2 * away * scale[c] + static_cast<float>(pixels) * away * away;
    }
    const float inverse = rsqrtf(fmaxf(squares, 0.0f) / count + eps);
    for (int c = group * in_group; c < (group + 1) * in_group; ++c) {
      scale[c] = inverse;
      offset[c] = mean;
    }
  }
  __syncthreads();
  Eight own_scale, own_offset;
  UNROLL
  for (int i = 0; i < kTogether; ++i) {
    own_scale.value[i] = weight[first + i] * scale[first + i];
    own_offset.value[i] = bias[first + i] - own_scale.value[i] * offset[first + i];
  }
  if (!works) return;
  for (int pixel = begin; pixel < pixels; pixel += stride) {
    Eight x = load(from + static_cast<long long>(pixel) * features);
    UNROLL
    for (int i = 0; i < kTogether; ++i) {
      const float z = own_scale.value[i] * x.value[i] + own_offset.value[i];
      x.value[i] = 0.5f * z * (1 + erff(0.70710678118654752f * z));
    }
    store(results + image + first + static_cast<long long>(pixel) * features, x);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kNormThreads)
    group_norm_gelu_float(const float* images, const float* weight, const float* bias, int pixels,
                          int features, int groups, float eps, float* results) {
  norm_gelu(images, weight, bias, pixels, features, groups, eps, results);
}

extern "C" __global__ void __launch_bounds__(kNormThreads)
    group_norm_gelu_bfloat16(const Bfloat16* images, const float* weight, const float* bias,
                             int pixels, int features, int groups, float eps, Bfloat16* results) {
  norm_gelu(images, weight, bias, pixels, features, groups, eps, results);
}

/// sum over the overlap of conj(a) b, each times its weight's root, of pairs of patches (n, N, N):
/// a block of 256 threads per pair.
///   roots      (N, N)
///   corners    (n, 2) whole pixels
///   pairs      (m, 2) the patches' numbers
///   products   (m)
extern "C" __global__ void __launch_bounds__(256)
    overlap_products(const float2* patches, const float* roots, const long long* corners,
                     const long long* pairs, int side, double2* products) {
  __shared__ double re[256], im[256];
  const long long own = pairs[2 * blockIdx.x], other = pairs[2 * blockIdx.x + 1];
  const int down = static_cast<int>(corners[2 * other] - corners[2 * own]);
  const int right = static_cast<int>(corners[2 * other + 1] - corners[2 * own + 1]);
  const int rows = side - abs(down), cols = side - abs(right);
  const int own_corner = max(down, 0) * side + max(right, 0);
  const int other_corner = max(-down, 0) * side + max(-right, 0);
  const float2* const a = patches + own * side * side + own_corner;
  const float2* const b = patches + other * side * side + other_corner;
  float2 sum = make_float2(0, 0);
  for (int i = static_cast<int>(threadIdx.x); i < rows * cols; i += 256) {
    const int pixel = i / cols * side + i % cols;
    const float root = roots[own_corner + pixel] * roots[other_corner + pixel];
    const float2 product = conj(a[pixel]) * b[pixel];
    sum = sum + make_float2(root * product.x, root * product.y);
  }
  re[threadIdx.x] = sum.x;
  im[threadIdx.x] = sum.y;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) {
      re[threadIdx.x] += re[threadIdx.x + half];
      im[threadIdx.x] += im[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) products[blockIdx.x] = make_double2(re[0], im[0]);
}
