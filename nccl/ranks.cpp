// Making ranks, splitting them, asking them, and their end.
#include <cstring>
#include <thread>

#include "group.hpp"

namespace rondo::nccl {
namespace {

constexpr unsigned int config_magic = 0xcafebeef;

/// How a rank is to be made.
struct Wish {
  bool host_memory = false;
  CudaOptions device = {};
};

/// The members that this version knows. Of a program that was compiled with another version's header some may be missing, or more be there.
Result<ncclConfig_t> read_config(const ncclConfig_t* given) {
  ncclConfig_t read = NCCL_CONFIG_INITIALIZER;
  if (given == nullptr) return read;
  const auto wrong = [](Errc code, const std::string& what) { return Error{code, "ncclConfig_t: " + what, 0, "nccl"}; };
  if (given->magic != config_magic) return wrong(Errc::invalid_argument, "not made by NCCL_CONFIG_INITIALIZER");
  if (given->size < offsetof(ncclConfig_t, blocking)) return wrong(Errc::invalid_argument, "a size of " + std::to_string(given->size));
  std::memcpy(&read, given, std::min(given->size, sizeof read));
  if (read.netName != NCCL_CONFIG_UNDEF_PTR)
    return wrong(Errc::unsupported, std::string("netName '") + read.netName + "'; accepted: none, as RONDO_NET_INTERFACES says which network is used");
  for (const auto& [name, value, least] : {std::tuple{"minCTAs", read.minCTAs, 1}, {"maxCTAs", read.maxCTAs, 1}, {"cgaClusterSize", read.cgaClusterSize, 0}})
    if (value != NCCL_CONFIG_UNDEF_INT && value < least)
      return wrong(Errc::invalid_argument, std::string(name) + " " + std::to_string(value) + "; accepted: " + std::to_string(least) + " or more");
  if (read.blocking != NCCL_CONFIG_UNDEF_INT && read.blocking != 0 && read.blocking != 1)
    return wrong(Errc::invalid_argument, "blocking " + std::to_string(read.blocking) + "; accepted: 0, 1");
  return read;
}

Result<Wish> wish_of(const ncclConfig_t* given) {
  const auto config = read_config(given);
  if (!config) return config.error();
  const auto host_memory = in_host_memory();
  if (!host_memory) return host_memory.error();
  Wish wish{*host_memory, {}};
  if (config->maxCTAs != NCCL_CONFIG_UNDEF_INT) wish.device.blocks = static_cast<std::uint32_t>(std::min(config->maxCTAs, 512));
  if (wish.host_memory) return wish;
  const auto device = current_cuda_device();  // the group's end may come on another
  if (!device) return Error{device.error().code, device.error().detail + "; RONDO_NCCL_HOST=1 serves plain memory", 0, "nccl"};
  wish.device.device = *device;
  return wish;
}

Result<void> complete(ncclComm& comm, Communicator host, const Wish& wish) {
  if (!wish.host_memory) {
    auto device = CudaCommunicator::create(host, wish.device);
    if (!device) return device.error();
    comm.device = std::move(*device);
  }
  comm.host = std::move(host);
  return {};
}

/// A handle now, and the rank now or at the group's end; where that fails the handle goes again.
ncclResult_t make_later(ncclComm_t* handle, const Shared& comm, std::function<Result<void>()> make) {
  *handle = comm.get();
  return Group::of_this_thread().make([handle, comm, make = std::move(make)]() -> Result<void> {
    auto made = make();
    if (!made) {
      (void)forget(comm.get());
      *handle = NCCL_COMM_NULL;
    }
    return made;
  });
}

std::string text_of(const ncclUniqueId& id) { return {id.internal, strnlen(id.internal, sizeof id.internal)}; }

}  // namespace
}  // namespace rondo::nccl

