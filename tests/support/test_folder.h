// A folder for the files of one test.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace ptyche {

/// A new folder that lasts as long as this object; its name has a space, as users' folders have.
class TestFolder {
 public:
  TestFolder() {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("ptyche test_{}_{}", getpid(), number++);
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace ptyche
