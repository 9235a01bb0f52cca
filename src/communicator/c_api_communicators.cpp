// The C interface: communicators, how they are made, asked, ended and released.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "communicator/c_api.hpp"

using namespace rondo;
using namespace rondo::c;

namespace {

static_assert(sizeof(rondo_options) == offsetof(rondo_options, context) + sizeof(rondo_options::context));
static_assert(sizeof(rondo_call) == offsetof(rondo_call, outputs) + sizeof(rondo_call::outputs));

Result<CommunicatorOptions> options_of(const rondo_options* given) {
  CommunicatorOptions options;
  if (given == nullptr) return options;
  const auto filled = whole(*given, offsetof(rondo_options, coalesce_bytes), "rondo_options");
  if (!filled) return filled.error();
  given = &*filled;
  const auto timeout = duration_of(given->timeout_seconds, "timeout_seconds");
  if (!timeout) return timeout.error();
  const auto bootstrap = duration_of(given->bootstrap_timeout_seconds, "bootstrap_timeout_seconds");
  if (!bootstrap) return bootstrap.error();
  if (given->timeout_seconds != 0) options.timeout = *timeout;
  if (given->bootstrap_timeout_seconds != 0) options.bootstrap_timeout = *bootstrap;
  if (given->algorithm != nullptr) options.algorithm = given->algorithm;
  if (given->transport != nullptr) options.transport = given->transport;
  options.strict = given->strict != 0;
  options.integrity = given->integrity != 0;
  options.coalesce_bytes = given->coalesce_bytes;
  const auto hold = duration_of(given->coalesce_seconds, "coalesce_seconds");
  if (!hold) return hold.error();
  options.coalesce_time = *hold;
  if (given->stays_away != nullptr)
    options.stays_away = [asked = given->stays_away, context = given->context](std::uint32_t rank) { return asked(context, rank) != 0; };
  return options;
}

rondo_options with_timeout(double seconds) { return {sizeof(rondo_options), seconds, 0, nullptr, nullptr, 0, 0, 0, 0, nullptr, nullptr}; }

Result<void> hand_over(Result<Communicator> made, rondo_communicator** communicator) {
  if (!made) return made.error();
  *communicator = new rondo_communicator{std::move(*made)};
  return {};
}

}  // namespace

extern "C" {

rondo_status rondo_create_from_environment_with_options(const rondo_options* options, rondo_communicator** communicator) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    const auto checked = options_of(options);
    if (!checked) return checked.error();
    return hand_over(Communicator::from_environment(*checked), communicator);
  });
}

rondo_status rondo_create_local_with_options(uint32_t rank, uint32_t size, const char* job, const rondo_options* options, rondo_communicator** communicator) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"job", job}, {"communicator", communicator}})) return *error;
    const auto checked = options_of(options);
    if (!checked) return checked.error();
    return hand_over(Communicator::local(rank, size, job, *checked), communicator);
  });
}

rondo_status rondo_get_unique_id(rondo_unique_id* id) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"id", id}})) return *error;
    const auto made = Communicator::unique_id();
    if (!made) return made.error();
    std::memset(id, 0, sizeof *id);
    made->copy(id->text, sizeof id->text - 1);
    return {};
  });
}

rondo_status rondo_create_by_id(uint32_t rank, uint32_t size, const rondo_unique_id* id, const rondo_options* options, rondo_communicator** communicator) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"id", id}, {"communicator", communicator}})) return *error;
    const auto checked = options_of(options);
    if (!checked) return checked.error();
    return hand_over(Communicator::by_id(rank, size, std::string(id->text, strnlen(id->text, sizeof id->text)), *checked), communicator);
  });
}

rondo_status rondo_create_in_process_with_options(uint32_t count, const rondo_options* options, rondo_communicator** communicators) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicators", communicators}})) return *error;
    const auto checked = options_of(options);
    if (!checked) return checked.error();
    auto made = Communicator::in_process(count, *checked);
    if (!made) return made.error();
    std::vector<std::unique_ptr<rondo_communicator>> handles;
    for (Communicator& rank : *made) handles.push_back(std::unique_ptr<rondo_communicator>(new rondo_communicator{std::move(rank)}));
    for (auto& handle : handles) *communicators++ = handle.release();
    return {};
  });
}

rondo_status rondo_create_from_environment(double timeout_seconds, rondo_communicator** communicator) {
  const rondo_options options = with_timeout(timeout_seconds);
  return rondo_create_from_environment_with_options(&options, communicator);
}

