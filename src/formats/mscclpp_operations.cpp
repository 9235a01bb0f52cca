// The operations of an MSCCL++ plan as steps. Meanings follow its executor: sources and destinations of put, get, copy
// and their packet forms go in pairs; reductions combine all sources into all destinations. LL packets carry their own
// flag, which becomes a signal after the step that writes them.
#include <algorithm>

#include "formats/mscclpp.hpp"

namespace rondo::formats {
namespace {

enum class Kind : std::uint8_t { nothing, barrier, signal, wait, acquire, release, copy, reduce, refused };

constexpr std::size_t no_packets = 255;

struct Operation {
  std::string_view name;
  Kind kind = Kind::refused;
  std::size_t packet_sources = no_packets;       // the first source in packets
  std::size_t packet_destinations = no_packets;  // the first destination in packets
  bool signals = false;                          // a signal on its channels follows
};

// A nop orders the threads of one block, and a flush waits for a port's engine: a lane does both by being a lane.
// NVLS operations and loops have no meaning off a GPU or in a body that is itself the loop.
constexpr std::array operations{
    Operation{"nop", Kind::nothing},
    Operation{"flush", Kind::nothing},
    Operation{"barrier", Kind::barrier},
    Operation{"signal", Kind::signal},
    Operation{"rlxsignal", Kind::signal},
    Operation{"wait", Kind::wait},
    Operation{"rlxwait", Kind::wait},
    Operation{"sem_acquire", Kind::acquire},
    Operation{"sem_release", Kind::release},
    Operation{"put", Kind::copy},
    Operation{"pws", Kind::copy, no_packets, no_packets, true},
    Operation{"pwsf", Kind::copy, no_packets, no_packets, true},
    Operation{"get", Kind::copy},
    Operation{"copy", Kind::copy},
    Operation{"ppkt", Kind::copy, no_packets, 0},
    Operation{"rppkt", Kind::copy, 0, 0},
    Operation{"cpkt", Kind::copy, no_packets, 0},
    Operation{"upkt", Kind::copy, 0, no_packets},
    Operation{"re", Kind::reduce},
    Operation{"res", Kind::reduce},
    Operation{"rre", Kind::reduce},
    Operation{"rres", Kind::reduce},
    Operation{"respkt", Kind::reduce, 1, 1},
    Operation{"repkt", Kind::reduce, 1, 1},
    Operation{"recpkt", Kind::reduce, 1, 1},
    Operation{"recspkt", Kind::reduce, 1, 1},
    Operation{"glres"},
    Operation{"gstore"},
    Operation{"gstorepkt"},
    Operation{"pipeline"},
};

/// Reads one thread block.
class LaneReader {
 public:
  LaneReader(const MscclppFile& file, std::uint32_t rank, std::uint32_t lane, MscclppLanes& lanes)
      : file_(file), gpu_(file.gpus[rank]), rank_(rank), lane_(lane), lanes_(lanes) {}

  std::vector<Item> read(const JsonNode& block) {
    const JsonNode id = block.at("id");
    if (id.count(0, max_channels) != lane_) id.expected("its position, " + std::to_string(lane_));
    read_lists(block, "channels", "channel_type", "channel_ids", channels_,
               [&](std::size_t type) { return gpu_.peers[type].size(); });
    read_lists(block, "remote_buffer_refs", "access_channel_type", "remote_buffer_ids", buffers_,
               [&](std::size_t) { return gpu_.remote_buffers.size(); });
    const JsonNode list = block.at("ops");
    for (std::size_t o = 0; o < list.size() && !block.failed(); ++o) read_operation(list.at(o));
    return std::move(items_);
  }

 private:
  using Lists = std::array<std::vector<std::uint32_t>, channel_types>;

  template <class Limit>
  void read_lists(const JsonNode& block, const char* lists, const char* type_key, const char* ids_key, Lists& made,
                  Limit limit) {
    if (!block.has(lists)) return;
    const JsonNode entries = block.at(lists);
    for (std::size_t e = 0; e < entries.size() && !block.failed(); ++e) {
      const JsonNode entry = entries.at(e);
      if (entry.at(type_key).text() == "switch") continue;
      const std::size_t type = channel_type(entry, type_key);
      const JsonNode ids = entry.at(ids_key);
      for (std::size_t i = 0; i < ids.size() && !block.failed(); ++i) {
        made[type].push_back(index(ids.at(i), limit(type), "entries"));
      }
    }
  }

