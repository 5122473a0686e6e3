// What memory the system has for this process.
#pragma once

namespace ptyche {

/// What this process may ever have, in bytes: the machine's memory, or less where its address space
/// (setrlimit(2)) or one of its control groups (cgroups(7), either version) has a limit.
double memory_there();
/// What is free of it now; the page cache counts as free.
double free_memory();
/// What setrlimit(2) lets this process map, in bytes; infinite where it has no limit.
double address_space();
/// What is in memory of this process now, in bytes.
double resident_bytes();

}  // namespace ptyche
