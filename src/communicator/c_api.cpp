// The C interface: each function is one call of the C++ one, with its error kept for rondo_last_error.
#include <string>
#include <vector>

#include "rondo/communicator.hpp"
#include "rondo/rondo.h"

struct rondo_communicator {
  rondo::Communicator value;
};
struct rondo_work {
  rondo::Work value;
};

namespace {

static_assert(static_cast<int>(rondo::DataType::f64) == RONDO_F64 && static_cast<int>(rondo::DataType::f16) == RONDO_F16);
static_assert(static_cast<int>(rondo::ReduceOp::bxor) == RONDO_BXOR && static_cast<int>(rondo::ReduceOp::avg) == RONDO_AVG);
static_assert(static_cast<int>(rondo::Errc::io) + 1 == RONDO_IO);

thread_local std::string last_error;

rondo_status failed(const rondo::Error& error) {
  last_error = rondo::to_string(error);
  return static_cast<rondo_status>(static_cast<int>(error.code) + 1);
}

rondo_status invalid(const char* what) { return failed({rondo::Errc::invalid_argument, what, 0, "rondo.h"}); }

rondo_status status_of(const rondo::Result<void>& result) { return result ? RONDO_SUCCESS : failed(result.error()); }

/// No exception crosses the C boundary; what the library doesn't catch itself is a failed allocation.
template <class Body>
rondo_status guarded(const Body& body) {
  try {
    return body();
  } catch (const std::exception& exception) {
    return failed({rondo::Errc::out_of_resources, exception.what(), 0, "rondo.h"});
  }
}

template <class Body>
rondo_status with(rondo_communicator* communicator, const Body& body) {
  if (communicator == nullptr) return invalid("the communicator is null");
  return guarded([&] { return status_of(body(communicator->value)); });
}

rondo::CommunicatorOptions options_with(double timeout_seconds) {
  rondo::CommunicatorOptions options;
  if (timeout_seconds > 0) options.timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(timeout_seconds * 1e9));
  return options;
}

rondo::DataType type_of(rondo_type type) { return static_cast<rondo::DataType>(type); }
rondo::ReduceOp op_of(rondo_op op) { return static_cast<rondo::ReduceOp>(op); }

rondo_status hand_over(rondo::Result<rondo::Communicator> made, rondo_communicator** communicator) {
  if (!made) return failed(made.error());
  *communicator = new rondo_communicator{std::move(*made)};
  return RONDO_SUCCESS;
}

rondo_status start(rondo_communicator* communicator, const rondo::Call& call, rondo_work** work) {
  if (communicator == nullptr || work == nullptr) return invalid("the communicator or the place for the work is null");
  return guarded([&] {
    *work = new rondo_work{communicator->value.start(call)};
    return RONDO_SUCCESS;
  });
}

}  // namespace

