#include "compare/cpu_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>

namespace compare {
namespace {

// utime and stime are fields 14 and 15; the command in parentheses may contain blanks.
double process_ticks(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream fields(line.substr(end + 1));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return user + system;
}

}  // namespace

CpuWatch::CpuWatch(std::vector<pid_t> own) : own_(std::move(own)) {
  own_.push_back(getpid());
  last_ = now();
}

CpuWatch::Ticks CpuWatch::now() const {
  std::ifstream file("/proc/stat");
  std::string name;
  std::array<double, 8> t{};  // user nice system idle iowait irq softirq steal
  file >> name;
  for (double& value : t) file >> value;
  Ticks ticks;
  ticks.stolen = t[7];
  ticks.busy = t[0] + t[1] + t[2] + t[5] + t[6];
  ticks.total = ticks.busy + ticks.stolen + t[3] + t[4];
  for (const pid_t pid : own_) ticks.own += process_ticks(pid);
  return ticks;
}

CpuShares CpuWatch::look() {
  const Ticks before = last_;
  last_ = now();
  const double total = last_.total - before.total;
  if (total <= 0) return {};
  const double others = (last_.busy - before.busy) - (last_.own - before.own);
  return {std::max(0.0, others / total), (last_.stolen - before.stolen) / total};
}

}  // namespace compare
