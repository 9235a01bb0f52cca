// Plan → MSCCL++ JSON. A lane becomes a thread block. Each pair of lanes of two ranks of which one waits for the other has a channel, each pair of one
// rank a semaphore for each direction: a lane's waits for another one's signals rise, so that counting them is enough.
#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/names.hpp"
#include "formats/one_piece.hpp"
#include "formats/tidy.hpp"
#include "formats/transfers.hpp"
#include "plan/edit.hpp"
#include "rondo/formats.hpp"

namespace rondo {
namespace {

using Json = nlohmann::ordered_json;
using plan::LaneId;

Error not_in_mscclpp(const std::string& what) { return Error{Errc::unsupported, what + " (MSCCL++ JSON)", 0, "export_mscclpp_json"}; }

/// Numbers things in the order in which they are asked for first.
template <class Key>
class Numbers {
 public:
  std::uint32_t operator[](const Key& key) {
    const auto [at, fresh] = numbers_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
    if (fresh) keys_.push_back(key);
    return at->second;
  }
  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::map<Key, std::uint32_t> numbers_;
  std::vector<Key> keys_;
};

/// Who waits for whom, and by what.
class Wiring {
 public:
  explicit Wiring(const std::vector<Program>& programs) : channels_(programs.size()), semaphores_(programs.size()) {
    std::set<std::pair<LaneId, LaneId>> pairs;  // the lower rank's first
    for (std::uint32_t rank = 0; rank < programs.size(); ++rank)
      for (std::uint32_t lane = 0; lane < programs[rank].lanes.size(); ++lane)
        for (const Step& step : programs[rank].lanes[lane].steps) {
          if (step.kind != StepKind::wait) continue;
          const LaneId own{rank, lane}, other{step.wait.rank, step.wait.lane};
          waiters_[{other, step.wait.signal}].push_back(own);
          if (other.first == rank) semaphores_[rank][{step.wait.lane, lane}];
          else pairs.insert(std::minmax(own, other));
        }
    // The j-th channel of a rank to another ends at that one's j-th channel back.
    for (const auto& [low, high] : pairs) {
      channels_[low.first][{low.second, high}];
      channels_[high.first][{high.second, low}];
    }
  }

  /// A rank's channel by which its lane and another rank's know of one another.
  std::uint32_t channel(LaneId own, LaneId other) { return channels_[own.first][{own.second, other}]; }
  std::uint32_t semaphore(std::uint32_t rank, std::uint32_t from, std::uint32_t to) { return semaphores_[rank][{from, to}]; }
  const std::vector<LaneId>& waiters(LaneId lane, std::uint32_t signal) { return waiters_[{lane, signal}]; }

  Json channels_of(std::uint32_t rank) const {
    Json peers = Json::array();
    for (const auto& [lane, other] : channels_[rank].keys()) peers.push_back(other.first);
    return peers;
  }
  std::size_t semaphores_of(std::uint32_t rank) const { return semaphores_[rank].keys().size(); }

 private:
  std::vector<Numbers<std::pair<std::uint32_t, LaneId>>> channels_;           // by rank: own lane, other
  std::vector<Numbers<std::pair<std::uint32_t, std::uint32_t>>> semaphores_;  // by rank: from lane to lane
  std::map<std::pair<LaneId, std::uint32_t>, std::vector<LaneId>> waiters_;   // of a lane's signal
};

char letter(Buffer buffer) { return buffer == Buffer::input ? 'i' : buffer == Buffer::output ? 'o' : 's'; }

using RemoteBuffers = Numbers<std::pair<std::uint32_t, Buffer>>;  // of a gpu: rank and buffer

/// One thread block's operations.
class BlockWriter {
 public:
  BlockWriter(LaneId id, Wiring& wiring, RemoteBuffers& remote, std::uint32_t spare)
      : id_(id), wiring_(wiring), remote_(remote), maker_(id.first, spare) {}

  Json write(const Lane& lane) {
    std::uint32_t signals = 0;
    for (const Step& step : lane.steps) {
      if (step.kind == StepKind::signal) signal(signals++);
      else if (step.kind == StepKind::wait) wait(step.wait);
      else
        for (const formats::Transfer& transfer : maker_.make(step)) move(transfer);
    }
    Json block;
    block["id"] = id_.second;
    block["ops"] = std::move(operations_);
    block["channels"] = refs("channel_type", "channel_ids", channels_.keys());
    block["remote_buffer_refs"] = refs("access_channel_type", "remote_buffer_ids", buffers_.keys());
    return block;
  }

  std::uint32_t spares() const { return maker_.spares(); }

 private:
  static Json refs(const char* type, const char* ids, const std::vector<std::uint32_t>& used) {
    Json list = Json::array();
    if (!used.empty()) list.push_back({{type, "memory"}, {ids, used}});
    return list;
  }

  /// Threads of a block meet wherever what some did is used by others.
  void meet(bool moves) {
    if (!operations_.empty() && (moves || moved_)) operations_.push_back({{"name", "nop"}});
    moved_ = moves;
  }

  /// One more channel or semaphore for the operation before, if that does the same.
  void add(const char* name, const char* key, std::uint32_t number, bool on_channel) {
    if (!operations_.empty() && operations_.back()["name"] == name && may_join_) {
      operations_.back()[key].push_back(number);
      return;
    }
    meet(false);
    Json operation{{"name", name}, {key, Json::array({number})}};
    if (on_channel) operation["channel_type"] = "memory";
    operations_.push_back(std::move(operation));
    may_join_ = true;
  }

