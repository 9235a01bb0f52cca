// The secret that the ranks of a job share, by which they know one another over a network.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "rondo/result.hpp"

namespace rondo {

/// 256 bits. All zero, as it begins: no secret at all, whoever knows the job's name has it. Wiped when it ends.
class JobKey {
 public:
  JobKey() = default;
  explicit JobKey(const std::array<unsigned char, 32>& bytes) : bytes_(bytes) {}
  JobKey(const JobKey&) = default;
  JobKey& operator=(const JobKey&) = default;
  ~JobKey();

  const unsigned char* data() const { return bytes_.data(); }
  static constexpr std::size_t size() { return 32; }

 private:
  std::array<unsigned char, 32> bytes_{};
};

/// From a file (or pipe) that this user or root owns and nobody else may read or write: 64 hexadecimal digits, or 32 bytes as they are.
/// Errors (invalid_argument) name the file, what is wrong and how one is made; never anything of what is in it.
Result<JobKey> read_job_key(const std::string& path);

}  // namespace rondo
