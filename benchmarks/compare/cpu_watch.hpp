// Who else uses the cores while we measure.
#pragma once

#include <sys/types.h>

#include <vector>

namespace compare {

/// Shares of all cores' time since the last look.
struct CpuShares {
  double others = 0;  ///< busy, and not with these processes
  double stolen = 0;  ///< taken by the hypervisor
};

/// Compares /proc/stat with the times of the given processes and of this one.
class CpuWatch {
 public:
  explicit CpuWatch(std::vector<pid_t> own);
  CpuShares look();

 private:
  struct Ticks {
    double total = 0;
    double busy = 0;
    double stolen = 0;
    double own = 0;
  };
  Ticks now() const;
  std::vector<pid_t> own_;
  Ticks last_;
};

}  // namespace compare