  static std::size_t channel_type(const JsonNode& node, const char* key) {
    const JsonNode type = node.at(key);
    const std::string name = type.text();
    if (name != "memory" && name != "port") type.expected("memory or port");
    return name == "port" ? 1 : 0;
  }

  static std::uint32_t index(const JsonNode& node, std::size_t limit, const char* of) {
    const std::uint32_t value = node.count(0, max_channels);
    if (value < limit) return value;
    node.expected("an index below " + std::to_string(limit) + ", the number of " + of);
    return 0;
  }

  void read_operation(const JsonNode& node) {
    const std::string name = node.at("name").text();
    const auto at =
        std::find_if(operations.begin(), operations.end(), [&](const Operation& o) { return o.name == name; });
    if (at == operations.end() && !node.failed()) node.at("name").expected("an operation of MSCCL++");
    if (node.failed()) return;
    switch (at->kind) {
      case Kind::nothing:
        return;
      case Kind::barrier:
        return read_barrier(node);
      case Kind::signal:
        return signal(node);
      case Kind::wait:
        return wait(node);
      case Kind::acquire:
        return acquire(node);
      case Kind::release:
        return release(node);
      case Kind::copy:
        return copy(node, *at);
      case Kind::reduce:
        return reduce(node, *at);
      case Kind::refused:
        node.refuse("op " + name + " at " + node.path());
    }
  }

  // --- signals and waits ---

  std::uint32_t add_signal() {
    Item item;
    item.step.kind = StepKind::signal;
    items_.push_back(std::move(item));
    return signals_++;
  }

  void add_wait(const JsonNode& node, Awaits awaits, std::size_t type, std::uint32_t id, std::uint32_t occurrence) {
    Item item;
    item.step.kind = StepKind::wait;
    item.awaits = awaits;
    item.type = type;
    item.id = id;
    item.occurrence = occurrence;
    item.path = node.path();
    items_.push_back(std::move(item));
  }

  /// Notes that this lane does `what` to a counter; two lanes that do so have no order.
  std::uint32_t count(std::map<CounterKey, Counter>& counters, const CounterKey& key, const JsonNode& node,
                      std::uint32_t signal, const std::string& what) {
    const auto [at, fresh] = counters.try_emplace(key, Counter{lane_, {}, {}});
    if (fresh) at->second.path = node.path();
    if (at->second.lane != lane_) {
      node.refuse(what + " from two thread blocks, at " + at->second.path + " and " + node.path() +
                  ": their order is undefined");
    }
    at->second.signals.push_back(signal);
    return static_cast<std::uint32_t>(at->second.signals.size() - 1);
  }

  template <class Each>
  void each_channel(const JsonNode& node, Each each) {
    const std::size_t type = channel_type(node, "channel_type");
    const JsonNode ids = node.at("channel_ids");
    for (std::size_t i = 0; i < ids.size() && !node.failed(); ++i) {
      const std::uint32_t position = index(ids.at(i), channels_[type].size(), "the thread block's channels");
      if (!node.failed()) each(type, channels_[type][position]);
    }
  }

  void signal(const JsonNode& node) {
    const std::uint32_t position = add_signal();
    each_channel(node, [&](std::size_t type, std::uint32_t channel) {
      count(lanes_.signalled, {Awaits::channel, type, rank_, channel}, node, position,
            "signals on channel " + std::to_string(channel));
    });
  }

  void wait(const JsonNode& node) {
    each_channel(node, [&](std::size_t type, std::uint32_t channel) {
      const std::uint32_t occurrence = count(lanes_.awaited, {Awaits::channel, type, rank_, channel}, node, 0,
                                             "waits on channel " + std::to_string(channel));
      add_wait(node, Awaits::channel, type, channel, occurrence);
    });
  }

  template <class Each>
  void each_semaphore(const JsonNode& node, Each each) {
    const JsonNode ids = node.at("semaphore_ids");
    for (std::size_t i = 0; i < ids.size() && !node.failed(); ++i) {
      const std::uint32_t id = index(ids.at(i), gpu_.semaphores.size(), "the gpu's semaphores");
      if (!node.failed()) each(id);
    }
  }

  void release(const JsonNode& node) {
    const std::uint32_t position = add_signal();
    each_semaphore(node, [&](std::uint32_t id) {
      count(lanes_.signalled, {Awaits::semaphore, 0, rank_, id}, node, position,
            "releases of semaphore " + std::to_string(id));
    });
  }

