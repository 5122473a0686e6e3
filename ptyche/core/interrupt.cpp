#include "ptyche/core/interrupt.h"

#include <csignal>

namespace ptyche {
namespace {

volatile std::sig_atomic_t signal_came = 0;

extern "C" void remember(int signal) {
  if (signal_came != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  signal_came = 1;
}

}  // namespace

CatchInterrupts::CatchInterrupts()
    : interrupt_(std::signal(SIGINT, remember)), terminate_(std::signal(SIGTERM, remember)) {}

CatchInterrupts::~CatchInterrupts() {
  std::signal(SIGINT, interrupt_);
  std::signal(SIGTERM, terminate_);
}

bool interrupted() { return signal_came != 0; }

}  // namespace ptyche
