// Performs MSCCL++ JSON as its text says, by rules read off MSCCL++'s executor, sharing no code with Rondo's: operations whole, thread blocks in random
// orders, a gpu's next call when its blocks have ended this one.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace rondo::test {

class MscclppInterpreter {
 public:
  MscclppInterpreter(const std::string& text, std::uint64_t seed) : file_(nlohmann::json::parse(text)), random_(seed) {
    const auto& gpus = file_["gpus"];
    ranks_ = gpus.size();
    for (std::size_t r = 0; r < ranks_; ++r) {
      Gpu gpu;
      gpu.input.resize(input_chunks(r));
      gpu.output.resize(output_chunks(r));
      gpu.scratch.resize(gpus[r]["scratch_chunks"].get<std::size_t>());
      gpu.blocks.resize(gpus[r]["threadblocks"].size());
      for (const auto& semaphore : gpus[r]["semaphores"]) gpu.semaphores.push_back(semaphore["init_value"].get<std::int64_t>());
      for (const auto& channel : gpus[r]["channels"])
        for (const auto& peer : channel["connected_to"]) gpu.peers.push_back(peer.get<std::size_t>());
      gpu.arrived.resize(gpu.peers.size());
      gpus_.push_back(std::move(gpu));
    }
  }

  /// What went wrong in `calls` calls, one behind the other; empty: every output was right.
  std::string run(std::uint32_t calls) {
    calls_ = calls;
    for (std::size_t r = 0; r < ranks_; ++r) begin(r);
    for (;;) {
      std::vector<std::pair<std::size_t, std::size_t>> ready;
      bool left = false;
      for (std::size_t r = 0; r < ranks_; ++r)
        for (std::size_t b = 0; b < gpus_[r].blocks.size() && gpus_[r].call < calls_; ++b) {
          if (gpus_[r].blocks[b] == operations(r, b).size()) continue;
          left = true;
          if (can(r, b)) ready.push_back({r, b});
        }
      if (!wrong_.empty()) return wrong_;
      if (ready.empty()) return left ? "it stops" : "";
      const auto [r, b] = ready[random_() % ready.size()];
      perform(r, b);
      end(r);
      if (!wrong_.empty()) return wrong_;
    }
  }

 private:
  using Values = std::vector<std::uint64_t>;
  struct Gpu {
    Values input, output, scratch;
    std::vector<std::size_t> blocks;      // next operation of each
    std::vector<std::size_t> peers;       // by channel
    std::vector<std::int64_t> arrived;    // by channel: signals not yet waited for
    std::vector<std::int64_t> semaphores;
    std::uint32_t call = 0;
  };

  bool in_place() const { return file_["inplace"].get<bool>(); }
  std::string collective() const { return file_["collective"].get<std::string>(); }
  std::size_t input_chunks(std::size_t r) const { return file_["gpus"][r]["input_chunks"].get<std::size_t>(); }
  std::size_t output_chunks(std::size_t r) const { return file_["gpus"][r]["output_chunks"].get<std::size_t>(); }
  const nlohmann::json& block(std::size_t r, std::size_t b) const { return file_["gpus"][r]["threadblocks"][b]; }
  const nlohmann::json& operations(std::size_t r, std::size_t b) const { return block(r, b)["ops"]; }

  std::uint64_t given(std::uint32_t call, std::size_t rank, std::size_t chunk) const {
    return (call * 1315423911u + rank * 2654435761u + chunk * 97u + 1) * 0x9e3779b97f4a7c15u;
  }

  /// Where a chunk lies: in place, one memory serves both buffers.
  std::uint64_t& at(std::size_t rank, char buffer, std::size_t index) {
    Gpu& gpu = gpus_[rank];
    if (buffer == 's') return gpu.scratch.at(index);
    if (in_place()) {
      const bool gathers = collective() == "allgather", scatters = collective() == "reducescatter";
      if (buffer == 'i' && gathers) return gpu.output.at(rank * gpu.input.size() + index);
      if (buffer == 'o' && scatters) return gpu.input.at(rank * gpu.output.size() + index);
      if (buffer == 'o' && !gathers) return gpu.input.at(index);
    }
    return (buffer == 'i' ? gpu.input : gpu.output).at(index);
  }

  void begin(std::size_t r) {
    for (std::size_t& next : gpus_[r].blocks) next = 0;
    for (std::size_t c = 0; c < input_chunks(r); ++c) at(r, 'i', c) = given(gpus_[r].call, r, c);
  }

  void end(std::size_t r) {
    for (std::size_t b = 0; b < gpus_[r].blocks.size(); ++b)
      if (gpus_[r].blocks[b] != operations(r, b).size()) return;
    for (std::size_t c = 0; c < output_chunks(r) && wrong_.empty(); ++c)
      if (const auto right = promised(r, c); right && at(r, 'o', c) != *right)
        wrong_ = "gpu " + std::to_string(r) + ", call " + std::to_string(gpus_[r].call) + ": output chunk " + std::to_string(c) + " is wrong";
    if (++gpus_[r].call < calls_) begin(r);
  }

