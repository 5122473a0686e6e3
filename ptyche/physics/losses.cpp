#include "ptyche/physics/losses.h"

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

/// Math of formulas.h on tensors.
struct TensorMath {
  static at::Tensor root(const at::Tensor& x) { return x.sqrt(); }
  static at::Tensor magnitude(const at::Tensor& x) { return x.abs(); }
  static at::Tensor sign(const at::Tensor& x) { return x.sgn(); }
  static at::Tensor log_quotient(const at::Tensor&, const at::Tensor& expected,
                                 const at::Tensor& raised) {
    return -(expected / raised).log();
  }
};

void require_loss_shapes(const std::string& loss, const at::Tensor& intensity,
                         const at::Tensor& counts, const at::Tensor& mask) {
  require(intensity.sizes() == counts.sizes() && intensity.dim() >= 2,
          "{} loss: expected intensity and counts of one shape, found {} and {}", loss,
          fmt::join(intensity.sizes(), " x "), fmt::join(counts.sizes(), " x "));
  const auto pattern = intensity.sizes().slice(intensity.dim() - 2);
  require(mask.scalar_type() == at::kBool &&
              (mask.sizes() == pattern || mask.sizes() == intensity.sizes()),
          "{} loss: expected a bool mask ({}) for intensity {}, found {}", loss,
          fmt::join(pattern, ", "), describe(intensity), describe(mask));
}

}  // namespace

const std::vector<LossInfo>& losses() {
  static const std::vector<LossInfo> all{
#define PTYCHE_LOSS(kind, name, Formula) \
  {LossKind::kind, name, Formula::kFloor, Formula::kUnit, Formula::kCurvature},
      PTYCHE_LOSSES(PTYCHE_LOSS)
#undef PTYCHE_LOSS
  };
  return all;
}

const LossInfo& info_of(LossKind kind) { return losses().at(static_cast<std::size_t>(kind)); }

LossKind loss_kind_from(const std::string& name) {
  std::vector<std::string> names;
  for (const LossInfo& info : losses()) {
    if (info.name == name) return info.kind;
    names.push_back(info.name);
  }
  throw InvalidInput(fmt::format("loss: expected {}, found {}", fmt::join(names, " or "), name));
}

at::Tensor pixel_losses(LossKind kind, const at::Tensor& intensity, const at::Tensor& counts,
                        const at::Tensor& mask, std::optional<double> floor) {
  const LossInfo& info = info_of(kind);
  require_loss_shapes(info.name, intensity, counts, mask);
  const double added = floor.value_or(info.floor);
  require(added > 0, "{} loss: expected a floor above 0, found {}", info.name, added);
  // Where nothing is counted both are 1: there every loss and its slope are 0.
  const at::Tensor expected = at::where(mask, intensity, at::ones({}, intensity.options()));
  const at::Tensor measured = at::where(mask, counts, at::ones({}, counts.options()));
  return with_formula(kind, [&](auto formula) {
    return formula.template value<TensorMath>(expected, measured, added);
  });
}

at::Tensor summed_loss(LossKind kind, const at::Tensor& intensity, const at::Tensor& counts,
                       const at::Tensor& mask, std::optional<double> floor) {
  return pixel_losses(kind, intensity, counts, mask, floor).sum();
}

double units_of(LossKind kind, const at::Tensor& counts, const at::Tensor& mask) {
  const at::Tensor counted = at::where(mask, counts, at::zeros({}, counts.options()));
  return (info_of(kind).unit == LossUnit::photons ? counted : counted.sqrt())
      .sum(at::kDouble)
      .item<double>();
}

}  // namespace ptyche
