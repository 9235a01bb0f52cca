// How a CudaCommunicator comes to be: ranks tell one another what they have through a host communicator, and each step is agreed on.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "base/config.hpp"
#include "base/log.hpp"
#include "base/on_device.hpp"
#include "base/pci_address.hpp"
#include "base/process_number.hpp"
#include "communicator/cuda/impl.hpp"
#include "communicator/cuda/places.hpp"
#include "device/cuda/launch.hpp"
#include "device/figures.hpp"
#include "transports/cuda_ipc/cuda_ipc.hpp"

namespace rondo {
namespace {

constexpr std::uint32_t usual_threads = 256;  ///< of a block: docs/design/0020-device-executor.md
constexpr long default_connections = 8;  ///< CUDA's, of a process to a GPU
constexpr long streams_of_rank = 4;      ///< its own, its caller's, and those on which the caller copies and computes
constexpr std::uint64_t plan_bytes = 4u << 20;  ///< for the arrays of some hundred plans
constexpr std::uint64_t message_plan_bytes = 1u << 20;  ///< likewise of plans of two ranks, which are shorter
constexpr std::uint64_t staging_unit = 256;  // halves of the staging begin at such addresses

/// What a rank says of itself; plain bytes.
struct Introduction {
  std::uint64_t process = 0;
  std::uint64_t enqueued = 0;  ///< where this rank counts its calls, in its process
  std::uint64_t blocks = 0;
  std::uint64_t threads = 0;
  std::uint64_t piece_bytes = 0;
  std::uint64_t staging_bytes = 0;
  std::int64_t timeout_ns = 0;
  std::int32_t device = 0;
  std::uint32_t room_blocks = 0;  ///< that its GPU runs at once
  double memory_bytes_per_s = 0;
  char algorithm[64]{};
  unsigned char gpu[16]{};
  char address[16]{};  ///< on PCI
};

/// What a rank makes of a step.
struct Verdict {
  std::uint32_t failed = 0;
  std::uint32_t code = 0;
  char detail[248]{};
};

template <class T>
Result<std::vector<T>> tell_all(Communicator& host, const T& mine) {
  std::vector<T> all(host.size());
  if (auto told = host.all_gather(&mine, all.data(), sizeof(T), DataType::u8); !told) return told.error();
  return all;
}

/// One rank's failure is everybody's.
Result<void> agree(Communicator& host, const Result<void>& mine) {
  Verdict verdict;
  if (!mine) {
    verdict.failed = 1;
    verdict.code = static_cast<std::uint32_t>(mine.error().code);
    mine.error().detail.copy(verdict.detail, sizeof verdict.detail - 1);
  }
  const auto all = tell_all(host, verdict);
  if (!all) return all.error();
  if (!mine) return mine;
  for (std::uint32_t rank = 0; rank < all->size(); ++rank)
    if ((*all)[rank].failed != 0)
      return Error{static_cast<Errc>((*all)[rank].code), "rank " + std::to_string(rank) + ": " + (*all)[rank].detail, 0, "CUDA"};
  return {};
}

Error wrong_option(const std::string& detail) { return Error{Errc::invalid_argument, detail, 0, "CudaOptions"}; }

Result<void> check_options(const CudaOptions& options) {
  if (options.blocks > device::max_slices)
    return wrong_option("blocks is " + std::to_string(options.blocks) + "; accepted: 1 to 512, or 0 for as many as there are");
  if (options.threads != 0 && (options.threads % 32 != 0 || options.threads < 64 || options.threads > device::most_threads))
    return wrong_option("threads is " + std::to_string(options.threads) + "; accepted: a multiple of 32 from 64 to 256, or 0");
  if (options.timeout.count() <= 0) return wrong_option("timeout is not above 0");
  if (options.piece_bytes % 64 != 0 || options.piece_bytes > (1u << 30))
    return wrong_option("piece_bytes is " + std::to_string(options.piece_bytes) + "; accepted: a multiple of 64 up to 1 GiB, or 0");
  if (options.staging_bytes < (1u << 20) || options.staging_bytes > (std::uint64_t{1} << 36))
    return wrong_option("staging_bytes is " + std::to_string(options.staging_bytes) + "; accepted: 1 MiB to 64 GiB");
  if (options.algorithm.size() >= sizeof(Introduction::algorithm)) return wrong_option("algorithm '" + options.algorithm + "' is none");
  return {};
}

std::uint32_t threads_of(const CudaOptions& options) { return options.threads != 0 ? options.threads : usual_threads; }

/// Of the current device, which is chosen here.
Result<Introduction> introduce(const CudaOptions& options) {
  if (auto fine = check_options(options); !fine) return fine.error();
  int count = 0;
  if (auto asked = cuda_result(cudaGetDeviceCount(&count), "looking for GPUs"); !asked) return asked.error();
  const auto device = options.device < 0 ? current_cuda_device() : Result<int>(options.device);
  if (!device) return device.error();
  Introduction mine;
  mine.device = *device;
  if (mine.device >= count) return wrong_option("device " + std::to_string(mine.device) + "; accepted: 0 to " + std::to_string(count - 1));
  const OnDevice on(mine.device);
  if (auto current = on.result(); !current) return current.error();
  cudaDeviceProp properties;
  if (auto asked = cuda_result(cudaGetDeviceProperties(&properties, mine.device), "asking what GPU this is"); !asked) return asked.error();
  int clock_khz = 0, width_bits = 0;
  (void)cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, mine.device);
  (void)cudaDeviceGetAttribute(&width_bits, cudaDevAttrGlobalMemoryBusWidth, mine.device);
  const auto resident = device::resident_blocks(threads_of(options));
  if (!resident) return resident.error();
  mine.process = process_number();
  mine.blocks = options.blocks;
  mine.threads = options.threads;
  mine.piece_bytes = options.piece_bytes;
  mine.staging_bytes = options.staging_bytes;
  mine.timeout_ns = options.timeout.count();
  mine.room_blocks = static_cast<std::uint32_t>(*resident * properties.multiProcessorCount);
  mine.memory_bytes_per_s = std::max(1e9, 2e3 * clock_khz * width_bits / 8);  // both edges of the clock
  options.algorithm.copy(mine.algorithm, sizeof mine.algorithm - 1);
  std::memcpy(mine.gpu, &properties.uuid, sizeof mine.gpu);
  pci_address(static_cast<unsigned>(properties.pciDomainID), static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID))
      .copy(mine.address, sizeof mine.address - 1);
  return mine;
}

