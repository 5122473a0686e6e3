// Every verb, one function each; the file of the same name declares and runs it.
#pragma once

#include "ptyche/commands/command.h"

namespace ptyche {

Command reconstruct_command();
Command simulate_command();
Command train_command();
Command infer_command();
Command evaluate_command();
Command compare_command();
Command solve_command();
Command info_command();
Command grid_lines_command();
Command dose_response_command();
Command bench_command();

}  // namespace ptyche
