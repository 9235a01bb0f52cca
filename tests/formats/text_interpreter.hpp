// Performs the text of an MSCCL algorithm: thread blocks step by step, links that hold any number of messages. Knows nothing of Rondo's plans.
#pragma once

#include <pugixml.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rondo/plan.hpp"
#include "support/catch.hpp"

namespace rondo::test {

using Contributions = std::map<std::pair<int, int>, int>;  // (rank, chunk) → how often

class TextInterpreter {
 public:
  /// In place, inputs and outputs share memory, as the collective has it.
  TextInterpreter(const std::string& text, bool in_place) : in_place_(in_place) {
    REQUIRE(document_.load_string(text.c_str()));
    const pugi::xml_node algo = document_.document_element();
    const std::string collective = algo.attribute("coll").value();
    const int ranks = algo.attribute("ngpus").as_int(), chunks = algo.attribute("nchunksperloop").as_int();
    const bool input_inside = collective == "allgather", output_inside = collective.starts_with("reduce") && collective.ends_with("scatter");
    input_shift_ = in_place && input_inside ? chunks / ranks : 0;
    output_shift_ = in_place && output_inside ? chunks / ranks : 0;
    for (const pugi::xml_node gpu : algo.children("gpu")) {
      const int id = gpu.attribute("id").as_int();
      for (int c = 0; c < (input_inside ? chunks / ranks : chunks); ++c) place(id, 'i', c) = {{{id, c}, 1}};
      for (const pugi::xml_node tb : gpu.children("tb")) blocks_.push_back({id, tb, tb.first_child()});
    }
  }

  /// Blocks by turns, in an order that `random` draws; each goes on for a few steps or as far as it gets. False: it got stuck.
  bool run(std::mt19937& random) {
    std::vector<std::size_t> order(blocks_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    for (bool moved = true; moved;) {
      moved = false;
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t k : order) {
        Block& block = blocks_[k];
        for (auto left = 1 + random() % 8; left > 0 && block.step && ready(block); --left) {
          perform(block);
          ++done_[{block.gpu, block.tb.attribute("id").as_int()}];
          block.step = block.step.next_sibling();
          moved = true;
        }
      }
    }
    return std::all_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return !block.step; });
  }

  const Contributions& output(int gpu, int chunk) { return place(gpu, 'o', chunk); }
  /// All messages were received, at the size at which they were sent.
  bool drained() const {
    return !mismatch_ && std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link.second.empty(); });
  }

 private:
  struct Block {
    int gpu;
    pugi::xml_node tb, step;
  };
  using Message = std::vector<Contributions>;

  Contributions& place(int gpu, char buffer, int chunk) {
    const bool shared = in_place_ && buffer != 's';
    return memory_[{gpu, shared ? 'b' : buffer, chunk + gpu * (buffer == 'i' ? input_shift_ : buffer == 'o' ? output_shift_ : 0)}];
  }

  std::deque<Message>& incoming(const Block& block) {
    return links_[{block.tb.attribute("recv").as_int(), block.gpu, block.tb.attribute("chan").as_int()}];
  }

  bool ready(const Block& block) {
    const int on = block.step.attribute("depid").as_int();
    if (on >= 0 && done_[{block.gpu, on}] <= block.step.attribute("deps").as_int()) return false;
    const std::string type = block.step.attribute("type").value();
    return type[0] != 'r' || type == "re" || !incoming(block).empty();
  }

  void perform(const Block& block) {
    const std::string type = block.step.attribute("type").value();
    if (type == "nop") return;
    const int count = block.step.attribute("cnt").as_int();
    const auto at = [&](const char* buffer, const char* offset, int k) -> Contributions& {
      return place(block.gpu, block.step.attribute(buffer).value()[0], block.step.attribute(offset).as_int() + k);
    };
    Message message(static_cast<std::size_t>(count));
    const bool receives = type[0] == 'r' && type != "re";
    if (receives) {
      message = incoming(block).front();
      incoming(block).pop_front();
    }
    mismatch_ |= message.size() != static_cast<std::size_t>(count);
    message.resize(static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) {
      Contributions& value = message[static_cast<std::size_t>(k)];
      const bool reads = type == "s" || type == "cpy" || type == "re" || type.starts_with("rr");
      if (reads)
        for (const auto& [whose, times] : at("srcbuf", "srcoff", k)) value[whose] += times;
      if (type == "re")
        for (const auto& [whose, times] : at("dstbuf", "dstoff", k)) value[whose] += times;
      if (type != "s" && type != "rrs") at("dstbuf", "dstoff", k) = value;
    }
    if (type == "s" || type == "rcs" || type == "rrs" || type == "rrcs")
      links_[{block.gpu, block.tb.attribute("send").as_int(), block.tb.attribute("chan").as_int()}].push_back(message);
  }

  const bool in_place_;
  int input_shift_ = 0, output_shift_ = 0;  // in place: where a rank's block lies in the larger buffer, for each rank before it
  bool mismatch_ = false;
  pugi::xml_document document_;
  std::vector<Block> blocks_;
  std::map<std::pair<int, int>, int> done_;  // steps by gpu and thread block
  std::map<std::tuple<int, char, int>, Contributions> memory_;
  std::map<std::tuple<int, int, int>, std::deque<Message>> links_;
};

/// What an output chunk has to hold.
inline Contributions promised(const PlanHeader& header, int rank, int chunk) {
  const int chunks = static_cast<int>(header.chunks_per_block), root = static_cast<int>(header.root);
  Contributions sum;
  switch (header.collective) {
    case Collective::broadcast:
      return {{{root, chunk}, 1}};
    case Collective::all_gather:
      return {{{chunk / chunks, chunk % chunks}, 1}};
    case Collective::all_to_all:
      return {{{chunk / chunks, rank * chunks + chunk % chunks}, 1}};
    default:
      for (int other = 0; other < static_cast<int>(header.ranks); ++other)
        sum[{other, header.collective == Collective::reduce_scatter ? rank * chunks + chunk : chunk}] = 1;
      return sum;
  }
}

/// Empty when outputs end as the collective promises, in one order of the steps; else what went wrong.
inline std::string judged(const std::string& text, const PlanHeader& header, bool in_place, std::mt19937& random) {
  TextInterpreter interpreter(text, in_place);
  if (!interpreter.run(random)) return "it gets stuck";
  if (!interpreter.drained()) return "messages are left, or of wrong sizes";
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank)
    for (std::uint32_t c = 0; has_output(header, rank) && c < output_chunks(header); ++c)
      if (interpreter.output(static_cast<int>(rank), static_cast<int>(c)) != promised(header, static_cast<int>(rank), static_cast<int>(c)))
        return "output " + std::to_string(c) + " of gpu " + std::to_string(rank) + " is wrong";
  return "";
}

/// In each way of lying in memory that the header claims, and in several orders.
inline std::string judged(const std::string& text, const PlanHeader& header, int orders) {
  std::mt19937 random(7);
  for (const bool in_place : {false, true})
    for (int k = 0; k < orders; ++k)
      if (in_place ? header.in_place : header.out_of_place)
        if (std::string wrong = judged(text, header, in_place, random); !wrong.empty()) return wrong;
  return "";
}

}  // namespace rondo::test