bool same_gpu(const Introduction& one, const Introduction& other) { return std::memcmp(one.gpu, other.gpu, sizeof one.gpu) == 0; }

/// How many ranks have the GPU that one has.
std::uint32_t sharing(const Introduction& one, const std::vector<Introduction>& all) {
  return static_cast<std::uint32_t>(std::count_if(all.begin(), all.end(), [&](const Introduction& other) { return same_gpu(one, other); }));
}

auto options_of(const Introduction& of) {
  return std::tuple(of.blocks, of.threads, of.piece_bytes, of.staging_bytes, of.timeout_ns, std::string(of.algorithm));
}

Result<void> check_all(const Communicator& host, const std::vector<Introduction>& all) {
  const std::vector<RankPlace>& places = host.topology().ranks;
  if (host.size() > device::max_ranks)
    return Error{Errc::unsupported, std::to_string(host.size()) + " ranks; up to " + std::to_string(device::max_ranks) + " are served on GPUs", 0, "CUDA"};
  for (const RankPlace& place : places)
    if (place.host != places.front().host) return Error{Errc::unsupported, "ranks with GPUs are on several machines, which isn't served yet", 0, "CUDA"};
  for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
    const Introduction &one = all[rank], &first = all.front();
    if (options_of(one) != options_of(first))
      return wrong_option("rank " + std::to_string(rank) + " has other options than rank 0; accepted: equal ones, but for device");
  }
  return {};
}

/// Whether some are processes that share a GPU, whose kernels don't run side by side.
bool take_turns(const std::vector<Introduction>& all) {
  for (const Introduction& one : all)
    for (const Introduction& other : all)
      if (same_gpu(one, other) && one.process != other.process) return true;
  return false;
}

/// Blocks must all run at once, with those of the ranks they wait for; by turns, they wait for nobody.
std::uint32_t room_for_each(const std::vector<Introduction>& all, bool by_turns) {
  std::uint32_t least = device::max_slices;
  for (const Introduction& one : all) least = std::min(least, std::max(1u, one.room_blocks / (by_turns ? 1 : sharing(one, all))));
  return least;
}

