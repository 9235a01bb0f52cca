// Collects what is wrong: the first few things, each once.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "rondo/verifier.hpp"
#include "verifier/image.hpp"

namespace rondo::verifier {

/// The first step whose result is no more than `to`.
struct Departure {
  Strictness to = Strictness::any_type;
  std::uint32_t step = 0;
  const char* why = "";
};

class Report {
 public:
  explicit Report(const Image& image) : image_(image) {}

  /// A fault of one step.
  void add(Fault fault, std::uint32_t step, std::string message);
  /// A fault of a rank as a whole.
  void add_rank(Fault fault, std::uint32_t rank, std::string message);

  /// What an output is combined along; the least of all counts.
  void note(const Departure& departure) {
    if (departure.to < departure_.to) departure_ = departure;
  }
  const Departure& departure() const { return departure_; }

  bool empty() const { return violations_.empty(); }
  bool full() const { return truncated_; }
  std::vector<Violation> take() { return std::move(violations_); }

 private:
  void add(Violation violation);

  static constexpr std::size_t most = 16;
  const Image& image_;
  std::vector<Violation> violations_;
  std::set<std::tuple<Fault, std::int64_t, std::int64_t, std::int64_t, std::string>> seen_;
  bool truncated_ = false;
  Departure departure_;
};

/// "rank 1, lane 0, step 4"
std::string where(const Image& image, std::uint32_t step);

/// A chunk as the program of `reader` writes it: "input[3]", "scratch@1[0]".
std::string chunk_name(Buffer buffer, std::uint32_t owner, std::uint32_t index, std::uint32_t reader);

}  // namespace rondo::verifier
