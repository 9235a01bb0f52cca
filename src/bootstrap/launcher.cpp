#include "bootstrap/launcher.hpp"

namespace rondo {

Result<std::unique_ptr<Launcher>> find_launcher(const Environment& environment) {
  auto found = find_pmix(environment);
  return found && *found == nullptr ? find_pmi(environment) : std::move(found);
}

}  // namespace rondo