  std::optional<std::uint64_t> promised(std::size_t r, std::size_t c) const {
    const std::uint32_t call = gpus_[r].call;
    const auto sum = [&](std::size_t chunk) {
      std::uint64_t all = 0;
      for (std::size_t from = 0; from < ranks_; ++from) all += given(call, from, chunk);
      return all;
    };
    const std::size_t own = output_chunks(r), block = own / ranks_;
    if (collective() == "allreduce" || collective() == "reduce") return sum(c);
    if (collective() == "reducescatter") return sum(r * own + c);
    if (collective() == "allgather") return given(call, c / block, c % block);
    if (collective() == "alltoall") return given(call, c / block, r * block + c % block);
    for (std::size_t root = 0; root < ranks_; ++root)
      if (input_chunks(root) > 0) return given(call, root, c);
    return std::nullopt;
  }

  static char letter(const nlohmann::json& type) { return type.get<std::string>().at(0); }

  std::uint64_t& place(std::size_t r, std::size_t b, const nlohmann::json& entry, std::size_t j, bool local) {
    const std::size_t index = entry["index"].get<std::size_t>() + j;
    if (entry.contains("type")) {
      if (!local) throw std::runtime_error("a local buffer where a peer's belongs");
      return at(r, letter(entry["type"]), index);
    }
    if (local) throw std::runtime_error("a peer's buffer where a local one belongs");
    const std::size_t id = block(r, b)["remote_buffer_refs"][0]["remote_buffer_ids"].at(entry["buffer_id"].get<std::size_t>()).get<std::size_t>();
    const auto& buffer = file_["gpus"][r]["remote_buffers"].at(id);
    return at(buffer["rank"].get<std::size_t>(), letter(buffer["type"]), index);
  }

  std::vector<std::size_t> channels(std::size_t r, std::size_t b, const nlohmann::json& operation) const {
    std::vector<std::size_t> made;
    for (const auto& id : operation["channel_ids"])
      made.push_back(block(r, b)["channels"][0]["channel_ids"].at(id.get<std::size_t>()).get<std::size_t>());
    return made;
  }

  bool can(std::size_t r, std::size_t b) {
    const auto& operation = operations(r, b)[gpus_[r].blocks[b]];
    const std::string name = operation["name"].get<std::string>();
    if (name == "wait")
      for (const std::size_t channel : channels(r, b, operation))
        if (gpus_[r].arrived.at(channel) == 0) return false;
    if (name == "sem_acquire")
      for (const auto& id : operation["semaphore_ids"])
        if (gpus_[r].semaphores.at(id.get<std::size_t>()) == 0) return false;
    return true;
  }

  /// The other end of a channel: the peer's channel back of the same number among those between the two.
  std::size_t other_end(std::size_t r, std::size_t channel) const {
    const std::size_t peer = gpus_[r].peers[channel];
    std::size_t number = 0;
    for (std::size_t c = 0; c < channel; ++c) number += gpus_[r].peers[c] == peer;
    for (std::size_t c = 0; c < gpus_[peer].peers.size(); ++c)
      if (gpus_[peer].peers[c] == r && number-- == 0) return c;
    throw std::runtime_error("a channel without another end");
  }

  void perform(std::size_t r, std::size_t b) {
    const auto& operation = operations(r, b)[gpus_[r].blocks[b]++];
    const std::string name = operation["name"].get<std::string>();
    if (name == "nop") return;
    if (name == "signal" || name == "wait") {
      for (const std::size_t channel : channels(r, b, operation))
        if (name == "signal") ++gpus_[gpus_[r].peers.at(channel)].arrived[other_end(r, channel)];
        else --gpus_[r].arrived[channel];
      return;
    }
    if (name == "sem_release" || name == "sem_acquire") {
      for (const auto& id : operation["semaphore_ids"]) gpus_[r].semaphores.at(id.get<std::size_t>()) += name == "sem_release" ? 1 : -1;
      return;
    }
    move(r, b, name, operation["src_buff"], operation["dst_buff"]);
  }

  void move(std::size_t r, std::size_t b, const std::string& name, const nlohmann::json& from, const nlohmann::json& to) {
    if (name == "copy" || name == "put" || name == "get") {
      if (from.size() != to.size() || (name == "copy" && from.size() != 1)) throw std::runtime_error("sources and destinations don't go in pairs");
      for (std::size_t k = 0; k < from.size(); ++k)
        for (std::size_t j = 0; j < from[k]["size"].get<std::size_t>(); ++j)
          place(r, b, to[k], j, name != "put") = place(r, b, from[k], j, name != "get");
      return;
    }
    const bool reads = name == "rre" || name == "rres", sends = name == "res" || name == "rres";
    if (!reads && !sends && name != "re") throw std::runtime_error("an operation of no known name: " + name);
    if (!sends && to.size() != 1) throw std::runtime_error("a reduction that doesn't send has one destination");
    for (std::size_t j = 0; j < from[0]["size"].get<std::size_t>(); ++j) {
      std::uint64_t sum = 0;
      for (std::size_t k = 0; k < from.size(); ++k) sum += place(r, b, from[k], j, k == 0 || !reads);
      for (std::size_t k = 0; k < to.size(); ++k) place(r, b, to[k], j, k == 0) = sum;
    }
  }

  nlohmann::json file_;
  std::mt19937_64 random_;
  std::size_t ranks_ = 0;
  std::uint32_t calls_ = 1;
  std::vector<Gpu> gpus_;
  std::string wrong_;
};

}  // namespace rondo::test