  void signal(std::uint32_t number) {
    may_join_ = false;  // two signals on one channel stay two
    for (const LaneId& other : wiring_.waiters(id_, number))
      if (other.first != id_.first) add("signal", "channel_ids", channels_[wiring_.channel(id_, other)], true);
    for (const LaneId& other : wiring_.waiters(id_, number))
      if (other.first == id_.first) add("sem_release", "semaphore_ids", wiring_.semaphore(id_.first, id_.second, other.second), false);
    may_join_ = false;
  }

  void wait(const WaitFor& wait) {
    if (wait.rank == id_.first) return add("sem_acquire", "semaphore_ids", wiring_.semaphore(id_.first, wait.lane, id_.second), false);
    const std::uint32_t channel = channels_[wiring_.channel(id_, {wait.rank, wait.lane})];
    if (!operations_.empty() && operations_.back()["name"] == "wait") {  // of one channel a block waits for one signal at a time
      const Json& ids = operations_.back()["channel_ids"];
      if (std::find(ids.begin(), ids.end(), channel) != ids.end()) may_join_ = false;
    }
    add("wait", "channel_ids", channel, true);
  }

  void move(const formats::Transfer& transfer) {
    meet(true);
    Json operation{{"name", transfer.name}, {"src_buff", operands(transfer.sources)}, {"dst_buff", operands(transfer.destinations)}};
    const auto remote = [](const Operand& operand) { return operand.rank != self; };
    if (std::any_of(transfer.sources.begin(), transfer.sources.end(), remote) ||
        std::any_of(transfer.destinations.begin(), transfer.destinations.end(), remote))
      operation["channel_type"] = "memory";
    if (transfer.name[0] == 'r') operation["reduce_op"] = "sum";
    operations_.push_back(std::move(operation));
    may_join_ = false;
  }

  Json operands(const std::vector<Operand>& list) {
    Json made = Json::array();
    for (const Operand& operand : list) {
      Json entry;
      if (operand.rank == self) entry["type"] = std::string(1, letter(operand.buffer));
      else entry["buffer_id"] = buffers_[remote_[{operand.rank, operand.buffer}]];
      entry["index"] = operand.index;
      entry["size"] = operand.count;
      made.push_back(std::move(entry));
    }
    return made;
  }

  const LaneId id_;
  Wiring& wiring_;
  RemoteBuffers& remote_;
  formats::TransferMaker maker_;
  Json operations_ = Json::array();
  Numbers<std::uint32_t> channels_;  // the gpu's, as the block numbers them
  Numbers<std::uint32_t> buffers_;   // likewise
  bool moved_ = false;               // the last operation moved data
  bool may_join_ = false;
};

Json write_gpu(const PlanHeader& header, std::uint32_t rank, const Program& program, Wiring& wiring, std::uint32_t scratch) {
  Json gpu, blocks = Json::array();
  RemoteBuffers remote;
  for (std::uint32_t lane = 0; lane < program.lanes.size(); ++lane) {
    BlockWriter writer({rank, lane}, wiring, remote, scratch);
    blocks.push_back(writer.write(program.lanes[lane]));
    scratch += writer.spares();
  }
  gpu["id"] = rank;
  gpu["input_chunks"] = has_input(header, rank) ? input_chunks(header) : 0;
  gpu["output_chunks"] = has_output(header, rank) ? output_chunks(header) : 0;
  gpu["scratch_chunks"] = scratch;
  gpu["threadblocks"] = std::move(blocks);
  gpu["channels"] = Json::array();
  if (Json peers = wiring.channels_of(rank); !peers.empty()) gpu["channels"].push_back({{"channel_type", "memory"}, {"connected_to", std::move(peers)}});
  gpu["remote_buffers"] = Json::array();
  for (const auto& [owner, buffer] : remote.keys())
    gpu["remote_buffers"].push_back({{"rank", owner}, {"type", std::string(1, letter(buffer))}, {"access_channel_types", {"memory"}}});
  gpu["semaphores"] = Json::array();
  for (std::size_t s = 0; s < wiring.semaphores_of(rank); ++s) gpu["semaphores"].push_back({{"init_value", 0}});
  return gpu;
}

std::uint32_t scratch_of(const std::vector<Program>& programs) {
  std::uint32_t chunks = 0;
  for (const Program& program : programs)
    for (const Lane& lane : program.lanes)
      for (const Step& step : lane.steps)
        for (const auto* operands : {&step.sources, &step.destinations})
          for (const Operand& operand : *operands)
            if (operand.buffer == Buffer::scratch) chunks = std::max(chunks, operand.index + operand.count);
  return chunks;
}

}  // namespace

Result<std::string> export_mscclpp_json(const Plan& plan) {
  if (auto fine = check_form(plan); !fine) return fine.error();
  const PlanHeader& header = plan.header;
  const auto name = formats::name_of(header.collective);
  if (!name) return not_in_mscclpp(std::string(to_string(header.collective)) + " has no name; those that have: " + formats::collective_choices);
  if (header.wire) return not_in_mscclpp("scratch of " + std::string(to_string(*header.wire)) + " can't be said");
  std::vector<Program> programs = formats::one_piece(plan);
  formats::tidy(programs, false);
  Wiring wiring(programs);
  const std::uint32_t scratch = std::max(plan.header.scratch_chunks, scratch_of(programs));
  Json file;
  file["name"] = header.algorithm;
  file["collective"] = *name;
  file["protocol"] = "Simple";
  file["inplace"] = !header.out_of_place;
  file["reuse_resources"] = false;
  file["num_threads_per_block"] = 1024;
  file["use_double_scratch_buffer"] = false;
  file["buffer_alignment"] = 16;
  file["min_message_size"] = header.min_bytes;
  file["max_message_size"] = header.max_bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : header.max_bytes;
  file["gpus"] = Json::array();
  for (std::uint32_t rank = 0; rank < header.ranks; ++rank) file["gpus"].push_back(write_gpu(header, rank, programs[rank], wiring, scratch));
  return file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rondo
