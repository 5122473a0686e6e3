// The verbs of the command line, and from the program's arguments to the one that runs.
#pragma once

#include <string>
#include <vector>

#include "ptyche/commands/command.h"

namespace ptyche {

// Every verb; the file of the same name declares and runs it. Adding one: its file, its function
// here and in the list of all_commands.
Command reconstruct_command();
Command simulate_command();
Command train_command();
Command infer_command();
Command live_command();
Command view_command();
Command evaluate_command();
Command compare_command();
Command compare_models_command();
Command solve_command();
Command info_command();
Command report_command();
Command convert_command();
Command export_command();
Command probes_command();
Command grid_lines_command();
Command dose_response_command();
Command generalization_command();
Command bench_command();
Command completion_command();
Command docs_command();
Command man_command();
Command help_pages_command();
Command describe_command();
Command arrays_command();

/// Every verb, in the order of the help page, hidden ones included; targets hold their defaults.
std::vector<Command> all_commands();

/// Overwrites the values of secret options in the program's own arguments, so that neither
/// command_line() nor a list of processes shows them. Call it once the words have been copied.
void hide_secrets(const std::vector<Command>& commands, int argc, char** argv);

/// Carries out `words`, the program's arguments without its name: prints help or version to stdout,
/// or parses the verb's options and runs it. Throws UsageError and whatever the verb throws.
void run_command_line(const std::vector<Command>& commands, const std::vector<std::string>& words);

}  // namespace ptyche
