// A config file in TOML.
#include "ptyche/commands/parse.h"
#include "tests/commands/sample_command.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const ptyche::fuzz::InputFile file(bytes, size, ".toml");
  ptyche::Sample sample;
  const ptyche::Command command = ptyche::sample_command(sample);
  ptyche::fuzz::may_refuse(file.path, [&] { ptyche::read_config(command, file.path); });
  return 0;
}
