// Ctrl-C during long work: finish the step, keep the state, then stop.
#pragma once

namespace ptyche {

/// From here on SIGINT and SIGTERM are remembered instead of ending the program; a second one ends
/// it at once. Call at the top of `main`.
void catch_interrupts();

/// True once a signal has come. Loops ask after every step, save their state and throw Interrupted.
bool interrupted();

}  // namespace ptyche
