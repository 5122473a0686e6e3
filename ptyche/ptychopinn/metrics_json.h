// metrics.json of the grid workflow.
#pragma once

#include <string>
#include <vector>

#include "ptyche/ptychopinn/image_metrics.h"

namespace ptyche {

/// One JSON object with a member per label, in order. Each holds PtychoPINN's members "mae", "mse",
/// "psnr", "ssim", "ms_ssim", "frc50", "frc1over7" and "frc", all [amplitude, phase]; beside them
/// "nrmse_contrast", "psnr_true_range" [amplitude, phase] and "flat": all of these but "frc" for an
/// object of ones. null for a number that is not finite. Throws InvalidInput for a label that comes
/// twice.
std::string metrics_json(const std::vector<LabelledMetrics>& models);

}  // namespace ptyche
