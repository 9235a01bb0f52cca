// Ranks of the tests, in host memory (RONDO_NCCL_HOST=1, which ctest sets).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nccl/include/nccl.h"
#include "support/catch.hpp"

namespace rondo::test {

/// So many ranks of one thread.
class Ranks {
 public:
  explicit Ranks(int count) : comms(static_cast<std::size_t>(count)) { REQUIRE(ncclCommInitAll(comms.data(), count, nullptr) == ncclSuccess); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() {
    for (ncclComm_t comm : comms)
      if (comm != nullptr) (void)ncclCommDestroy(comm);
  }

  int count() const { return static_cast<int>(comms.size()); }
  ncclComm_t operator[](int rank) const { return comms[static_cast<std::size_t>(rank)]; }

  /// A call of every rank, in one group: the group's result.
  template <class CallOf>
  ncclResult_t each(CallOf&& call) {
    REQUIRE(ncclGroupStart() == ncclSuccess);
    for (int rank = 0; rank < count(); ++rank) (void)call(rank, (*this)[rank]);
    return ncclGroupEnd();
  }

  std::vector<ncclComm_t> comms;
};

inline bool last_error_has(const std::string& words) { return std::string(ncclGetLastError(nullptr)).find(words) != std::string::npos; }

}  // namespace rondo::test
