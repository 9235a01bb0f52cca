#include "failure.hpp"

#include <array>

namespace rondo::nccl {
namespace {

thread_local std::string words_of_this_thread;

constexpr std::array<const char*, ncclNumResults> meanings{
    "no error",
    "a call of CUDA failed",
    "a call of the operating system failed",
    "a fault in the library",
    "an argument is wrong",
    "a call that isn't allowed here, or isn't served",
    "another rank failed, or can't be reached",
    "under way",
};

}  // namespace

ncclResult_t result_of(Errc code) {
  switch (code) {
    case Errc::invalid_argument: return ncclInvalidArgument;
    case Errc::unsupported:
    case Errc::mismatch:
    case Errc::aborted: return ncclInvalidUsage;
    case Errc::peer_failed:
    case Errc::deadline_exceeded: return ncclRemoteError;
    case Errc::out_of_resources:
    case Errc::io: return ncclSystemError;
    case Errc::invalid_plan:
    case Errc::corrupted: return ncclInternalError;
  }
  return ncclInternalError;
}

ncclResult_t failed(ncclResult_t result, std::string words) {
  words_of_this_thread = std::move(words);
  return result;
}

ncclResult_t failed(const Error& error) { return failed(result_of(error.code), to_string(error)); }

ncclResult_t outcome(const Result<void>& result) { return result ? ncclSuccess : failed(result.error()); }

const std::string& last_words() { return words_of_this_thread; }

}  // namespace rondo::nccl

using namespace rondo::nccl;

const char* ncclGetErrorString(ncclResult_t result) {
  const auto number = static_cast<std::size_t>(result);
  return number < meanings.size() ? meanings[number] : "no result of NCCL's";
}

const char* ncclGetLastError(ncclComm_t) { return last_words().c_str(); }