using namespace rondo::nccl;
using rondo::Communicator;
using rondo::Errc;
using rondo::Error;
using rondo::Result;

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return failed(ncclInvalidArgument, "ncclGetVersion: version is null");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  if (uniqueId == nullptr) return failed(ncclInvalidArgument, "ncclGetUniqueId: uniqueId is null");
  const auto id = Communicator::unique_id();
  if (!id) return failed(id.error());
  *uniqueId = {};
  std::memcpy(uniqueId->internal, id->data(), std::min(id->size(), sizeof uniqueId->internal - 1));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config) {
  if (comm == nullptr) return refuse(ncclInvalidArgument, "ncclCommInitRank: comm is null");
  *comm = NCCL_COMM_NULL;
  if (nranks < 1 || rank < 0 || rank >= nranks)
    return refuse(ncclInvalidArgument, "ncclCommInitRank: rank " + std::to_string(rank) + " of " + std::to_string(nranks) + " ranks");
  const auto wish = wish_of(config);
  if (!wish) return refuse(wish.error());
  const Shared made = new_handle(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(nranks));
  return make_later(comm, made, [made, wish = *wish, id = text_of(commId)]() -> Result<void> {
    auto host = Communicator::by_id(made->rank, made->size, id);
    if (!host) return host.error();
    return complete(*made, std::move(*host), wish);
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return ncclCommInitRankConfig(comm, nranks, commId, rank, nullptr);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  if (comm == nullptr || ndev < 1) return refuse(ncclInvalidArgument, "ncclCommInitAll: comm is null, or ndev is below 1");
  for (int k = 0; k < ndev; ++k) comm[k] = NCCL_COMM_NULL;
  auto wish = wish_of(nullptr);
  if (!wish) return refuse(wish.error());
  auto hosts = Communicator::in_process(static_cast<std::uint32_t>(ndev));
  if (!hosts) return refuse(hosts.error());
  // Ranks of devices wait for one another while they are made.
  Group& group = Group::of_this_thread();
  group.begin();
  for (int k = 0; k < ndev; ++k) {
    const Shared made = new_handle(static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(ndev));
    wish->device.device = devlist != nullptr ? devlist[k] : k;
    const auto host = std::make_shared<Communicator>(std::move((*hosts)[static_cast<std::size_t>(k)]));
    (void)make_later(&comm[k], made, [made, host, wish = *wish] { return complete(*made, std::move(*host), wish); });
  }
  return group.end();
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config) {
  const Shared parent = find(comm);
  if (!parent) return refuse(ncclInvalidArgument, "ncclCommSplit: " + last_words());
  if (newcomm == nullptr) return refuse(ncclInvalidArgument, "ncclCommSplit: newcomm is null");
  *newcomm = NCCL_COMM_NULL;
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR)
    return refuse(ncclInvalidArgument, "ncclCommSplit: color " + std::to_string(color) + "; accepted: 0 and more, NCCL_SPLIT_NOCOLOR");
  auto wish = wish_of(config);
  if (!wish) return refuse(wish.error());
  if (parent->device) wish->device.device = parent->device->device();
  return Group::of_this_thread().make([parent, color, key, newcomm, wish = *wish]() -> Result<void> {
    if (!parent->host) return Error{Errc::unsupported, "ncclCommSplit of a communicator whose ncclGroupEnd has not made it", 0, "nccl"};
    auto part = parent->host->split(color, key);
    if (!part) return part.error();
    if (!*part) return {};  // of no color
    const Shared made = new_handle((*part)->rank(), (*part)->size());
    auto completed = complete(*made, std::move(**part), wish);
    if (completed) *newcomm = made.get();
    else (void)forget(made.get());
    return completed;
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) { return find(comm) ? ncclSuccess : ncclInvalidArgument; }

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  Shared going = forget(comm);
  if (!going) return ncclInvalidArgument;
  // On a device a rank waits for its peers, which this thread may be about to destroy next.
  if (going->device) std::thread([going = std::move(going)]() mutable { going.reset(); }).detach();
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const Shared going = forget(comm);
  if (!going) return ncclInvalidArgument;
  if (going->device) going->device->abort();
  if (going->host) going->host->abort();
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  const Shared known = find(comm);
  if (!known || asyncError == nullptr) return known ? failed(ncclInvalidArgument, "ncclCommGetAsyncError: asyncError is null") : ncclInvalidArgument;
  *asyncError = ncclSuccess;
  if (known->device)
    if (auto met = known->device->check(); !met) *asyncError = failed(met.error());
  const std::lock_guard holds(known->lock);
  if (*asyncError == ncclSuccess && known->broken) *asyncError = failed(*known->broken);
  return ncclSuccess;
}

namespace {

ncclResult_t tell(ncclComm_t comm, int* where, int (*what)(const ncclComm&)) {
  const Shared known = find(comm);
  if (!known) return ncclInvalidArgument;
  if (where == nullptr) return failed(ncclInvalidArgument, "a null pointer for the answer");
  *where = what(*known);
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return tell(comm, count, [](const ncclComm& known) { return static_cast<int>(known.size); });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return tell(comm, rank, [](const ncclComm& known) { return static_cast<int>(known.rank); });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  const Shared known = find(comm);
  if (known && !known->device) return failed(ncclInvalidUsage, "ncclCommCuDevice: there is no device in host memory (RONDO_NCCL_HOST)");
  return tell(comm, device, [](const ncclComm& of) { return of.device->device(); });
}
