// How much processor time the control groups grant, version 1 and 2.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace rondo {

/// Version 2's cpu.max ("200000 100000" or "max 100000") in processors' worth; 0: no limit, or not such a text.
double parse_cpu_max(std::string_view text);

/// Version 1's cpu.cfs_quota_us and cpu.cfs_period_us in processors' worth; 0: no limit (−1), or not such texts.
double parse_cfs(std::string_view quota, std::string_view period);

/// Of two quotas, where 0 is none.
inline double tighter_quota(double a, double b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

/// The tightest quota on the way from this process's groups to their roots; 0 where there is none. `root` stands before
/// /proc and the mount points, so that a made-up tree can be read.
double read_cpu_quota(const std::string& root = "");

}  // namespace rondo
