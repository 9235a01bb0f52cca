#include "base/shared_library.hpp"

#include <dlfcn.h>
#include <link.h>

namespace rondo {

Result<SharedLibrary> SharedLibrary::load(const std::vector<std::string>& names, Symbols symbols) {
  std::string reasons;
  for (const std::string& name : names) {
    if (void* const handle = dlopen(name.c_str(), RTLD_NOW | (symbols == Symbols::for_plugins ? RTLD_GLOBAL : RTLD_LOCAL))) {
      const link_map* file = nullptr;
      const bool known = dlinfo(handle, RTLD_DI_LINKMAP, &file) == 0;
      return SharedLibrary(handle, known ? file->l_name : name);
    }
    reasons += (reasons.empty() ? "" : "; ") + std::string(dlerror());
  }
  return Error{Errc::unsupported, reasons, 0, "base"};
}

void* SharedLibrary::address_of(const char* name) {
  void* const address = dlsym(handle_, name);
  if (address == nullptr) missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
  return address;
}

}  // namespace rondo