  void acquire(const JsonNode& node) {
    each_semaphore(node, [&](std::uint32_t id) {
      const std::uint32_t occurrence = count(lanes_.awaited, {Awaits::semaphore, 0, rank_, id}, node, 0,
                                             "acquisitions of semaphore " + std::to_string(id));
      // What the semaphore holds from the start guards scratch from one use to the next, which credits do here.
      const std::uint32_t held = gpu_.semaphores[id];
      if (occurrence >= held) add_wait(node, Awaits::semaphore, 0, id, occurrence - held);
    });
  }

  void read_barrier(const JsonNode& node) {
    const std::uint32_t id = node.at("barrier_id").count(0, max_channels);
    const CounterKey key{Awaits::barrier, 0, rank_, id};
    const std::uint32_t size = node.at("num_threadblocks").count(1, max_channels);
    if (lanes_.barrier_sizes.try_emplace(key, size).first->second != size) {
      node.at("num_threadblocks").expected("the same number wherever barrier " + std::to_string(id) + " is named");
    }
    Counter& mine = lanes_.barriers[key][lane_];
    mine.signals.push_back(add_signal());
    mine.path = node.path();
    add_wait(node, Awaits::barrier, 0, id, static_cast<std::uint32_t>(mine.signals.size() - 1));
  }

  // --- steps that move data ---

  /// The operands under `key`, cut down to the slice that this thread block does of a group's operation.
  Operands read_operands(const JsonNode& node, const char* key) {
    std::uint32_t parts = 1;
    std::uint32_t part = 0;
    if (node.has("tbg_info")) {
      const JsonNode group = node.at("tbg_info");
      parts = group.at("tbg_size").count(1, file_.slices);
      part = group.at("tb_id").count(0, parts - 1);
    }
    Operands operands;
    const JsonNode list = node.at(key);
    for (std::size_t i = 0; i < list.size() && !node.failed(); ++i) {
      const JsonNode entry = list.at(i);
      Operand operand = read_operand(node, entry);
      const std::uint32_t slice = operand.count * (file_.slices / parts);
      operand.index = operand.index * file_.slices + part * slice;
      operand.count = slice;
      operands.push_back(operand);
    }
    if (operands.empty()) list.expected("at least one entry");
    return operands;
  }

  Operand read_operand(const JsonNode& node, const JsonNode& entry) {
    Operand operand;
    if (entry.has("switch_channel_id")) {
      node.refuse("a switch channel at " + entry.path());
    } else if (entry.has("buffer_id")) {
      const std::size_t type = channel_type(node, "channel_type");
      const std::uint32_t position =
          index(entry.at("buffer_id"), buffers_[type].size(), "the thread block's remote buffers");
      if (node.failed()) return operand;
      const RemoteBuffer& remote = gpu_.remote_buffers[buffers_[type][position]];
      operand.rank = remote.rank;
      operand.buffer = remote.buffer;
    } else {
      const JsonNode type = entry.at("type");
      const std::string name = type.text();
      if (name != "i" && name != "o" && name != "s") type.expected("i, o or s");
      operand.buffer = name == "i" ? Buffer::input : name == "o" ? Buffer::output : Buffer::scratch;
    }
    const std::uint32_t chunks = chunks_of(operand) / file_.slices;
    operand.index = entry.at("index").count(0, max_chunks);
    operand.count = entry.at("size").count(1, max_chunks);
    if (operand.index + operand.count > chunks)
      entry.expected("index and size to end within the buffer's " + std::to_string(chunks) + " chunks");
    return operand;
  }

  std::uint32_t chunks_of(const Operand& operand) const {
    if (operand.buffer == Buffer::input) return input_chunks(file_.header);
    if (operand.buffer == Buffer::output) return output_chunks(file_.header);
    return file_.gpus[operand.rank == self ? rank_ : operand.rank].scratch_chunks;
  }

  void copy(const JsonNode& node, const Operation& operation) {
    const Operands sources = read_operands(node, "src_buff");
    const Operands destinations = read_operands(node, "dst_buff");
    if (node.failed()) return;
    // A port sends scratch as it lies there: in packets.
    const bool forwards =
        operation.name == "ppkt" && channel_type(node, "channel_type") == 1 && sources[0].buffer == Buffer::scratch;
    const std::size_t packet_sources = forwards ? 0 : operation.packet_sources;
    if (sources.size() == 1) {
      add_step(node, sources, destinations, packet_sources);
    } else if (sources.size() == destinations.size() && std::all_of(sources.begin(), sources.end(), [&](const Operand& o) { return o == sources[0]; })) {
      add_step(node, {sources[0]}, destinations, packet_sources);
    } else if (sources.size() == destinations.size()) {
      for (std::size_t i = 0; i < sources.size(); ++i) add_step(node, {sources[i]}, {destinations[i]}, packet_sources);
    } else {
      node.at("dst_buff").expected("as many entries as src_buff has");
    }
    if (operation.packet_destinations == 0) publish_packets(node, destinations, 0);
    if (operation.signals) signal(node);
  }

