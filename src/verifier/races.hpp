// Accesses to one chunk that nothing orders, one of them a write. Keeps, for each chunk, its last write and the reads
// since: who is ordered after these is ordered after all before (FastTrack: Flanagan and Freund, 2009). Of a copy that ranks share out
// one is made, nobody knows which: those don't race, and whoever comes later has to come after all of them.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "verifier/clocks.hpp"
#include "verifier/image.hpp"
#include "verifier/layout.hpp"
#include "verifier/report.hpp"

namespace rondo::verifier {

class Races {
 public:
  Races(const Image& image, const Layout& layout, const Clocks& clocks, std::uint32_t pieces, Report& report)
      : image_(image), layout_(layout), clocks_(clocks), pieces_(pieces), report_(report), cells_(layout.cells()) {}

  /// All accesses of a step that its lane has entered.
  void step(std::uint32_t lane, std::uint32_t step, std::uint32_t piece);

  /// Some slot saw a later piece before an earlier one; then orders over more pieces have to be looked at.
  bool reversed() const { return reversed_; }

 private:
  struct Access {
    std::uint32_t lane = none;  ///< a whole one, as the chunk's owner numbers it
    std::uint32_t event = 0;
  };
  struct Cell {
    Access write;
    Access read;                ///< the latest
    std::uint32_t more = none;  ///< reads besides, in reads_
    std::uint32_t newest_write = 0;
    std::uint32_t newest_read = 0;
  };
  struct Read {
    Access access;
    std::uint32_t next;
  };
  /// Of a copy that ranks share out and that may have been made.
  struct SharedOut {
    std::vector<Access> makers;         ///< but for the cell's last write: the others who might have made it
    std::vector<Access> writes, reads;  ///< before it, which whoever makes it has to come after
  };
  bool stays(const FlatStep& step, const FlatOperand& destination) const;

  struct Here {
    std::uint32_t lane, step, piece;
    const FlatOperand* operand;
    std::uint32_t chunk;
    std::uint32_t to_owner;  ///< the lane as the chunk's owner numbers it
  };

  void look_at_writes(const Cell& cell, const Here& here, bool writes);
  bool made_instead(const Access& other, const Here& here) const;
  void look_at_shared_out(Cell& cell, const Here& here);
  void read(Cell& cell, const Here& here);
  void write(Cell& cell, const Here& here);
  bool ordered(const Access& before, const Here& here) const {
    return before.lane == none || clocks_.knows(here.lane, image_.moved_lane(here.operand->rank, before.lane), before.event);
  }
  void report(const Here& here, const Access& other, bool writes, bool other_wrote);

  const Image& image_;
  const Layout& layout_;
  const Clocks& clocks_;
  const std::uint32_t pieces_;
  Report& report_;
  std::vector<Cell> cells_;
  std::vector<Read> reads_;
  std::vector<std::uint32_t> free_reads_;
  std::unordered_map<const Cell*, SharedOut> shared_out_;  ///< of cells that such a copy was the last to write
  bool reversed_ = false;
};

}  // namespace rondo::verifier
