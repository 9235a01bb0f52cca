#include "bootstrap/job_key.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/fd.hpp"
#include "bootstrap/peers.hpp"

namespace rondo {
namespace {

constexpr std::size_t hex_digits = 2 * JobKey::size();

Error unusable(const std::string& path, const std::string& why, int number = 0) {
  return in_bootstrap(Errc::invalid_argument,
                      "the job's key (RONDO_JOB_KEY_FILE='" + path + "') " + why +
                          "; accepted: a file of mode 0600 with 64 hexadecimal digits, as (umask 077; openssl rand -hex 32 > FILE) makes one",
                      number);
}

Result<std::size_t> read_up_to(int file, char* room, std::size_t bytes, const std::string& path) {
  std::size_t came = 0;
  while (came < bytes) {
    const ssize_t got = read(file, room + came, bytes - came);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unusable(path, "can't be read", errno);
    if (got == 0) break;
    came += static_cast<std::size_t>(got);
  }
  return came;
}

Result<JobKey> key_in(std::string_view text, const std::string& path) {
  std::array<unsigned char, JobKey::size()> bytes{};
  const std::string_view digits = text.substr(0, text.find_last_not_of("\r\n \t") + 1);
  if (text.size() == JobKey::size()) {
    std::memcpy(bytes.data(), text.data(), bytes.size());
  } else if (digits.size() != hex_digits || sodium_hex2bin(bytes.data(), bytes.size(), digits.data(), digits.size(), nullptr, nullptr, nullptr) != 0) {
    return unusable(path, "has " + std::to_string(text.size()) + " bytes that are no key");
  }
  if (sodium_is_zero(bytes.data(), bytes.size()) != 0) return unusable(path, "is all zeros");
  const JobKey key(bytes);
  sodium_memzero(bytes.data(), bytes.size());
  return key;
}

}  // namespace

JobKey::~JobKey() { sodium_memzero(bytes_.data(), bytes_.size()); }

Result<JobKey> read_job_key(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return unusable(path, "can't be opened", errno);
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0) return unusable(path, "can't be looked at", errno);
  if (!S_ISREG(facts.st_mode) && !S_ISFIFO(facts.st_mode)) return unusable(path, "is neither a file nor a pipe");
  if (facts.st_uid != geteuid() && facts.st_uid != 0) return unusable(path, "belongs to user " + std::to_string(facts.st_uid));
  if ((facts.st_mode & 077) != 0) return unusable(path, "may be read or written by others than its owner");
  std::array<char, hex_digits + 8> room{};  // digits, the end of a line, and enough to see that there is more
  const auto came = read_up_to(file.get(), room.data(), room.size(), path);
  auto key = came ? key_in({room.data(), *came}, path) : Result<JobKey>(came.error());
  sodium_memzero(room.data(), room.size());
  return key;
}

}  // namespace rondo
