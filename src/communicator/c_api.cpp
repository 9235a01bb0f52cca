// The C interface: how failures are told, and what is no argument at all.
#include "communicator/c_api.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace rondo::c {
namespace {

static_assert(static_cast<int>(Errc::corrupted) + 1 == RONDO_CORRUPTED);
static_assert(static_cast<int>(DataType::f64) == RONDO_F64 && static_cast<int>(DataType::f16) == RONDO_F16);
static_assert(static_cast<int>(ReduceOp::bxor) == RONDO_BXOR && static_cast<int>(ReduceOp::avg) == RONDO_AVG);
static_assert(static_cast<int>(Collective::barrier) == RONDO_BARRIER && static_cast<int>(Collective::all_to_all_v) == RONDO_ALL_TO_ALL_V);

constexpr std::size_t call_collectives = static_cast<std::size_t>(RONDO_BARRIER) + 1;  ///< all but send_recv, whose two ranks no call names
constexpr std::size_t largest_struct = 4096;                                           ///< a size beyond this was never set
constexpr double longest_seconds = 1e9;                                                ///< 31 years: far from what sums with a clock can't hold

thread_local std::string last_error;

rondo_status status_of(Errc code) { return static_cast<rondo_status>(static_cast<int>(code) + 1); }

/// C passes any number as an enumerator.
std::optional<Error> wrong_number(const char* what, int value, std::size_t count) {
  if (static_cast<std::size_t>(value) < count) return std::nullopt;
  return wrong(std::string("unknown ") + what + " " + std::to_string(value) + "; accepted: 0 to " + std::to_string(count - 1));
}

}  // namespace

rondo_status failed(const Error& error) noexcept {
  try {
    last_error = to_string(error);
  } catch (const std::exception&) {
    last_error = "out of memory";  // short enough to need none
  }
  return status_of(error.code);
}

rondo_status failed(const std::exception& exception) noexcept {
  try {
    return failed(Error{Errc::out_of_resources, exception.what(), 0, "rondo.h"});
  } catch (const std::exception&) {
    return failed(Error{Errc::out_of_resources, "out of memory", 0, ""});
  }
}

std::optional<Error> find_null(std::initializer_list<Argument> arguments) {
  for (const Argument& argument : arguments)
    if (argument.pointer == nullptr) return wrong(std::string(argument.name) + " is null");
  return std::nullopt;
}

std::optional<Error> wrong_type(rondo_type type) { return wrong_number("type", type, data_type_count); }

std::optional<Error> wrong_call(const rondo_call& call, std::uint32_t ranks) {
  if (auto error = wrong_number("collective", call.collective, call_collectives)) return error;
  if (auto error = wrong_number("operation", call.op, reduce_op_count)) return error;
  if (auto error = wrong_type(call.type)) return error;
  if (!is_rooted(static_cast<Collective>(call.collective)) || call.root < ranks) return std::nullopt;
  return wrong("root " + std::to_string(call.root) + " is not below " + std::to_string(ranks) + " ranks");
}

std::optional<Error> wrong_bucket(const rondo_bucket* bucket) {
  if (auto error = find_null({{"bucket", bucket}})) return error;
  if (auto error = wrong_struct(bucket, bucket->size, sizeof *bucket, "rondo_bucket")) return error;
  if (auto error = wrong_number("operation", bucket->op, reduce_op_count)) return error;
  if (auto error = wrong_type(bucket->type)) return error;
  if (bucket->wire > RONDO_WIRE_BF16) return wrong("unknown wire " + std::to_string(bucket->wire) + "; accepted: 0 to " + std::to_string(RONDO_WIRE_BF16));
  if (bucket->tensors != nullptr || bucket->tensor_count == 0) return std::nullopt;
  return wrong("tensors is null, with " + std::to_string(bucket->tensor_count) + " of them");
}

Result<std::chrono::nanoseconds> duration_of(double seconds, const char* name) {
  if (seconds >= 0) return std::chrono::nanoseconds(std::llround(std::min(seconds, longest_seconds) * 1e9));
  return wrong(std::string(name) + " is " + std::to_string(seconds) + "; accepted: 0 or more seconds");  // not a number comes here too
}

std::optional<Error> wrong_struct(const void* given, std::size_t size, std::size_t least, std::size_t known, const char* name) {
  if (size < least || size > largest_struct)
    return wrong(std::string("the size of ") + name + " is " + std::to_string(size) + "; accepted: sizeof(" + name + "), " + std::to_string(known) + " here");
  if (size <= known) return std::nullopt;
  const auto* const bytes = static_cast<const unsigned char*>(given);
  if (std::all_of(bytes + known, bytes + size, [](unsigned char byte) { return byte == 0; })) return std::nullopt;
  return Error{Errc::unsupported, std::string(name) + " has a field set that this version of the library doesn't know", 0, "rondo.h"};
}

void give(const std::string& text, char** place) {
  char* const copy = strdup(text.c_str());
  if (copy == nullptr) throw std::bad_alloc();
  *place = copy;
}

}  // namespace rondo::c

extern "C" {

int rondo_version(void) { return rondo::version(); }

const char* rondo_last_error(void) { return rondo::c::last_error.c_str(); }

const char* rondo_status_name(rondo_status status) {
  if (status == RONDO_SUCCESS) return "success";
  return rondo::to_string(static_cast<rondo::Errc>(static_cast<int>(status) - 1)).data();
}

void rondo_text_destroy(char* text) { std::free(text); }

}  // extern "C"