/// Streams share CUDA's connections to a GPU. A call that waits for its rank's call before it keeps what is behind it in its connection from running: perhaps
/// the very call that a peer waits for.
void warn_of_connections(const Introduction& mine, const std::vector<Introduction>& all) {
  const std::uint32_t ranks = sharing(mine, all);
  const Environment environment = read_environment();
  const auto set = environment.find("CUDA_DEVICE_MAX_CONNECTIONS");
  const long connections = set == environment.end() ? default_connections : std::strtol(set->second.c_str(), nullptr, 10);
  if (ranks * streams_of_rank <= connections || &mine != &all.front()) return;
  log_warn(std::to_string(ranks) + " ranks share GPU " + std::to_string(mine.device) + ", to which this process has " + std::to_string(connections) +
           " connections: calls may keep one another from running until their timeout; set CUDA_DEVICE_MAX_CONNECTIONS=32 before the program starts");
}

CostModel cost_of(const std::vector<Introduction>& all, const CudaParts& parts) {
  device::GpuFigures figures;
  figures.memory_bytes_per_s = all.front().memory_bytes_per_s;
  figures.blocks = parts.blocks;
  figures.by_turns = parts.by_turns;
  const std::uint32_t ranks = sharing(all.front(), all);
  figures.ranks = ranks;
  figures.same = ranks == all.size();
  figures.through_host = parts.host_areas != nullptr;
  figures.link_bytes_per_s = figures.through_host ? 0 : narrowest_way(parts.topology);
  CostModel cost = device::gpu_cost(figures);
  if (figures.link_bytes_per_s > 0) cost.rings = cost_model(parts.topology, static_cast<std::uint32_t>(all.size())).rings;
  return cost;
}

void lay_out_areas(CudaParts& parts) {
  const std::uint32_t ranks = parts.host->size();
  parts.group.rank = parts.host->rank();
  parts.group.ranks = ranks;
  parts.group.layout.half_bytes = parts.options.staging_bytes / 2 / staging_unit * staging_unit;
  parts.group.timeout_ns = static_cast<std::uint64_t>(parts.options.timeout.count());
  const std::uint32_t ways = 2 * (ranks - 1);  // to each peer, and from it
  parts.pairs = device::pair_areas(parts.group.layout.total_bytes(), parts.options.staging_bytes, ranks, std::max(1u, parts.blocks / std::max(1u, ways)));
}

/// Memory of this rank's GPU, and the peers' mapped.
Result<void> take_gpu_memory(CudaParts& parts) {
  Communicator& host = *parts.host;
  const OnDevice on(parts.device);
  parts.transport = make_cuda_ipc_transport({parts.device, parts.pairs.total_bytes(host.size())});
  auto address = parts.transport->address();
  if (auto agreed = agree(host, address ? Result<void>{} : address.error()); !agreed) return agreed;
  const std::size_t bytes = address->bytes.size();
  std::vector<std::byte> flat(bytes * host.size());
  if (auto told = host.all_gather(address->bytes.data(), flat.data(), bytes, DataType::u8); !told) return told;
  std::vector<Address> addresses(host.size());
  for (std::uint32_t rank = 0; rank < host.size(); ++rank) addresses[rank].bytes.assign(flat.begin() + rank * bytes, flat.begin() + (rank + 1) * bytes);
  if (auto agreed = agree(host, parts.transport->connect(addresses, 0)); !agreed) return agreed;
  for (std::uint32_t rank = 0; rank < host.size(); ++rank) parts.group.areas[rank] = parts.transport->segment(rank);
  return {};
}

/// What passes between the ranks goes through host memory. `why` GPUs can't map one another's.
Result<void> take_host_memory(CudaParts& parts, const Error& why) {
  Communicator& host = *parts.host;
  const OnDevice on(parts.device);
  parts.transport.reset();
  const auto neither = [&](const Error& second) { return Error{why.code, why.detail + "; nor by way of host memory: " + second.detail, 0, "CUDA"}; };
  const std::uint64_t bytes = parts.pairs.total_bytes(host.size());
  auto own = host.allocate(bytes);
  if (auto agreed = agree(host, own ? Result<void>{} : own.error()); !agreed) return neither(agreed.error());
  auto areas = HostAreas::make(host, std::move(*own), bytes);
  if (auto agreed = agree(host, areas ? Result<void>{} : areas.error()); !agreed) return neither(agreed.error());
  parts.host_areas = std::move(*areas);
  parts.reads_peers = false;
  for (std::uint32_t rank = 0; rank < host.size(); ++rank) parts.group.areas[rank] = parts.host_areas->of(rank);
  if (host.rank() == 0) log_warn("what passes between GPUs goes through host memory: " + why.detail);
  return {};
}

