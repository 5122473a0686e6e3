// CUDA C++ to PTX by NVRTC, when the program is built: no compiler of CUDA has to be installed.
// What is written is C++ with the PTX in it (ptyche/engine/cuda/device_kernels.cpp). usage:
// compile_ptx SOURCE.cu TO.cpp ARCHITECTURE
#include <nvrtc.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace {

std::string log_of(nvrtcProgram program) {
  std::size_t length = 0;
  nvrtcGetProgramLogSize(program, &length);
  std::string log(length, ' ');
  nvrtcGetProgramLog(program, log.data());
  return log;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: compile_ptx SOURCE.cu TO.cpp ARCHITECTURE\n");
    return 2;
  }
  std::ifstream source(words[1]);
  const std::string text(std::istreambuf_iterator<char>(source), {});
  const std::string architecture = std::string("--gpu-architecture=") + words[3];
  const char* const options[] = {architecture.c_str(), "--std=c++17"};
  nvrtcProgram program = nullptr;
  nvrtcCreateProgram(&program, text.c_str(), words[1], 0, nullptr, nullptr);
  if (nvrtcCompileProgram(program, 2, options) != NVRTC_SUCCESS) {
    std::fprintf(stderr, "%s\n", log_of(program).c_str());
    return 1;
  }
  std::size_t length = 0;
  nvrtcGetPTXSize(program, &length);
  std::string code(length, ' ');
  nvrtcGetPTX(program, code.data());
  code.resize(length - 1);  // its last byte is 0
  std::ofstream to(words[2], std::ios::binary);
  to << "#include <string_view>\nnamespace ptyche::cuda {\nstd::string_view kernel_code() {\n  "
        "return R\"ptx("
     << code << ")ptx\";\n}\n}  // namespace ptyche::cuda\n"
     << std::flush;
  return to ? 0 : 1;
}
