#include "ptyche/ptychopinn/recon_file.h"

#include "ptyche/io/npz.h"

namespace ptyche {

void write_recon(const std::filesystem::path& folder, const at::Tensor& image) {
  std::filesystem::create_directories(folder);
  write_npz(folder / "recon.npz",
            {{"YY_pred", image}, {"amp", image.abs()}, {"phase", image.angle()}});
}

}  // namespace ptyche
