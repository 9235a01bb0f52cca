#include <algorithm>
#include <limits>
#include <numeric>

#include "formats/dataflow.hpp"
#include "formats/mscclpp.hpp"
#include "formats/names.hpp"

namespace rondo::formats {
namespace {

constexpr std::uint32_t max_slices = 64;

/// Least common multiple of the sizes of all thread block groups.
std::uint32_t count_slices(const JsonNode& gpus) {
  std::uint32_t slices = 1;
  for (std::size_t g = 0; g < gpus.size() && !gpus.failed(); ++g) {
    const JsonNode gpu = gpus.at(g);
    const JsonNode blocks = gpu.at("threadblocks");
    for (std::size_t b = 0; b < blocks.size() && !gpus.failed(); ++b) {
      const JsonNode block = blocks.at(b);
      const JsonNode operations = block.at("ops");
      for (std::size_t o = 0; o < operations.size(); ++o) {
        const JsonNode operation = operations.at(o);
        if (!operation.has("tbg_info")) continue;
        const JsonNode group = operation.at("tbg_info");
        const JsonNode size = group.at("tbg_size");
        slices = std::lcm(slices, size.count(1, max_slices));
        if (slices > max_slices)
          size.expected("group sizes whose least common multiple is at most " + std::to_string(max_slices));
        if (gpus.failed()) return 1;
      }
    }
  }
  return slices;
}

void read_channels(const JsonNode& gpu, std::uint32_t rank, std::uint32_t ranks, MscclppGpu& made) {
  if (!gpu.has("channels")) return;
  const JsonNode channels = gpu.at("channels");
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const JsonNode channel = channels.at(c);
    const JsonNode type = channel.at("channel_type");
    const std::string name = type.text();
    if (name == "switch") continue;  // operations that use one are refused by name
    if (name != "memory" && name != "port") type.expected("memory, port or switch");
    const JsonNode peers = channel.at("connected_to");
    for (std::size_t p = 0; p < peers.size() && !gpu.failed(); ++p) {
      const JsonNode peer = peers.at(p);
      made.peers[name == "port"].push_back(peer.count(0, ranks - 1));
      if (made.peers[name == "port"].back() == rank) peer.expected("another gpu");
    }
  }
}

void read_remote_buffers(const JsonNode& gpu, std::uint32_t rank, std::uint32_t ranks, MscclppGpu& made) {
  if (!gpu.has("remote_buffers")) return;
  const JsonNode buffers = gpu.at("remote_buffers");
  for (std::size_t b = 0; b < buffers.size() && !gpu.failed(); ++b) {
    const JsonNode buffer = buffers.at(b);
    const JsonNode owner = buffer.at("rank");
    const JsonNode type = buffer.at("type");
    const std::string name = type.text();
    if (name != "i" && name != "o" && name != "s") type.expected("i, o or s");
    made.remote_buffers.push_back({owner.count(0, ranks - 1), name == "i"   ? Buffer::input
                                                              : name == "o" ? Buffer::output
                                                                            : Buffer::scratch});
    if (made.remote_buffers.back().rank == rank) owner.expected("another gpu");
  }
}

/// Chunks of one block, from whichever count the file gives; every gpu has to give the same.
void read_chunks(const JsonNode& gpu, MscclppFile& file, bool first) {
  const BlockCounts blocks = block_counts(file.header.collective, file.header.ranks);
  const auto per_block = [&](const char* key, std::uint32_t count) -> std::uint32_t {
    const JsonNode node = gpu.at(key);
    const std::uint32_t chunks = node.count(0, max_chunks / file.slices);
    if (chunks == 0) return 0;  // not used, or sharing the other buffer's memory
    if (chunks % count != 0) node.expected("a multiple of the collective's " + std::to_string(count) + " blocks");
    const std::uint32_t scaled = chunks / count * file.slices;
    if (first && file.header.chunks_per_block == 0) file.header.chunks_per_block = scaled;
    if (scaled != file.header.chunks_per_block) {
      node.expected("0 or " + std::to_string(file.header.chunks_per_block / file.slices * count) +
                    ", as counted before");
    }
    return scaled;
  };
  const std::uint32_t input = per_block("input_chunks", blocks.input);
  const std::uint32_t output = per_block("output_chunks", blocks.output);
  if (first && std::max(input, output) == 0)
    gpu.at("input_chunks").expected("more chunks than 0 here or in output_chunks");
}

MscclppGpu read_gpu(const JsonNode& gpu, std::uint32_t rank, MscclppFile& file) {
  MscclppGpu made;
  const JsonNode id = gpu.at("id");
  if (id.count(0, max_ranks) != rank) id.expected("its position, " + std::to_string(rank));
  read_chunks(gpu, file, rank == 0);
  made.scratch_chunks = gpu.at("scratch_chunks").count(0, max_chunks / file.slices) * file.slices;
  file.header.scratch_chunks = std::max(file.header.scratch_chunks, made.scratch_chunks);
  read_channels(gpu, rank, file.header.ranks, made);
  read_remote_buffers(gpu, rank, file.header.ranks, made);
  if (gpu.has("semaphores")) {
    const JsonNode semaphores = gpu.at("semaphores");
    for (std::size_t s = 0; s < semaphores.size() && !gpu.failed(); ++s) {
      const JsonNode semaphore = semaphores.at(s);
      made.semaphores.push_back(semaphore.at("init_value").count(0, max_channels));
    }
  }
  return made;
}

}  // namespace

// Ignored, with reasons: `protocol` and `num_threads_per_block` say how a GPU moves bytes; `reuse_resources` and
// `use_double_scratch_buffer` keep calls apart that share scratch, which our executor does for every plan;
// `buffer_alignment` is finer than the IR's.
MscclppFile read_mscclpp(const JsonNode& plan) {
  MscclppFile file;
  PlanHeader& header = file.header;
  header.algorithm = plan.at("name").text();
  const JsonNode collective = plan.at("collective");
  const auto known = collective_named(collective.text());
  if (!known && !plan.failed()) collective.expected(collective_choices);
  header.collective = known.value_or(Collective::all_reduce);
  header.in_place = plan.at("inplace").boolean();
  header.out_of_place = !header.in_place;
  constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();
  if (plan.has("min_message_size")) header.min_bytes = plan.at("min_message_size").number(0, any_size);
  if (plan.has("max_message_size")) header.max_bytes = plan.at("max_message_size").number(0, any_size);
  if (header.max_bytes == any_size) header.max_bytes = 0;
  const JsonNode gpus = plan.at("gpus");
  header.ranks = static_cast<std::uint32_t>(std::min<std::size_t>(gpus.size(), max_ranks + 1));
  if (header.ranks == 0 || header.ranks > max_ranks) gpus.expected("1 to " + std::to_string(max_ranks) + " gpus");
  header.chunks_per_block = 0;
  if (!plan.failed()) file.slices = count_slices(gpus);
  for (std::uint32_t rank = 0; rank < header.ranks && !plan.failed(); ++rank) {
    file.gpus.push_back(read_gpu(gpus.at(rank), rank, file));
  }
  if (Cells::count(header) > max_all_chunks)
    plan.report("the buffers have too many chunks, over " + std::to_string(max_all_chunks));
  return file;
}

}  // namespace rondo::formats