Result<void> take_memory(CudaParts& parts) {
  lay_out_areas(parts);
  const auto taken = take_gpu_memory(parts);
  return taken || taken.error().code == Errc::out_of_resources ? taken : take_host_memory(parts, taken.error());
}

Result<void> take_words(CudaParts& parts) {
  const OnDevice on(parts.device);
  auto words = take_pinned(sizeof(device::HostWords));
  if (!words) return words.error();
  parts.words = std::move(*words);
  auto arena = DeviceArena::take(plan_bytes);
  if (!arena) return arena.error();
  parts.plans = std::move(*arena);
  for (DeviceArena* const arrays : {&parts.senders, &parts.receivers}) {
    auto taken = DeviceArena::take(message_plan_bytes);
    if (!taken) return taken.error();
    *arrays = std::move(*taken);
  }
  parts.group.host = static_cast<device::HostWords*>(parts.words.get());
  auto stream = make_stream();
  if (!stream) return stream.error();
  parts.own_stream = std::move(*stream);
  for (CudaEvent* const event : {&parts.last_call, &parts.joined}) {
    auto made = make_event();
    if (!made) return made.error();
    *event = std::move(*made);
  }
  return device::load_kernels(parts.own_stream.get());
}

}  // namespace

std::string cuda_version() { return std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10); }

Result<int> current_cuda_device() {
  int device = 0;
  if (auto asked = cuda_result(cudaGetDevice(&device), "asking for the current GPU"); !asked) return asked.error();
  return device;
}

Result<CudaCommunicator> CudaCommunicator::create(Communicator& host, const CudaOptions& options) {
  CudaParts parts;
  parts.options = options;
  auto duplicate = host.duplicate();
  if (!duplicate) return duplicate.error();
  parts.host.emplace(std::move(*duplicate));
  auto mine = introduce(options);
  parts.enqueued = std::make_unique<std::atomic<std::uint64_t>>(0);
  if (mine) mine->enqueued = reinterpret_cast<std::uintptr_t>(parts.enqueued.get());
  if (auto agreed = agree(*parts.host, mine ? Result<void>{} : mine.error()); !agreed) return agreed.error();
  const auto all = tell_all(*parts.host, *mine);
  if (!all) return all.error();
  if (auto fine = check_all(*parts.host, *all); !fine) return fine.error();
  parts.device = mine->device;
  parts.by_turns = take_turns(*all);
  if (!parts.by_turns) warn_of_connections((*all)[parts.host->rank()], *all);
  parts.room = room_for_each(*all, parts.by_turns);
  parts.blocks = options.blocks == 0 ? parts.room : std::min(options.blocks, parts.room);
  parts.threads = threads_of(options);
  parts.one_process = std::all_of(all->begin(), all->end(), [&](const Introduction& one) { return one.process == mine->process; });
  parts.reads_peers = parts.one_process;
  parts.group.one_gpu = sharing(*mine, *all) == all->size() && !parts.by_turns;  // that is a scope within a process
  if (parts.by_turns)
    if (auto agreed = agree(*parts.host, streams_can_wait()); !agreed) return agreed.error();
  std::vector<std::string> addresses;
  for (const Introduction& one : *all) addresses.emplace_back(one.address);
  auto topology = topology_of_gpus(*parts.host, addresses);
  if (!topology) return topology.error();
  parts.topology = std::move(*topology);
  for (const Introduction& one : *all)
    if (same_gpu(one, *mine) && one.process == mine->process && one.enqueued != mine->enqueued)
      parts.beside.push_back(reinterpret_cast<const std::atomic<std::uint64_t>*>(one.enqueued));
  if (auto taken = take_memory(parts); !taken) return taken.error();
  parts.cost = cost_of(*all, parts);
  if (auto agreed = agree(*parts.host, take_words(parts)); !agreed) return agreed.error();
  auto impl = std::make_unique<Impl>(std::move(parts));
  if (auto agreed = agree(impl->host(), impl->start_threads()); !agreed) return agreed.error();
  return CudaCommunicator(std::move(impl));
}

}  // namespace rondo
