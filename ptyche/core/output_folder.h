// A folder of results: who writes into it, and what of an earlier run is in it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ptyche {

/// What a run may do with a folder that holds results.
enum class FolderUse {
  fresh,      ///< nothing: it is refused
  overwrite,  ///< the results are moved to FOLDER.old (FOLDER.old.2, ... where that is taken)
  resume,     ///< go on from the checkpoint there, or start where a run was ended before its first
              ///< one; refused where a run has come to its end
};

/// What a run writes into its folder.
struct RunFiles {
  std::vector<std::string> names;  ///< of files and folders; where they are there, it has results
  std::string last;                ///< the one that is written when the work is done
  std::string checkpoint;          ///< there only until then; empty = the run keeps none
};

/// From one checkpoint of a run to the next: half a minute, or what the environment's
/// PTYCHE_CHECKPOINT_SECONDS says, by which tests have many of them in a short run.
double checkpoint_seconds();

/// The folder is this process's own while the object lives: a lock file (`.ptyche.lock`: process,
/// host) keeps others out. A lock whose process is gone holds nobody up: the system releases it,
/// and on a file system without such locks the process is looked for, where it ran on this host.
class OutputFolder {
 public:
  /// Makes the folder, checks that it takes files, locks it, removes what write_atomically of a
  /// killed run has left there, and sees to earlier results.
  /// Throws InvalidInput where the folder does not take files, another run is at work in it, or it
  /// holds results that `use` does not allow to touch; nothing is changed then.
  OutputFolder(const std::filesystem::path& folder, FolderUse use, const RunFiles& files);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

 private:
  std::filesystem::path lock_;
  int descriptor_ = -1;
};

}  // namespace ptyche