extern "C" {

int rondo_version(void) { return rondo::version(); }
const char* rondo_last_error(void) { return last_error.c_str(); }

const char* rondo_status_name(rondo_status status) {
  if (status == RONDO_SUCCESS) return "success";
  return rondo::to_string(static_cast<rondo::Errc>(static_cast<int>(status) - 1)).data();
}

rondo_status rondo_create_from_environment(double timeout_seconds, rondo_communicator** communicator) {
  if (communicator == nullptr) return invalid("the place for the communicator is null");
  return guarded([&] { return hand_over(rondo::Communicator::from_environment(options_with(timeout_seconds)), communicator); });
}

rondo_status rondo_create_local(uint32_t rank, uint32_t size, const char* job, double timeout_seconds, rondo_communicator** communicator) {
  if (communicator == nullptr || job == nullptr) return invalid("the job's name or the place for the communicator is null");
  return guarded([&] { return hand_over(rondo::Communicator::local(rank, size, job, options_with(timeout_seconds)), communicator); });
}

rondo_status rondo_create_in_process(uint32_t count, double timeout_seconds, rondo_communicator** communicators) {
  if (communicators == nullptr) return invalid("the place for the communicators is null");
  return guarded([&]() -> rondo_status {
    auto made = rondo::Communicator::in_process(count, options_with(timeout_seconds));
    if (!made) return failed(made.error());
    for (uint32_t rank = 0; rank < count; ++rank) communicators[rank] = new rondo_communicator{std::move((*made)[rank])};
    return RONDO_SUCCESS;
  });
}

void rondo_destroy(rondo_communicator* communicator) { delete communicator; }

rondo_status rondo_rank(const rondo_communicator* communicator, uint32_t* rank) {
  if (communicator == nullptr || rank == nullptr) return invalid("the communicator or the place for the rank is null");
  *rank = communicator->value.rank();
  return RONDO_SUCCESS;
}

rondo_status rondo_size(const rondo_communicator* communicator, uint32_t* size) {
  if (communicator == nullptr || size == nullptr) return invalid("the communicator or the place for the size is null");
  *size = communicator->value.size();
  return RONDO_SUCCESS;
}

rondo_status rondo_all_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op) {
  return with(communicator, [&](rondo::Communicator& c) { return c.all_reduce(input, output, count, type_of(type), op_of(op)); });
}
rondo_status rondo_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op, uint32_t root) {
  return with(communicator, [&](rondo::Communicator& c) { return c.reduce(input, output, count, type_of(type), op_of(op), root); });
}
rondo_status rondo_broadcast(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root) {
  return with(communicator, [&](rondo::Communicator& c) { return c.broadcast(input, output, count, type_of(type), root); });
}
rondo_status rondo_reduce_scatter(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op) {
  return with(communicator, [&](rondo::Communicator& c) { return c.reduce_scatter(input, output, count, type_of(type), op_of(op)); });
}
rondo_status rondo_all_gather(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type) {
  return with(communicator, [&](rondo::Communicator& c) { return c.all_gather(input, output, count, type_of(type)); });
}
rondo_status rondo_barrier(rondo_communicator* communicator) {
  return with(communicator, [](rondo::Communicator& c) { return c.barrier(); });
}

rondo_status rondo_all_reduce_premul(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, double factor) {
  return with(communicator, [&](rondo::Communicator& c) {
    return c.run(rondo::Call{rondo::Collective::all_reduce, input, output, count, type_of(type), rondo::ReduceOp::premul_sum, 0, factor});
  });
}

rondo_status rondo_send(rondo_communicator* communicator, const void* data, uint64_t count, rondo_type type, uint32_t to) {
  return with(communicator, [&](rondo::Communicator& c) { return c.send(data, count, type_of(type), to); });
}
rondo_status rondo_recv(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t from) {
  return with(communicator, [&](rondo::Communicator& c) { return c.recv(data, count, type_of(type), from); });
}

rondo_status rondo_start_all_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op,
                                    rondo_work** work) {
  return start(communicator, rondo::Call{rondo::Collective::all_reduce, input, output, count, type_of(type), op_of(op)}, work);
}
rondo_status rondo_start_broadcast(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root,
                                   rondo_work** work) {
  return start(communicator, rondo::Call{rondo::Collective::broadcast, input, output, count, type_of(type), rondo::ReduceOp::sum, root}, work);
}
int rondo_work_done(const rondo_work* work) { return work == nullptr || work->value.done() ? 1 : 0; }
rondo_status rondo_work_wait(rondo_work* work) {
  if (work == nullptr) return invalid("the work is null");
  return guarded([&] { return status_of(work->value.wait()); });
}
void rondo_work_destroy(rondo_work* work) { delete work; }

rondo_status rondo_group_begin(rondo_communicator* communicator) {
  return with(communicator, [](rondo::Communicator& c) {
    c.group_begin();
    return rondo::Result<void>{};
  });
}
rondo_status rondo_group_end(rondo_communicator* communicator) {
  return with(communicator, [](rondo::Communicator& c) { return c.group_end(); });
}

rondo_status rondo_abort(rondo_communicator* communicator) {
  return with(communicator, [](rondo::Communicator& c) {
    c.abort();
    return rondo::Result<void>{};
  });
}

}  // extern "C"