rondo_status rondo_create_local(uint32_t rank, uint32_t size, const char* job, double timeout_seconds, rondo_communicator** communicator) {
  const rondo_options options = with_timeout(timeout_seconds);
  return rondo_create_local_with_options(rank, size, job, &options, communicator);
}

rondo_status rondo_create_in_process(uint32_t count, double timeout_seconds, rondo_communicator** communicators) {
  const rondo_options options = with_timeout(timeout_seconds);
  return rondo_create_in_process_with_options(count, &options, communicators);
}

rondo_status rondo_split(rondo_communicator* communicator, int32_t color, int32_t key, rondo_communicator** child) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"child", child}})) return *error;
    auto made = communicator->value.split(color, key);
    if (!made) return made.error();
    *child = *made ? new rondo_communicator{std::move(**made)} : nullptr;
    return {};
  });
}

rondo_status rondo_duplicate(rondo_communicator* communicator, rondo_communicator** copy) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"copy", copy}})) return *error;
    return hand_over(communicator->value.duplicate(), copy);
  });
}

rondo_status rondo_shrink(rondo_communicator* communicator, rondo_communicator** survivors) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"survivors", survivors}})) return *error;
    return hand_over(communicator->value.shrink(), survivors);
  });
}

rondo_status rondo_grow(rondo_communicator* communicator, uint32_t size, const char* job, rondo_communicator** grown) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"job", job}, {"grown", grown}})) return *error;
    return hand_over(communicator->value.grow(size, job), grown);
  });
}

rondo_status rondo_allocate(rondo_communicator* communicator, uint64_t bytes, rondo_memory** memory) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"memory", memory}})) return *error;
    auto taken = communicator->value.allocate(bytes);
    if (!taken) return taken.error();
    *memory = new rondo_memory{std::move(*taken)};
    return {};
  });
}

void* rondo_memory_data(const rondo_memory* memory) { return memory == nullptr ? nullptr : memory->value.get(); }

void rondo_memory_destroy(rondo_memory* memory) { delete memory; }

void rondo_destroy(rondo_communicator* communicator) { delete communicator; }

rondo_status rondo_rank(const rondo_communicator* communicator, uint32_t* rank) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"rank", rank}})) return *error;
    *rank = communicator->value.rank();
    return {};
  });
}

rondo_status rondo_size(const rondo_communicator* communicator, uint32_t* size) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"size", size}})) return *error;
    *size = communicator->value.size();
    return {};
  });
}

rondo_status rondo_parent_ranks(const rondo_communicator* communicator, uint32_t* ranks) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"ranks", ranks}})) return *error;
    const auto& parents = communicator->value.parent_ranks();
    if (parents.empty()) return Error{Errc::invalid_argument, "this communicator was made from no other one", 0, "rondo_parent_ranks"};
    std::copy(parents.begin(), parents.end(), ranks);
    return {};
  });
}

rondo_status rondo_topology(const rondo_communicator* communicator, char** json) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"json", json}})) return *error;
    give(write_topology_json(communicator->value.topology()), json);
    return {};
  });
}

rondo_status rondo_flight_record(const rondo_communicator* communicator, char** text) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"text", text}})) return *error;
    give(communicator->value.flight_record(), text);
    return {};
  });
}

rondo_status rondo_set_timeout(rondo_communicator* communicator, double seconds) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    const auto timeout = duration_of(seconds, "seconds");
    if (!timeout) return timeout.error();
    return communicator->value.set_timeout(*timeout);
  });
}

rondo_status rondo_check(rondo_communicator* communicator) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    return communicator->value.check();
  });
}

rondo_status rondo_abort(rondo_communicator* communicator) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    communicator->value.abort();
    return {};
  });
}

rondo_status rondo_start_trace(rondo_communicator* communicator, uint64_t capacity) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}})) return *error;
    return communicator->value.start_trace(capacity);
  });
}

rondo_status rondo_stop_trace(rondo_communicator* communicator, char** events) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"events", events}})) return *error;
    const auto trace = communicator->value.stop_trace();
    if (!trace) return trace.error();
    give(trace_events(*trace), events);
    return {};
  });
}

rondo_status rondo_trace_file(const char* const* events, uint32_t count, char** file) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"events", events}, {"file", file}})) return *error;
    std::vector<std::string> ranks;
    for (uint32_t rank = 0; rank < count; ++rank) {
      if (auto error = find_null({{"events of a rank", events[rank]}})) return *error;
      ranks.emplace_back(events[rank]);
    }
    give(trace_file(ranks), file);
    return {};
  });
}

}  // extern "C"
