// Timelines that rondo-bench --trace wrote, compared with the plan that ran.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rondo/plan.hpp"

/// The timeline in a file; null when it is none.
nlohmann::json read_timeline(const std::string& file);

/// The events of a timeline, by rank.
std::map<std::uint32_t, std::vector<nlohmann::json>> by_rank(const nlohmann::json& timeline);

/// The names that a timeline gives: what is "process_name" or "thread_name".
std::vector<std::string> names(const nlohmann::json& timeline, const std::string& what);

/// "" when events of one thread come one after another.
std::string wrong_order(const std::vector<nlohmann::json>& events);

/// "" when a rank's events for calls of `count` f32 are the plan's steps, each of them once for every piece in each of `calls` calls,
/// with the plan's bytes. Inlined plans have copies and reductions alone.
std::string wrong_steps(const rondo::Plan& lowered, std::uint32_t rank, std::uint64_t count, std::size_t calls, const std::vector<nlohmann::json>& events);

/// How check_timeline() runs rondo-bench.
struct TimelineRun {
  std::string algorithm;
  int ranks = 2;
  std::vector<std::string> flags = {};
  bool keeps_links = false;  ///< links are messages
  bool direct = false;       ///< buffers are read where they are
};

/// Runs all_reduces of three sizes by a plan and checks that their timeline shows it.
void check_timeline(const TimelineRun& how);
