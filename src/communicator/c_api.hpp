// What the files of the C interface share: the handles, failures as statuses, and the judgement of what C can pass and C++ can't.
// c_api_communicators.cpp makes and asks communicators, c_api_calls.cpp runs calls, c_api_works.cpp starts them, c_api_plans.cpp shows and takes plans;
// c_api_cuda_communicators.cpp has those on GPU memory, c_api_cuda.cpp kernels of GPUs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rondo/communicator.hpp"
#include "rondo/rondo.h"

struct rondo_communicator {
  rondo::Communicator value;
};
struct rondo_memory {
  std::shared_ptr<void> value;
};
struct rondo_work {
  rondo::Work value;
};

namespace rondo::c {

/// Keeps the error for rondo_last_error and returns its status.
rondo_status failed(const Error& error) noexcept;
/// The same for an exception: what the library doesn't catch itself is a failed allocation.
rondo_status failed(const std::exception& exception) noexcept;

/// Runs `body`, which returns a Result<void>. No exception crosses the C boundary.
template <class Body>
rondo_status guarded(const Body& body) noexcept {
  try {
    const Result<void> result = body();
    return result ? RONDO_SUCCESS : failed(result.error());
  } catch (const std::exception& exception) {
    return failed(exception);
  }
}

inline Error wrong(const std::string& what) { return Error{Errc::invalid_argument, what, 0, "rondo.h"}; }

struct Argument {
  const char* name;
  const void* pointer;
};

/// The first of a function's pointers that is null.
std::optional<Error> find_null(std::initializer_list<Argument> arguments);

/// A number that rondo_type doesn't have.
std::optional<Error> wrong_type(rondo_type type);

/// What is wrong with a call before its plan is known.
std::optional<Error> wrong_call(const rondo_call& call, std::uint32_t ranks);

/// What is wrong with a list before its tensors are judged.
std::optional<Error> wrong_bucket(const rondo_bucket* bucket);

/// Seconds from C; `name` is the argument's.
Result<std::chrono::nanoseconds> duration_of(double seconds, const char* name);

/// A struct that begins with its size. rondo_options says how such structs grow: of one that has, `least` is its first version's size, and
/// whoever reads it fills a shorter one up with zeros.
std::optional<Error> wrong_struct(const void* given, std::size_t size, std::size_t least, std::size_t known, const char* name);
inline std::optional<Error> wrong_struct(const void* given, std::size_t size, std::size_t known, const char* name) {
  return wrong_struct(given, size, known, known, name);
}

/// The struct with all fields of this version: those that the caller's lacks are zero. Errors as those of wrong_struct().
template <class Struct>
Result<Struct> whole(const Struct& given, std::size_t least, const char* name) {
  if (auto error = wrong_struct(&given, given.size, least, sizeof given, name)) return *error;
  if (given.size >= sizeof given) return given;
  Struct filled{};
  std::memcpy(&filled, &given, given.size);
  return filled;
}
inline Result<rondo_call> whole(const rondo_call* call) {
  if (auto error = find_null({{"call", call}})) return *error;
  return whole(*call, offsetof(rondo_call, inputs), "rondo_call");
}

/// Hands a text over to the caller, who releases it with rondo_text_destroy.
void give(const std::string& text, char** place);

/// The arguments of a collective's own function.
inline rondo_call make_call(rondo_collective collective, const void* input, void* output, std::uint64_t count, rondo_type type, rondo_op op = RONDO_SUM,
                            std::uint32_t root = 0, double factor = 1) {
  return {sizeof(rondo_call), collective, type, op, root, input, output, count, factor, nullptr, nullptr};
}

inline DataType type_of(rondo_type type) { return static_cast<DataType>(type); }

inline Call call_of(const rondo_call& call) {
  const auto op = static_cast<ReduceOp>(call.op);
  return {static_cast<Collective>(call.collective), call.input, call.output, call.count, type_of(call.type), op, call.root, call.factor, call.inputs,
          call.outputs};
}

inline std::vector<Tensor> tensors_of(const rondo_bucket& bucket) {
  std::vector<Tensor> tensors;
  tensors.reserve(bucket.tensor_count);
  for (std::uint64_t t = 0; t < bucket.tensor_count; ++t)
    tensors.push_back({bucket.tensors[t].input, bucket.tensors[t].output, bucket.tensors[t].count});
  return tensors;
}

/// `tensors` are tensors_of() it, and must outlive it.
inline Bucket bucket_of(const rondo_bucket& bucket, const std::vector<Tensor>& tensors) {
  Bucket list{tensors, type_of(bucket.type), static_cast<ReduceOp>(bucket.op), bucket.op == RONDO_PREMUL_SUM ? bucket.factor : 1};
  if (bucket.wire != 0) list.wire = bucket.wire == RONDO_WIRE_F16 ? DataType::f16 : DataType::bf16;
  return list;
}

inline Blocks blocks_of(std::size_t ranks, const std::uint64_t* counts, const std::uint64_t* offsets) {
  return {{counts, ranks}, offsets == nullptr ? std::span<const std::uint64_t>() : std::span<const std::uint64_t>(offsets, ranks)};
}

}  // namespace rondo::c
