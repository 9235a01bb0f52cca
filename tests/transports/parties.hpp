// Ranks with a transport and a bootstrap but no communicator, as processes or as threads of one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "rondo/transport.hpp"

using MakeTransport =
    std::function<rondo::Result<std::unique_ptr<rondo::Transport>>(std::uint32_t rank, std::uint32_t ranks)>;

/// One rank. `transport` is connected unless the body asked for it raw.
struct Party {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  MakeTransport make;
  rondo::Bootstrap* bootstrap = nullptr;
  std::unique_ptr<rondo::Transport> transport;

  /// "" once every rank has come here, else what went wrong.
  std::string meet();
  /// Makes `transport` and connects it, after `damage` has had its way with the addresses. "" or the error.
  rondo::Result<void> connect(const std::function<void(std::vector<rondo::Address>&)>& damage = {});
};

/// What a rank does; "" when all was well. Must not use Catch macros: it runs in a child process.
using PartyBody = std::function<std::string(Party&)>;

/// Element r: what rank r said; "ended by signal 9" or the like where a signal ended it.
std::vector<std::string> parties_as_processes(std::uint32_t ranks, const MakeTransport& make, const PartyBody& body);
/// All threads live in one child process, so that this one stays free of what transports start. One answer.
std::vector<std::string> parties_as_threads(std::uint32_t ranks, const MakeTransport& make, const PartyBody& body);
