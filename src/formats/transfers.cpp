#include "formats/transfers.hpp"

#include <algorithm>
#include <utility>

namespace rondo::formats {

void TransferMaker::add(const char* name, std::vector<Operand> sources, std::vector<Operand> destinations) {
  made_.push_back({name, std::move(sources), std::move(destinations)});
}

/// The operations of a lane follow one another, so one place serves them all; lanes don't share it: each has a maker.
Operand TransferMaker::spare(std::uint32_t count) {
  spares_ = std::max(spares_, count);
  return {Buffer::scratch, self, spare_, count};
}

std::vector<Transfer> TransferMaker::make(const Step& step) {
  made_.clear();
  const auto part = [&](const Operands& operands, bool remote) {
    std::vector<Operand> some;
    for (Operand operand : operands) {
      if (operand.rank == rank_) operand.rank = self;
      if ((operand.rank != self) == remote) some.push_back(operand);
    }
    return some;
  };
  const std::vector<Operand> local = part(step.destinations, false), remote = part(step.destinations, true);
  if (step.kind == StepKind::copy)
    copy(part(step.sources, false).empty() ? step.sources[0] : part(step.sources, false)[0], local, remote);
  else
    reduce(part(step.sources, false), part(step.sources, true), local, remote);
  return std::move(made_);
}

void TransferMaker::copy(const Operand& source, const std::vector<Operand>& local, const std::vector<Operand>& remote) {
  const auto as_often = [](const Operand& operand, const std::vector<Operand>& as) { return std::vector<Operand>(as.size(), operand); };
  if (source.rank == self) {
    for (const Operand& to : local) add("copy", {source}, {to});
    if (!remote.empty()) add("put", as_often(source, remote), remote);
    return;
  }
  const std::vector<Operand> here = local.empty() ? std::vector<Operand>{spare(source.count)} : local;
  add("get", as_often(source, here), here);
  if (!remote.empty()) add("put", as_often(here[0], remote), remote);
}

/// re combines local sources, rre one local source with peers'; with an s the result goes to peers, too, and there is a local one always.
void TransferMaker::reduce(std::vector<Operand> own, std::vector<Operand> others, std::vector<Operand> local, std::vector<Operand> remote) {
  const std::uint32_t count = (own.empty() ? others : own)[0].count;
  if (own.empty()) {
    own.push_back(spare(count));
    add("get", {others[0]}, {own[0]});
    others.erase(others.begin());
  } else if (own.size() > 1 && !others.empty()) {
    others.insert(others.begin(), own[0]);
    add("rre", std::move(others), {spare(count)});
    own[0] = spare(count);
    others.clear();
  }
  const Operand result = local.empty() ? spare(count) : local[0];
  const bool reads = !others.empty();
  std::vector<Operand> sources = std::move(own);
  sources.insert(sources.end(), others.begin(), others.end());
  std::vector<Operand> destinations{result};
  destinations.insert(destinations.end(), remote.begin(), remote.end());
  add(reads ? (remote.empty() ? "rre" : "rres") : (remote.empty() ? "re" : "res"), std::move(sources), std::move(destinations));
  for (std::size_t k = 1; k < local.size(); ++k) add("copy", {result}, {local[k]});
}

}  // namespace rondo::formats
