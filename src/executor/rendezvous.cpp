#include "executor/rendezvous.hpp"

#include <algorithm>

namespace rondo {

void allow_rendezvous(Executable& executable, std::uint64_t from) {
  std::vector<std::uint32_t> readers;
  for (const ExecStep& step : executable.steps)
    if (is_credit(step) && std::find(readers.begin(), readers.end(), step.block) == readers.end()) readers.push_back(step.block);
  if (readers.size() + 1 == executable.plan.header.ranks) executable.rendezvous_from = from;
}

}  // namespace rondo
