#include "bootstrap/unique_id.hpp"

#include <sodium.h>
#include <sys/socket.h>

#include <cerrno>
#include <map>
#include <mutex>

#include "base/config.hpp"
#include "base/descriptors.hpp"
#include "base/text.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/peers.hpp"

namespace rondo {
namespace {

// "rondo1/ADDRESS/PORT/KEY", the key in 64 hexadecimal digits.
constexpr std::string_view kind = "rondo1/";
constexpr std::size_t key_digits = 2 * JobKey::size();

struct Listeners {
  std::mutex mutex;
  std::map<std::string, Fd> by_id;
};

Listeners& listeners() {
  static Listeners all;
  return all;
}

Result<std::uint16_t> port_of(const Fd& listener) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &length) != 0) return in_bootstrap(Errc::io, "getsockname", errno);
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&at)->sin6_port : reinterpret_cast<const sockaddr_in*>(&at)->sin_port);
}

}  // namespace

Result<std::string> make_unique_id(const std::string& address) {
  int error = 0;
  const Addresses at = resolve({address, 0, {}, {}}, error);
  if (at == nullptr) return in_bootstrap(Errc::invalid_argument, "'" + address + "' is no address: " + gai_strerror(error));
  const auto& set = config();
  if (!set) return set.error();
  Fd listener = listen_at(at->ai_addr, at->ai_addrlen, set->net_ports);
  if (!listener && (errno == EMFILE || errno == ENFILE)) return no_descriptor_left("listen for the other ranks with", errno, "bootstrap");
  if (!listener && errno == EADDRINUSE && set->net_ports.is_given())
    return in_bootstrap(Errc::out_of_resources, set->net_ports.none_free_at(address), errno);
  if (!listener) return in_bootstrap(errno == EADDRNOTAVAIL ? Errc::invalid_argument : Errc::io, "cannot listen at " + address, errno);
  const auto port = port_of(listener);
  if (!port) return port.error();
  const std::string id = std::string(kind) + address + "/" + std::to_string(*port) + "/" + hex_of(fresh_nonce());
  const std::lock_guard lock(listeners().mutex);
  listeners().by_id[id] = std::move(listener);
  return id;
}

Result<MeetingPlace> place_of_unique_id(const std::string& id, const std::optional<JobKey>& job_key) {
  const Error wrong =
      in_bootstrap(Errc::invalid_argument, "what ranks were given to meet by isn't a unique id; accepted: the text that unique_id() gave on rank 0");
  const std::size_t host_end = id.find('/', kind.size()), port_end = id.find('/', host_end + 1);
  if (!id.starts_with(kind) || id.size() > longest_unique_id || host_end == std::string::npos || port_end == std::string::npos) return wrong;
  const auto port = parse_unsigned(id.substr(host_end + 1, port_end - host_end - 1));
  const std::string digits = id.substr(port_end + 1);
  std::array<unsigned char, JobKey::size()> key{};
  std::size_t bytes = 0;
  if (!port || *port == 0 || *port > UINT16_MAX || digits.size() != key_digits) return wrong;
  if (sodium_hex2bin(key.data(), key.size(), digits.data(), digits.size(), nullptr, &bytes, nullptr) != 0 || bytes != key.size()) return wrong;
  const JobKey own(key);
  return MeetingPlace{id.substr(kind.size(), host_end - kind.size()), static_cast<std::uint16_t>(*port), "id " + id.substr(0, port_end),
                      job_key ? combine(*job_key, own) : own};
}

Fd take_listener(const std::string& id) {
  const std::lock_guard lock(listeners().mutex);
  const auto found = listeners().by_id.find(id);
  if (found == listeners().by_id.end()) return {};
  Fd listener = std::move(found->second);
  listeners().by_id.erase(found);
  return listener;
}

}  // namespace rondo
