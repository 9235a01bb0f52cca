// The form of a plan: everything that can be checked without asking what the plan computes. Here its header.
#include <algorithm>
#include <string>

#include "plan/form.hpp"
#include "plan/limits.hpp"

namespace rondo {
namespace {

std::string text(std::uint64_t number) {
  return std::to_string(number);
}

Error invalid(const std::string& detail) {
  return Error{Errc::invalid_plan, detail, 0, "check_form"};
}

Result<void> bounded(const char* name, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return {};
  return invalid("header: " + std::string(name) + " is " + text(value) + ", expected " + text(low) + " to " +
                 text(high));
}

Result<void> check_order(const PlanHeader& header) {
  if (header.order.empty()) return {};
  if (header.order.size() % header.ranks != 0)
    return invalid("header: order names " + text(header.order.size()) + " ranks of " + text(header.ranks));
  if (header.order.size() / header.ranks > plan::max_lanes) return invalid("header: more than " + text(plan::max_lanes) + " orders");
  std::vector<std::size_t> seen(header.ranks, 0);  // in how many orders so far
  for (std::size_t k = 0; k < header.order.size(); ++k) {
    const std::uint32_t rank = header.order[k];
    if (rank >= header.ranks || seen[rank] != k / header.ranks)
      return invalid("header: order is no permutation of the ranks, see " + text(rank));
    ++seen[rank];
  }
  return {};
}

/// Groups lie in groups: each size is a multiple of the one before, and the last one divides the ranks.
Result<void> check_groups(const PlanHeader& header) {
  std::uint32_t inner = 1;
  for (std::size_t k = 0; k <= header.groups.size(); ++k) {
    const std::uint32_t size = k < header.groups.size() ? header.groups[k] : header.ranks;
    if (size <= inner && k > 0) return invalid("header: groups of " + text(inner) + " ranks have no others beside them among " + text(size));
    if (size < 2 && k < header.groups.size()) return invalid("header: a group of " + text(size) + " ranks");
    if (size % inner != 0) return invalid("header: groups of " + text(inner) + " ranks don't divide " + text(size));
    inner = size;
  }
  return {};
}

/// Elements of scratch have half the length of the others' where there is a wire type.
Result<void> check_wire(const PlanHeader& header) {
  if (!header.wire) return {};
  const std::string found = "header: wire " + std::string(to_string(*header.wire));
  if (*header.wire != DataType::f16 && *header.wire != DataType::bf16) return invalid(found + ", expected f16 or bf16");
  if (header.collective != Collective::all_reduce)
    return invalid(found + " in a plan for " + std::string(to_string(header.collective)) + ", expected all_reduce");
  if (header.protocol != Protocol::staged)
    return invalid(found + " with protocol " + std::string(to_string(header.protocol)) + ", expected staged");
  return {};
}

}  // namespace

namespace plan {

Result<void> check_header(const Plan& plan) {
  const PlanHeader& header = plan.header;
  struct Bound {
    const char* name;
    std::uint64_t value, low, high;
  };
  const Bound bounds[] = {{"ranks", header.ranks, 1, max_ranks},
                          {"root", header.root, 0, header.ranks - 1},
                          {"chunks_per_block", header.chunks_per_block, 1, max_chunks},
                          {"scratch_chunks", header.scratch_chunks, 0, max_chunks},
                          {"depth", header.depth, 1, max_depth},
                          {"alignment_bytes", header.alignment_bytes, 1, max_alignment},
                          {"collective", static_cast<std::uint8_t>(header.collective), 0, collective_count - 1},
                          {"protocol", static_cast<std::uint8_t>(header.protocol), 0, 2}};
  for (const Bound& bound : bounds)
    if (auto fine = bounded(bound.name, bound.value, bound.low, bound.high); !fine) return fine;
  if ((header.alignment_bytes & (header.alignment_bytes - 1)) != 0)
    return invalid("header: alignment_bytes is " + text(header.alignment_bytes) + ", expected a power of two");
  const BlockCounts blocks = block_counts(header.collective, header.ranks);
  const std::uint64_t chunks = std::uint64_t{std::max(blocks.input, blocks.output)} * header.chunks_per_block;
  if (chunks > max_chunks)
    return invalid("header: a buffer of " + text(chunks) + " chunks, at most " + text(max_chunks) + " are served");
  if (header.collective == Collective::send_recv && header.ranks != 2)
    return invalid("header: send_recv has 2 ranks, not " + text(header.ranks));
  if (header.collective == Collective::barrier && header.protocol == Protocol::inlined)
    return invalid("header: a barrier moves no data that could be inlined, expected protocol staged");
  if (!header.out_of_place && !header.in_place) return invalid("header: neither out_of_place nor in_place");
  if (header.max_bytes != 0 && header.min_bytes > header.max_bytes)
    return invalid("header: min_bytes is larger than max_bytes");
  if (auto fine = check_groups(header); !fine) return fine;
  if (auto fine = check_wire(header); !fine) return fine;
  if (auto fine = check_order(header); !fine) return fine;
  if (plan.complete()) return {};
  return invalid("the plan has not one program for each of its " + text(header.ranks) + " ranks");
}

}  // namespace plan

Result<void> check_form(const Plan& plan, Form form) {
  if (auto fine = rondo::plan::check_header(plan); !fine) return fine;
  rondo::plan::ProgramChecks checks(plan.header, form);
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank)
    if (auto fine = checks.add(plan.program(rank)); !fine) return fine;
  return checks.end();
}

}  // namespace rondo
