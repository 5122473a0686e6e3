// Words of a command line, each ended by a zero.
#include "ptyche/commands/parse.h"
#include "ptyche/core/files.h"
#include "tests/commands/sample_command.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  ptyche::Sample sample;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const ptyche::Silence silence;
  try {
    ptyche::parse(ptyche::sample_command(sample), ptyche::split(text, '\0'));
  } catch (const ptyche::UsageError&) {
  } catch (const ptyche::InvalidInput&) {  // of a config file that is named
  }
  return 0;
}
