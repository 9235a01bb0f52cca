// An empty folder for a test or a process, which takes it along when it goes.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace rondo::test {

class Folder {
 public:
  /// The path is empty where none could be made.
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rondo-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace rondo::test
