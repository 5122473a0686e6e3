// Files of other programs are first opened by a process that may crash: the libraries that read
// them go wrong on damaged files (they read beyond their buffers, or never end), and a program that
// uses them would go with them.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ptyche {

/// What a trial says of a file.
enum class TrialEnd {
  sound = 0,
  no_list = 3,     ///< its objects cannot be listed
  no_regular = 4,  ///< it leads to a FIFO or a device, for which one would wait for ever
};

/// A forked process runs `work`, which opens the file and reads all that could be asked of it.
/// Returns what went wrong in words, empty for nothing: it crashed, worked for longer than
/// kTrialSeconds, or needed more memory than the file's size explains. A process that hardly works
/// waits for a slow disk or, a copy of a program of several threads, for a lock whose owner was not
/// copied: after `patience` it is begun anew, with the next patience; after the last InvalidInput
/// that names the file says so.
std::string fault_in_trial(const std::filesystem::path& file,
                           const std::function<TrialEnd(const char*)>& work,
                           const std::vector<std::chrono::milliseconds>& patience = {
                               std::chrono::seconds(20), std::chrono::seconds(40),
                               std::chrono::seconds(120)});

inline constexpr int kTrialSeconds = 8;

/// The trial of an HDF5 file: a process opens the file and reads all that could be asked of it:
/// every object, every attribute, every dataset of at most kTrialBytes and the index of larger
/// ones; and the same of what its links, virtual datasets and external datasets name in other
/// files, and these in others. Throws InvalidInput where the process crashes, does not end, needs
/// more memory than the file's size explains, finds objects that cannot be listed, or is led to
/// what is no regular file. Takes 20 to 30 ms (measured on two busy cores for scans of 1 and of 10
/// MB); a file that has not changed is tried once.
void require_sound_hdf5(const std::filesystem::path& file);

inline constexpr long kTrialBytes = 1L << 20;

}  // namespace ptyche
