// The text of a file, however long it says it is.
#pragma once

#include <cstddef>
#include <string>

namespace rondo {

struct FileText {
  std::string text;
  int error = 0;          ///< the system's number where it can't be opened or read
  bool too_long = false;  ///< there is more than `most` bytes; `text` has a part
};

/// Takes memory as it reads, so that a short file costs little whatever `most` is.
FileText read_file_text(const std::string& path, std::size_t most);

}  // namespace rondo
