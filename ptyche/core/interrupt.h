// Ctrl-C during long work: finish the step, keep the state, then stop.
#pragma once

namespace ptyche {

/// While one lives, SIGINT and SIGTERM are remembered instead of ending the program; a second one
/// ends it at once. Put one around a loop that asks `interrupted`, and around nothing else: where
/// nobody asks, a signal must end the program. One may live inside another.
class CatchInterrupts {
 public:
  CatchInterrupts();
  ~CatchInterrupts();
  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;

 private:
  using Handler = void (*)(int);
  Handler interrupt_, terminate_;  // those before
};

/// True once a signal was remembered, and from then on. Loops ask after every step, save their
/// state and throw Interrupted.
bool interrupted();

}  // namespace ptyche