  void reduce(const JsonNode& node, const Operation& operation) {
    if (node.has("reduce_op") && node.at("reduce_op").text() != "sum") {
      node.at("reduce_op").expected("sum (which stands for the operation of the call)");
    }
    const Operands sources = read_operands(node, "src_buff");
    const Operands destinations = read_operands(node, "dst_buff");
    if (node.failed()) return;
    add_step(node, sources, destinations, operation.packet_sources);
    if (operation.packet_destinations < destinations.size())
      publish_packets(node, destinations, operation.packet_destinations);
  }

  void add_step(const JsonNode& node, Operands sources, Operands destinations,
                std::size_t packet_sources) {
    Item item;
    for (const Operands* operands : {&sources, &destinations}) {
      for (const Operand& operand : *operands) {
        if (operand.count != sources[0].count) node.report("expected all sizes to be the same");
        lanes_.accesses += operand.count;
      }
    }
    for (std::size_t k = packet_sources; k < sources.size(); ++k) {
      if (sources[k].buffer != Buffer::scratch || sources[k].rank != self) {
        node.at("src_buff").at(k).expected("packets to be read from this gpu's own scratch");
      }
      item.awaits = Awaits::packets;
      item.packet_sources = packet_sources;
      item.path = node.path();
    }
    if (lanes_.accesses > max_chunk_accesses)
      node.report("the plan's operations touch too many chunks, over " + std::to_string(max_chunk_accesses));
    item.step.kind = sources.size() > 1 ? StepKind::reduce : StepKind::copy;
    item.step.sources = std::move(sources);
    item.step.destinations = std::move(destinations);
    items_.push_back(std::move(item));
  }

  void publish_packets(const JsonNode& node, const Operands& destinations, std::size_t first) {
    lanes_.writers.push_back({rank_, lane_, add_signal(), node.path()});
    const auto writer = static_cast<std::uint32_t>(lanes_.writers.size());
    for (std::size_t k = first; k < destinations.size() && !node.failed(); ++k) {
      const Operand& to = destinations[k];
      if (to.buffer != Buffer::scratch) return node.at("dst_buff").at(k).expected("packets to be written to scratch");
      const std::uint32_t owner = to.rank == self ? rank_ : to.rank;
      std::vector<std::uint32_t>& written = lanes_.packets[owner];
      written.resize(file_.gpus[owner].scratch_chunks);
      for (std::uint32_t j = to.index; j < to.index + to.count; ++j) {
        if (written[j] != 0 && written[j] != writer) {
          return node.refuse("packets for chunk " + std::to_string(j / file_.slices) + " of gpu " +
                             std::to_string(owner) + "'s scratch from both " + lanes_.writers[written[j] - 1].path +
                             " and " + node.path() + ": a reader can't tell them apart");
        }
        written[j] = writer;
      }
    }
  }

  const MscclppFile& file_;
  const MscclppGpu& gpu_;
  const std::uint32_t rank_;
  const std::uint32_t lane_;
  MscclppLanes& lanes_;
  Lists channels_;  // of this thread block, as channels of the gpu
  Lists buffers_;   // likewise, as remote buffers of the gpu
  std::vector<Item> items_;
  std::uint32_t signals_ = 0;
};

}  // namespace

MscclppLanes read_mscclpp_operations(const JsonNode& plan, const MscclppFile& file) {
  MscclppLanes lanes;
  lanes.items.resize(file.header.ranks);
  lanes.packets.resize(file.header.ranks);
  const JsonNode gpus = plan.at("gpus");
  for (std::uint32_t rank = 0; rank < file.header.ranks && !plan.failed(); ++rank) {
    const JsonNode gpu = gpus.at(rank);
    const JsonNode blocks = gpu.at("threadblocks");
    for (std::size_t b = 0; b < blocks.size() && !plan.failed(); ++b) {
      lanes.items[rank].push_back(LaneReader(file, rank, static_cast<std::uint32_t>(b), lanes).read(blocks.at(b)));
    }
  }
  return lanes;
}

}  // namespace rondo::formats
