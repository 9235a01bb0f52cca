// The C interface: started calls and their works.
#include <utility>

#include "communicator/c_api.hpp"

using namespace rondo;
using namespace rondo::c;

namespace {

/// The starter is told what the library refused at once, and nothing of a call that was begun, however soon that ended.
Result<void> hand_over(Work started, rondo_work** work) {
  if (auto refused = started.refusal()) return *refused;
  *work = new rondo_work{std::move(started)};
  return {};
}

Result<void> start_whole(rondo_communicator* communicator, const rondo_call& call, rondo_work** work) {
  if (auto error = find_null({{"communicator", communicator}, {"work", work}})) return *error;
  if (auto error = wrong_call(call, communicator->value.size())) return *error;
  return hand_over(communicator->value.start(call_of(call)), work);
}

rondo_status start(rondo_communicator* communicator, const rondo_call& call, rondo_work** work) {
  return guarded([&] { return start_whole(communicator, call, work); });
}

}  // namespace

extern "C" {

rondo_status rondo_start(rondo_communicator* communicator, const rondo_call* call, rondo_work** work) {
  return guarded([&]() -> Result<void> {
    const auto filled = whole(call);
    return filled ? start_whole(communicator, *filled, work) : filled.error();
  });
}

rondo_status rondo_start_all_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op,
                                    rondo_work** work) {
  return start(communicator, make_call(RONDO_ALL_REDUCE, input, output, count, type, op), work);
}
rondo_status rondo_start_all_reduce_fused(rondo_communicator* communicator, const rondo_bucket* bucket, rondo_work** work) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"work", work}})) return *error;
    if (auto error = wrong_bucket(bucket)) return *error;
    const auto tensors = tensors_of(*bucket);
    return hand_over(communicator->value.start_all_reduce_fused(bucket_of(*bucket, tensors)), work);
  });
}
rondo_status rondo_start_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op, uint32_t root,
                                rondo_work** work) {
  return start(communicator, make_call(RONDO_REDUCE, input, output, count, type, op, root), work);
}
rondo_status rondo_start_broadcast(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root,
                                   rondo_work** work) {
  return start(communicator, make_call(RONDO_BROADCAST, input, output, count, type, RONDO_SUM, root), work);
}
rondo_status rondo_start_reduce_scatter(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op,
                                        rondo_work** work) {
  return start(communicator, make_call(RONDO_REDUCE_SCATTER, input, output, count, type, op), work);
}
rondo_status rondo_start_all_gather(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_work** work) {
  return start(communicator, make_call(RONDO_ALL_GATHER, input, output, count, type), work);
}
rondo_status rondo_start_all_to_all(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_work** work) {
  return start(communicator, make_call(RONDO_ALL_TO_ALL, input, output, count, type), work);
}
rondo_status rondo_start_all_to_all_v(rondo_communicator* communicator, const void* input, const uint64_t* sent_counts, const uint64_t* sent_offsets,
                                      void* output, const uint64_t* received_counts, const uint64_t* received_offsets, rondo_type type,
                                      rondo_work** work) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"work", work}, {"sent_counts", sent_counts}, {"received_counts", received_counts}}))
      return *error;
    if (auto error = wrong_type(type)) return *error;
    Communicator& c = communicator->value;
    const Blocks sent = blocks_of(c.size(), sent_counts, sent_offsets), received = blocks_of(c.size(), received_counts, received_offsets);
    return hand_over(c.start_all_to_all_v(input, sent, output, received, type_of(type)), work);
  });
}
rondo_status rondo_start_gather(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root,
                                rondo_work** work) {
  return start(communicator, make_call(RONDO_GATHER, input, output, count, type, RONDO_SUM, root), work);
}
rondo_status rondo_start_scatter(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root,
                                 rondo_work** work) {
  return start(communicator, make_call(RONDO_SCATTER, input, output, count, type, RONDO_SUM, root), work);
}
rondo_status rondo_start_scan(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op,
                              rondo_work** work) {
  return start(communicator, make_call(RONDO_SCAN, input, output, count, type, op), work);
}
rondo_status rondo_start_barrier(rondo_communicator* communicator, rondo_work** work) {
  return start(communicator, make_call(RONDO_BARRIER, nullptr, nullptr, 0, RONDO_U8), work);
}

rondo_status rondo_start_send(rondo_communicator* communicator, const void* data, uint64_t count, rondo_type type, uint32_t to, rondo_work** work) {
  return rondo_start_send_tagged(communicator, data, count, type, to, 0, work);
}
rondo_status rondo_start_recv(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t from, rondo_work** work) {
  return rondo_start_recv_tagged(communicator, data, count, type, from, 0, work);
}
rondo_status rondo_start_recv_any(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, rondo_work** work) {
  return rondo_start_recv_any_tagged(communicator, data, count, type, 0, work);
}

rondo_status rondo_start_send_tagged(rondo_communicator* communicator, const void* data, uint64_t count, rondo_type type, uint32_t to, uint32_t tag,
                                     rondo_work** work) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"work", work}})) return *error;
    if (auto error = wrong_type(type)) return *error;
    return hand_over(communicator->value.start_send(data, count, type_of(type), to, tag), work);
  });
}
rondo_status rondo_start_recv_tagged(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t from, uint32_t tag,
                                     rondo_work** work) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"work", work}})) return *error;
    if (auto error = wrong_type(type)) return *error;
    return hand_over(communicator->value.start_recv(data, count, type_of(type), from, tag), work);
  });
}
rondo_status rondo_start_recv_any_tagged(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t tag, rondo_work** work) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"work", work}})) return *error;
    if (auto error = wrong_type(type)) return *error;
    return hand_over(communicator->value.start_recv_any(data, count, type_of(type), tag), work);
  });
}

int rondo_work_done(const rondo_work* work) { return work == nullptr || work->value.done() ? 1 : 0; }

rondo_status rondo_work_wait(rondo_work* work) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"work", work}})) return *error;
    return work->value.wait();
  });
}

rondo_status rondo_work_wait_for(rondo_work* work, double seconds) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"work", work}})) return *error;
    const auto most = duration_of(seconds, "seconds");
    if (!most) return most.error();
    return work->value.wait_for(*most);
  });
}

rondo_status rondo_work_on_end(rondo_work* work, void (*tell)(void* context), void* context) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"work", work}, {"tell", reinterpret_cast<const void*>(tell)}})) return *error;
    work->value.on_end([tell, context] { tell(context); });
    return {};
  });
}

rondo_status rondo_work_source(const rondo_work* work, uint32_t* source) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"work", work}, {"source", source}})) return *error;
    *source = work->value.source().value_or(RONDO_NO_RANK);
    return {};
  });
}

void rondo_work_destroy(rondo_work* work) { delete work; }

}  // extern "C"
