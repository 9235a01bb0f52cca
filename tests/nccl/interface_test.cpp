// What programs that were compiled with NCCL's header rely on: names, values, layouts. The figures are those of NCCL 2.18.
#include <dlfcn.h>

#include <array>
#include <cstddef>

#include "nccl/support.hpp"
#include <test_folders.hpp>  // written by CMake

static_assert(NCCL_VERSION_CODE == NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH));
static_assert(NCCL_VERSION(2, 8, 4) == 2804 && NCCL_VERSION(2, 18, 5) == 21805);
static_assert(sizeof(ncclUniqueId) == 128);
static_assert(offsetof(ncclConfig_t, size) == 0 && offsetof(ncclConfig_t, magic) == 8 && offsetof(ncclConfig_t, version) == 12);
static_assert(offsetof(ncclConfig_t, blocking) == 16 && offsetof(ncclConfig_t, cgaClusterSize) == 20 && offsetof(ncclConfig_t, minCTAs) == 24);
static_assert(offsetof(ncclConfig_t, maxCTAs) == 28 && offsetof(ncclConfig_t, netName) == 32 && offsetof(ncclConfig_t, splitShare) == 40);
static_assert(sizeof(ncclConfig_t) == 48);
static_assert(sizeof(ncclRedOp_t) == 4 && sizeof(ncclDataType_t) == 4 && sizeof(ncclResult_t) == 4 && ncclMaxRedOp == 0x7fffffff);
static_assert(ncclSum == 0 && ncclProd == 1 && ncclMax == 2 && ncclMin == 3 && ncclAvg == 4 && ncclNumOps == 5);
static_assert(ncclInt8 == 0 && ncclUint8 == 1 && ncclInt32 == 2 && ncclUint32 == 3 && ncclInt64 == 4 && ncclUint64 == 5 && ncclFloat16 == 6 &&
              ncclFloat32 == 7 && ncclFloat64 == 8 && ncclBfloat16 == 9 && ncclNumTypes == 10);
static_assert(ncclSuccess == 0 && ncclUnhandledCudaError == 1 && ncclSystemError == 2 && ncclInternalError == 3 && ncclInvalidArgument == 4 &&
              ncclInvalidUsage == 5 && ncclRemoteError == 6 && ncclInProgress == 7);

TEST_CASE("the library has every function of NCCL 2.18, by both names, and shows nothing of its own") {
  constexpr std::array functions{
      "GetVersion",   "GetUniqueId",   "CommInitRankConfig",  "CommInitRank", "CommInitAll",           "CommFinalize",   "CommDestroy",
      "CommAbort",    "CommSplit",     "GetErrorString",      "GetLastError", "CommGetAsyncError",     "CommCount",      "CommCuDevice",
      "CommUserRank", "RedOpDestroy",  "RedOpCreatePreMulSum", "Reduce",       "Bcast",                 "Broadcast",      "AllReduce",
      "ReduceScatter", "AllGather",    "Send",                "Recv",         "GroupStart",            "GroupEnd"};
  void* const library = dlopen(RONDO_BINARY_DIR "/nccl-home/lib/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  for (const std::string name : functions) {
    INFO(name);
    CHECK(dlsym(library, ("nccl" + name).c_str()) != nullptr);
    CHECK(dlsym(library, ("pnccl" + name).c_str()) == dlsym(library, ("nccl" + name).c_str()));
  }
  CHECK(dlsym(library, "_ZN5rondo4nccl5Group14of_this_threadEv") == nullptr);
  dlclose(library);
}

TEST_CASE("version, results' meanings, and a rank's own numbers") {
  int version = 0;
  CHECK(ncclGetVersion(&version) == ncclSuccess);
  CHECK(version == 21805);
  for (int result = 0; result < ncclNumResults; ++result) CHECK(std::string(ncclGetErrorString(static_cast<ncclResult_t>(result))) != "");
  CHECK(std::string(ncclGetErrorString(static_cast<ncclResult_t>(15))) == "no result of NCCL's");
  rondo::test::Ranks ranks(3);
  for (int rank = 0; rank < 3; ++rank) {
    int count = 0, own = -1, device = -1;
    CHECK(ncclCommCount(ranks[rank], &count) == ncclSuccess);
    CHECK(ncclCommUserRank(ranks[rank], &own) == ncclSuccess);
    CHECK((count == 3 && own == rank));
    CHECK(ncclCommCuDevice(ranks[rank], &device) == ncclInvalidUsage);  // there is none
  }
}
