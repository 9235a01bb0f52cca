// What every chunk holds while the plan runs: whose contributions, of which chunk, finished or not.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "verifier/contributions.hpp"
#include "verifier/image.hpp"
#include "verifier/layout.hpp"
#include "verifier/report.hpp"
#include "verifier/tree.hpp"

namespace rondo::verifier {

class Values {
 public:
  Values(const Image& image, const Layout& layout, std::uint32_t pieces);

  /// Does a copy or reduce.
  void move(std::uint32_t rank, std::uint32_t step, std::uint32_t piece);

  /// Compares what outputs hold with what the collective promises. A value that went wrong on its way is reported where
  /// it went wrong; what went wrong but reached no output is harmless.
  void check_outputs(Report& report) const;

  bool overflowed() const { return sets_.overflowed(); }

 private:
  enum State : std::uint32_t { unwritten, raw, partial, finished, wrong };
  struct Value {
    std::uint32_t place = 0;  ///< chunk of the contributions' buffer × pieces + piece; wrong: number of the mistake
    RankSet ranks;
    std::uint32_t state : 3 = unwritten;
    std::uint32_t along : 2 = static_cast<std::uint32_t>(Strictness::any_type);  ///< how it was combined
    std::uint32_t writer : 27 = 0;  ///< step (max_steps is less)
  };
  static constexpr std::uint32_t writer_mask = (1u << 27) - 1;
  struct Mistake {
    Fault fault;
    std::uint32_t step;
    std::string message;
  };
  struct Queue {
    std::vector<Value> values;
    std::size_t head = 0;
  };

  void fill_in_place();
  Value contribution(std::uint32_t rank, std::uint32_t index, std::uint32_t piece) const;
  Value moved(std::uint32_t by, Value value);
  Value mistake(Fault fault, std::string message);
  Value read(const FlatOperand& operand, std::uint32_t j);
  Value read_input(const FlatOperand& operand, std::uint32_t index);
  Value reduced(const FlatStep& step, const FlatOperand* operands, std::uint32_t j);
  Value finish(Value value);
  Strictness strictness_of_step();
  void depart(Strictness to, const char* why);
  bool follow_tree();
  void write(const FlatOperand& operand, std::uint32_t j, Value value);
  void write_again(const FlatOperand& operand, std::uint32_t j, Value value);
  void check_output(std::uint32_t rank, std::uint32_t index, std::uint32_t piece, Report& report) const;
  Value promised(std::uint32_t rank, std::uint32_t index, std::uint32_t piece) const;
  std::string describe(const Value& value, bool with_ranks) const;
  std::string name(const FlatOperand& operand, std::uint32_t index) const {
    return chunk_name(operand.buffer, operand.rank, index, rank_);
  }
  /// The rest of a division; most are by 1.
  static std::uint32_t rest(std::uint32_t number, std::uint32_t by) { return by == 1 ? 0 : number % by; }
  std::uint32_t within_block(const Value& value) const {
    return image_.header.chunks_per_block == 1 ? 0 : value.place / pieces_ % image_.header.chunks_per_block;
  }
  std::uint32_t piece_of(const Value& value) const { return rest(value.place, pieces_); }

  const Image& image_;
  const Layout& layout_;
  const std::uint32_t pieces_;
  const bool reduces_;
  Contributions sets_;
  std::vector<Value> cells_;
  std::vector<Queue> queues_;  // by link
  std::vector<Mistake> mistakes_;
  std::vector<Value> sources_;
  std::vector<RankSet> source_sets_;
  std::vector<RankRun> source_runs_;
  std::unordered_set<std::uint64_t> made_;  // copies that ranks share out, and one has made: word << 32 | piece
  std::vector<Departure> departures_;  // the one of the lowest rank, lane and step to each kind of strictness
  std::uint32_t rank_ = 0;  // of the step being done, which is
  std::uint32_t step_ = 0;
  std::uint32_t piece_ = 0;
};

}  // namespace rondo::verifier
