// Libraries that are loaded where they are first needed, and stay: others in the process may use them, too.
#pragma once

#include <string>
#include <vector>

#include "rondo/result.hpp"

namespace rondo {

class SharedLibrary {
 public:
  enum class Symbols {
    own,          ///< only who loads it finds them
    for_plugins,  ///< what it loads itself looks for them in the whole process
  };

  /// Of these names or paths the first that can be loaded. Error unsupported: what the loader says of each.
  static Result<SharedLibrary> load(const std::vector<std::string>& names, Symbols symbols = Symbols::own);

  /// Leaves in `function` where the library, or one that it needs, has the function `name`; if none has, missing() names it.
  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(address_of(name));
  }
  const std::string& missing() const { return missing_; }  ///< what find() didn't find, with commas
  const std::string& path() const { return path_; }        ///< the file that was loaded

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* address_of(const char* name);

  void* handle_;
  std::string path_;
  std::string missing_;
};

}  // namespace rondo
