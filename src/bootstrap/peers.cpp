#include "bootstrap/peers.hpp"

#include <unistd.h>

#include <cstring>

#include "base/clock.hpp"
#include "bootstrap/frame.hpp"

namespace rondo {
namespace {

constexpr std::int64_t telling_ns = 100'000'000;
constexpr char first_code = 'a';  // a verdict begins with its code as a letter

}  // namespace

Error in_bootstrap(Errc code, const std::string& detail, int number) { return Error{code, detail, number, "bootstrap"}; }

std::string this_process() { return "process " + std::to_string(getpid()); }

std::string name_of(std::uint32_t rank, const std::string& whom) { return "rank " + std::to_string(rank) + (whom.empty() ? "" : " (" + whom + ")"); }

Error lost(std::uint32_t rank, const std::string& whom, const Error& cause) {
  if (cause.code == Errc::deadline_exceeded) return in_bootstrap(Errc::deadline_exceeded, name_of(rank, whom) + " did not answer in time");
  if (cause.code == Errc::invalid_argument) return in_bootstrap(cause.code, name_of(rank, whom) + " can't be understood: " + cause.detail);
  if (cause.code != Errc::io) return cause;
  return in_bootstrap(Errc::peer_failed, name_of(rank, whom) + " went away during bootstrap", cause.native);
}

Error has_gone(std::uint32_t rank) { return in_bootstrap(Errc::peer_failed, "rank " + std::to_string(rank) + " has gone"); }

Address pack_verdict(const Error& error) {
  Address frame;
  frame.bytes.resize(error.detail.size() + 1);
  frame.bytes[0] = static_cast<std::byte>(first_code + static_cast<int>(error.code));
  std::memcpy(frame.bytes.data() + 1, error.detail.data(), error.detail.size());
  return frame;
}

Result<void> unpack_verdict(const Address& frame) {
  if (frame.bytes.empty()) return {};
  const auto* text = reinterpret_cast<const char*>(frame.bytes.data());
  const int code = text[0] - first_code;
  const bool known = code >= 0 && code <= static_cast<int>(Errc::io);
  return in_bootstrap(known ? static_cast<Errc>(code) : Errc::peer_failed, std::string(text + 1, frame.bytes.size() - 1));
}

Error tell_all(const std::vector<PeerSocket>& peers, const Error& error) {
  const Address verdict = pack_verdict(error);
  const std::int64_t deadline_ns = now_ns() + telling_ns;
  for (const PeerSocket& peer : peers)
    if (peer.socket) (void)send_frame(peer.socket.get(), verdict, deadline_ns);
  return error;
}

}  // namespace rondo
