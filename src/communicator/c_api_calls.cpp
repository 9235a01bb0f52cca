// The C interface: calls that block, and groups. Every collective but all_to_all_v and lists takes rondo_run's way.
#include "communicator/c_api.hpp"

using namespace rondo;
using namespace rondo::c;

namespace {

Result<void> run_whole(rondo_communicator* communicator, const rondo_call& call) {
  if (auto error = find_null({{"communicator", communicator}})) return *error;
  if (auto error = wrong_call(call, communicator->value.size())) return *error;
  return communicator->value.run(call_of(call));
}

rondo_status run(rondo_communicator* communicator, const rondo_call& call) {
  return guarded([&] { return run_whole(communicator, call); });
}

}  // namespace

extern "C" {

rondo_status rondo_run(rondo_communicator* communicator, const rondo_call* call) {
  return guarded([&]() -> Result<void> {
    const auto filled = whole(call);
    return filled ? run_whole(communicator, *filled) : filled.error();
  });
}

rondo_status rondo_all_reduce_fused(rondo_communicator* communicator, const rondo_bucket* bucket) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    if (auto error = wrong_bucket(bucket)) return *error;
    const auto tensors = tensors_of(*bucket);
    return communicator->value.all_reduce_fused(bucket_of(*bucket, tensors));
  });
}

rondo_status rondo_all_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op) {
  return run(communicator, make_call(RONDO_ALL_REDUCE, input, output, count, type, op));
}
rondo_status rondo_all_reduce_premul(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, double factor) {
  return run(communicator, make_call(RONDO_ALL_REDUCE, input, output, count, type, RONDO_PREMUL_SUM, 0, factor));
}
rondo_status rondo_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op, uint32_t root) {
  return run(communicator, make_call(RONDO_REDUCE, input, output, count, type, op, root));
}
rondo_status rondo_broadcast(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root) {
  return run(communicator, make_call(RONDO_BROADCAST, input, output, count, type, RONDO_SUM, root));
}
rondo_status rondo_reduce_scatter(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op) {
  return run(communicator, make_call(RONDO_REDUCE_SCATTER, input, output, count, type, op));
}
rondo_status rondo_all_gather(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type) {
  return run(communicator, make_call(RONDO_ALL_GATHER, input, output, count, type));
}
rondo_status rondo_all_to_all(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type) {
  return run(communicator, make_call(RONDO_ALL_TO_ALL, input, output, count, type));
}
rondo_status rondo_all_to_all_v(rondo_communicator* communicator, const void* input, const uint64_t* sent_counts, const uint64_t* sent_offsets, void* output,
                                const uint64_t* received_counts, const uint64_t* received_offsets, rondo_type type) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"sent_counts", sent_counts}, {"received_counts", received_counts}})) return *error;
    if (auto error = wrong_type(type)) return *error;
    Communicator& c = communicator->value;
    return c.all_to_all_v(input, blocks_of(c.size(), sent_counts, sent_offsets), output, blocks_of(c.size(), received_counts, received_offsets), type_of(type));
  });
}
rondo_status rondo_gather(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root) {
  return run(communicator, make_call(RONDO_GATHER, input, output, count, type, RONDO_SUM, root));
}
rondo_status rondo_scatter(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root) {
  return run(communicator, make_call(RONDO_SCATTER, input, output, count, type, RONDO_SUM, root));
}
rondo_status rondo_scan(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op) {
  return run(communicator, make_call(RONDO_SCAN, input, output, count, type, op));
}
rondo_status rondo_barrier(rondo_communicator* communicator) { return run(communicator, make_call(RONDO_BARRIER, nullptr, nullptr, 0, RONDO_U8)); }

rondo_status rondo_send(rondo_communicator* communicator, const void* data, uint64_t count, rondo_type type, uint32_t to) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    if (auto error = wrong_type(type)) return *error;
    return communicator->value.send(data, count, type_of(type), to);
  });
}
rondo_status rondo_recv(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t from) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    if (auto error = wrong_type(type)) return *error;
    return communicator->value.recv(data, count, type_of(type), from);
  });
}
rondo_status rondo_recv_any(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t* source) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"source", source}})) return *error;
    if (auto error = wrong_type(type)) return *error;
    const auto received = communicator->value.recv_any(data, count, type_of(type));
    if (!received) return received.error();
    *source = *received;
    return {};
  });
}

rondo_status rondo_group_begin(rondo_communicator* communicator) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    communicator->value.group_begin();
    return {};
  });
}
rondo_status rondo_group_end(rondo_communicator* communicator) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    return communicator->value.group_end();
  });
}

}  // extern "C"
