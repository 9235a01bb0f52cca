// An MSCCL++ execution plan on its way to the IR: what the file says of each gpu, and lanes whose waits aren't bound
// yet.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/json_node.hpp"
#include "formats/limits.hpp"
#include "rondo/plan.hpp"

namespace rondo::formats {

/// Memory and port channels differ in who moves the bytes. Here the caller does, so that both mean the same; but each
/// type numbers its channels and buffers by itself.
inline constexpr std::size_t channel_types = 2;

struct RemoteBuffer {
  std::uint32_t rank = 0;
  Buffer buffer = Buffer::scratch;
};

struct MscclppGpu {
  std::uint32_t scratch_chunks = 0;
  std::array<std::vector<std::uint32_t>, channel_types> peers;  // by channel
  std::vector<RemoteBuffer> remote_buffers;
  std::vector<std::uint32_t> semaphores;  // initial values
};

struct MscclppFile {
  PlanHeader header;
  std::uint32_t slices = 1;  // chunks of the IR in one chunk of the file, see read_mscclpp
  std::vector<MscclppGpu> gpus;
};

/// Reads all but the operations. Where groups of thread blocks share an operation, each takes a slice of every chunk;
/// the file's chunks are then cut into so many that a slice is a whole number of them.
MscclppFile read_mscclpp(const JsonNode& plan);

/// What an operation has to wait for before its step, or instead of one.
enum class Awaits : std::uint8_t { nothing, channel, semaphore, barrier, packets };

/// A step, or a wait whose signal isn't known before all lanes are read.
struct Item {
  Step step;
  Awaits awaits = Awaits::nothing;
  std::size_t type = 0;            // of the channel
  std::uint32_t id = 0;            // channel, semaphore or barrier of this gpu
  std::uint32_t occurrence = 0;    // the how-manieth wait for it
  std::size_t packet_sources = 0;  // the first source whose packets the step reads
  std::string path;                // set where awaits is
};

/// The signals that one counter sees. The order of signals from two lanes would be anyone's guess.
struct Counter {
  std::uint32_t lane = 0;
  std::vector<std::uint32_t> signals;  // positions among the lane's signals
  std::string path;                    // of the first
};

/// Who writes packets to a chunk of scratch, and the signal that says so.
struct PacketWriter {
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;
  std::uint32_t signal = 0;
  std::string path;
};

using CounterKey = std::tuple<Awaits, std::size_t, std::uint32_t, std::uint32_t>;  // what, channel type, gpu, id

struct MscclppLanes {
  std::vector<std::vector<std::vector<Item>>> items;                // by gpu and lane
  std::map<CounterKey, Counter> signalled;                          // channels and semaphores
  std::map<CounterKey, Counter> awaited;                            // who waits; `signals` counts the waits
  std::map<CounterKey, std::map<std::uint32_t, Counter>> barriers;  // by lane
  std::map<CounterKey, std::uint32_t> barrier_sizes;
  std::vector<PacketWriter> writers;
  std::vector<std::vector<std::uint32_t>> packets;  // by gpu and scratch chunk: 1 + its only writer, or 0
  std::uint64_t accesses = 0;                       // chunks that all steps touch
};

/// Reads the operations.
MscclppLanes read_mscclpp_operations(const JsonNode& plan, const MscclppFile& file);

/// Binds every wait to the absolute position of its signal.
std::vector<Program> bind_mscclpp_waits(const MscclppFile& file, const MscclppLanes& lanes, Problem& problem);

}  // namespace rondo::formats
