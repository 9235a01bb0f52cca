// The C interface and arguments that only C can pass: null where something must be, numbers that no enumeration has.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "c_api_ranks.hpp"
#include "support/catch.hpp"

namespace {

struct Arguments {
  Rank c = nullptr;
  rondo_type type = RONDO_F32;
  rondo_op op = RONDO_SUM;
  std::uint32_t peer = 0;  ///< the root, or the rank at the other end
  rondo_work** work = nullptr;
};

struct Function {
  const char* name;
  std::string takes;  ///< of what can be nonsense: t(ype), o(peration), p(eer), w(ork)
  std::function<rondo_status(const Arguments&)> call;
};

float any_input[4] = {};
float any_output[4] = {};
const std::uint64_t any_counts[] = {1, 1};
std::uint32_t any_source = 0;
using A = const Arguments&;

rondo_status fused(rondo_type type, rondo_op op, const std::function<rondo_status(const rondo_bucket*)>& call) {
  const rondo_tensor tensors[] = {{any_input, any_output, 1}};
  const rondo_bucket bucket{sizeof(rondo_bucket), tensors, 1, type, op, 0, 0};
  return call(&bucket);
}

const std::vector<Function> functions{
    {"all_reduce", "to", [](A a) { return rondo_all_reduce(a.c, any_input, any_output, 1, a.type, a.op); }},
    {"all_reduce_premul", "t", [](A a) { return rondo_all_reduce_premul(a.c, any_input, any_output, 1, a.type, 1); }},
    {"all_reduce_fused", "to", [](A a) { return fused(a.type, a.op, [&](const rondo_bucket* b) { return rondo_all_reduce_fused(a.c, b); }); }},
    {"reduce", "top", [](A a) { return rondo_reduce(a.c, any_input, any_output, 1, a.type, a.op, a.peer); }},
    {"broadcast", "tp", [](A a) { return rondo_broadcast(a.c, any_input, any_output, 1, a.type, a.peer); }},
    {"reduce_scatter", "to", [](A a) { return rondo_reduce_scatter(a.c, any_input, any_output, 1, a.type, a.op); }},
    {"all_gather", "t", [](A a) { return rondo_all_gather(a.c, any_input, any_output, 1, a.type); }},
    {"all_to_all", "t", [](A a) { return rondo_all_to_all(a.c, any_input, any_output, 1, a.type); }},
    {"all_to_all_v", "t", [](A a) { return rondo_all_to_all_v(a.c, any_input, any_counts, nullptr, any_output, any_counts, nullptr, a.type); }},
    {"gather", "tp", [](A a) { return rondo_gather(a.c, any_input, any_output, 1, a.type, a.peer); }},
    {"scatter", "tp", [](A a) { return rondo_scatter(a.c, any_input, any_output, 1, a.type, a.peer); }},
    {"scan", "to", [](A a) { return rondo_scan(a.c, any_input, any_output, 1, a.type, a.op); }},
    {"barrier", "", [](A a) { return rondo_barrier(a.c); }},
    {"send", "tp", [](A a) { return rondo_send(a.c, any_input, 1, a.type, a.peer); }},
    {"recv", "tp", [](A a) { return rondo_recv(a.c, any_output, 1, a.type, a.peer); }},
    {"recv_any", "t", [](A a) { return rondo_recv_any(a.c, any_output, 1, a.type, &any_source); }},
    {"start_all_reduce", "tow", [](A a) { return rondo_start_all_reduce(a.c, any_input, any_output, 1, a.type, a.op, a.work); }},
    {"start_all_reduce_fused", "tow",
     [](A a) { return fused(a.type, a.op, [&](const rondo_bucket* b) { return rondo_start_all_reduce_fused(a.c, b, a.work); }); }},
    {"start_reduce", "topw", [](A a) { return rondo_start_reduce(a.c, any_input, any_output, 1, a.type, a.op, a.peer, a.work); }},
    {"start_broadcast", "tpw", [](A a) { return rondo_start_broadcast(a.c, any_input, any_output, 1, a.type, a.peer, a.work); }},
    {"start_reduce_scatter", "tow", [](A a) { return rondo_start_reduce_scatter(a.c, any_input, any_output, 1, a.type, a.op, a.work); }},
    {"start_all_gather", "tw", [](A a) { return rondo_start_all_gather(a.c, any_input, any_output, 1, a.type, a.work); }},
    {"start_all_to_all", "tw", [](A a) { return rondo_start_all_to_all(a.c, any_input, any_output, 1, a.type, a.work); }},
    {"start_all_to_all_v", "tw",
     [](A a) { return rondo_start_all_to_all_v(a.c, any_input, any_counts, nullptr, any_output, any_counts, nullptr, a.type, a.work); }},
    {"start_gather", "tpw", [](A a) { return rondo_start_gather(a.c, any_input, any_output, 1, a.type, a.peer, a.work); }},
    {"start_scatter", "tpw", [](A a) { return rondo_start_scatter(a.c, any_input, any_output, 1, a.type, a.peer, a.work); }},
    {"start_scan", "tow", [](A a) { return rondo_start_scan(a.c, any_input, any_output, 1, a.type, a.op, a.work); }},
    {"start_barrier", "w", [](A a) { return rondo_start_barrier(a.c, a.work); }},
    {"start_send", "tpw", [](A a) { return rondo_start_send(a.c, any_input, 1, a.type, a.peer, a.work); }},
    {"start_recv", "tpw", [](A a) { return rondo_start_recv(a.c, any_output, 1, a.type, a.peer, a.work); }},
    {"start_recv_any", "tw", [](A a) { return rondo_start_recv_any(a.c, any_output, 1, a.type, a.work); }},
    {"start_send_tagged", "tpw", [](A a) { return rondo_start_send_tagged(a.c, any_input, 1, a.type, a.peer, 7, a.work); }},
    {"start_recv_tagged", "tpw", [](A a) { return rondo_start_recv_tagged(a.c, any_output, 1, a.type, a.peer, 7, a.work); }},
    {"start_recv_any_tagged", "tw", [](A a) { return rondo_start_recv_any_tagged(a.c, any_output, 1, a.type, 7, a.work); }},
};

/// Every nonsense that `function` can be given, by a rank whose peer is rank 1 - `rank`.
std::string try_nonsense(const Function& function, Rank c, std::uint32_t rank) {
  rondo_work* work = nullptr;
  Arguments right;
  right.c = c;
  right.peer = 1 - rank;
  right.work = &work;
  Arguments no_communicator = right, type = right, op = right, peer = right, no_work = right;
  no_communicator.c = nullptr;
  type.type = static_cast<rondo_type>(256);  // 0 in the byte that the C++ type is
  op.op = static_cast<rondo_op>(9);
  peer.peer = 2;
  no_work.work = nullptr;
  const auto refuses = [&](char what, A wrong, const char* word) {
    return function.takes.find(what) == std::string::npos ? "" : expect(function.call(wrong), RONDO_INVALID_ARGUMENT, word);
  };
  const std::string wrong = first_wrong({expect(function.call(no_communicator), RONDO_INVALID_ARGUMENT, "communicator is null"),
                                         refuses('t', type, "unknown type 256"), refuses('o', op, "unknown operation 9"),
                                         refuses('p', peer, " 2 is not below 2 ranks"), refuses('w', no_work, "work is null"),
                                         work == nullptr ? "" : "a work of a call that was refused"});
  return wrong.empty() ? "" : std::string(function.name) + ": " + wrong;
}

}  // namespace

TEST_CASE("through C nonsense is refused by every call, in words, and the communicator works on", "[threads]") {
  const auto body = [](Rank c, std::uint32_t rank) -> std::string {
    for (const Function& function : functions)
      if (auto wrong = try_nonsense(function, c, rank); !wrong.empty()) return wrong;
    float value = 1;
    const std::string after = expect(rondo_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS);
    return first_wrong({after, value == 2 ? "" : "a wrong sum"});
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C calls as values are judged field by field", "[threads]") {
  const auto body = [](Rank c, std::uint32_t) -> std::string {
    rondo_work* work = nullptr;
    char* json = nullptr;
    rondo_call collective{sizeof(rondo_call), RONDO_REDUCE, RONDO_F32, RONDO_SUM, 0, any_input, any_output, 1, 0, nullptr, nullptr};
    rondo_call type = collective, op = collective, root = collective, blocks = collective;
    collective.collective = static_cast<rondo_collective>(11);
    type.type = static_cast<rondo_type>(12);
    op.op = static_cast<rondo_op>(256);
    root.root = 2;
    blocks.collective = RONDO_ALL_TO_ALL_V;
    const std::pair<rondo_call*, const char*> wrong_calls[] = {{&collective, "unknown collective 11"}, {&type, "unknown type 12"},
                                                               {&op, "unknown operation 256"}, {&root, "root 2 is not below 2 ranks"},
                                                               {nullptr, "call is null"}};
    for (const auto& [call, word] : wrong_calls) {
      const std::string wrong = first_wrong({expect(rondo_run(c, call), RONDO_INVALID_ARGUMENT, word),
                                             expect(rondo_start(c, call, &work), RONDO_INVALID_ARGUMENT, word),
                                             expect(rondo_plan_for(c, call, &json), RONDO_INVALID_ARGUMENT, word)});
      if (!wrong.empty()) return wrong;
    }
    collective.collective = RONDO_REDUCE;
    return first_wrong({expect(rondo_run(c, &blocks), RONDO_INVALID_ARGUMENT, "all_to_all_v"),
                        expect(rondo_run(nullptr, &collective), RONDO_INVALID_ARGUMENT, "communicator"),
                        expect(rondo_start(nullptr, &collective, &work), RONDO_INVALID_ARGUMENT, "communicator"),
                        expect(rondo_start(c, &collective, nullptr), RONDO_INVALID_ARGUMENT, "work"),
                        expect(rondo_plan_for(nullptr, &collective, &json), RONDO_INVALID_ARGUMENT, "communicator"),
                        expect(rondo_plan_for(c, &collective, nullptr), RONDO_INVALID_ARGUMENT, "json"), work == nullptr && json == nullptr ? "" : "a result"});
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C lists of tensors are judged field by field", "[threads]") {
  const auto body = [](Rank c, std::uint32_t) -> std::string {
    rondo_work* work = nullptr;
    const rondo_tensor one[] = {{any_input, any_output, 1}}, half[] = {{any_input, any_output, 1}, {nullptr, any_output + 1, 3}};
    const rondo_bucket right{sizeof(rondo_bucket), one, 1, RONDO_F32, RONDO_SUM, 0, 0};
    rondo_bucket size = right, none = right, null = right, unknown = right, wire = right;
    size.size = sizeof(size_t);
    none.tensors = nullptr;
    null.tensors = half;
    null.tensor_count = 2;
    unknown.op = static_cast<rondo_op>(256);
    wire.wire = 3;
    const std::pair<const rondo_bucket*, const char*> wrong_buckets[] = {{&size, "size of rondo_bucket"}, {&none, "tensors is null, with 1"},
                                                                         {&null, "tensor 1: input is null, with count 3"},
                                                                         {&unknown, "unknown operation 256"}, {&wire, "unknown wire 3"},
                                                                         {nullptr, "bucket is null"}};
    for (const auto& [bucket, word] : wrong_buckets) {
      const std::string wrong = first_wrong({expect(rondo_all_reduce_fused(c, bucket), RONDO_INVALID_ARGUMENT, word),
                                             expect(rondo_start_all_reduce_fused(c, bucket, &work), RONDO_INVALID_ARGUMENT, word)});
      if (!wrong.empty()) return wrong;
    }
    return work == nullptr ? "" : "a work of a call that was refused";
  };
  CHECK(run_two(body) == "");
}

TEST_CASE("through C a null where something must be is named", "[threads]") {
  const auto body = [](Rank c, std::uint32_t) -> std::string {
    char* text = nullptr;
    Rank made = nullptr;
    std::uint32_t number = 0;
    rondo_work* work = nullptr;
    rondo_memory* memory = nullptr;
    const auto invalid = [](rondo_status status, const char* name) { return expect(status, RONDO_INVALID_ARGUMENT, std::string(name) + " is null"); };
    const std::string of_communicators = first_wrong({
        invalid(rondo_create_from_environment(0, nullptr), "communicator"),
        invalid(rondo_create_from_environment_with_options(nullptr, nullptr), "communicator"),
        invalid(rondo_create_local(0, 1, nullptr, 0, &made), "job"), invalid(rondo_create_local(0, 1, "job", 0, nullptr), "communicator"),
        invalid(rondo_create_local_with_options(0, 1, nullptr, nullptr, &made), "job"),
        invalid(rondo_create_in_process_with_options(1, nullptr, nullptr), "communicators"), invalid(rondo_get_unique_id(nullptr), "id"),
        invalid(rondo_create_by_id(0, 1, nullptr, nullptr, &made), "id"),
        invalid(rondo_split(nullptr, 0, 0, &made), "communicator"), invalid(rondo_split(c, 0, 0, nullptr), "child"),
        invalid(rondo_duplicate(nullptr, &made), "communicator"), invalid(rondo_duplicate(c, nullptr), "copy"),
        invalid(rondo_shrink(nullptr, &made), "communicator"), invalid(rondo_shrink(c, nullptr), "survivors"),
        invalid(rondo_grow(nullptr, 9, "job", &made), "communicator"), invalid(rondo_grow(c, 9, nullptr, &made), "job"),
        invalid(rondo_grow(c, 9, "job", nullptr), "grown"), invalid(rondo_allocate(nullptr, 1, &memory), "communicator"),
        invalid(rondo_allocate(c, 1, nullptr), "memory"),
        rondo_memory_data(nullptr) == nullptr ? "" : "no memory isn't anywhere", invalid(rondo_rank(nullptr, &number), "communicator"),
        invalid(rondo_rank(c, nullptr), "rank"),
        invalid(rondo_size(nullptr, &number), "communicator"), invalid(rondo_size(c, nullptr), "size"),
        invalid(rondo_parent_ranks(nullptr, &number), "communicator"), invalid(rondo_parent_ranks(c, nullptr), "ranks"),
        invalid(rondo_topology(nullptr, &text), "communicator"), invalid(rondo_topology(c, nullptr), "json"),
        invalid(rondo_flight_record(nullptr, &text), "communicator"), invalid(rondo_flight_record(c, nullptr), "text"),
        invalid(rondo_start_trace(nullptr, 1), "communicator"), invalid(rondo_stop_trace(nullptr, &text), "communicator"),
        invalid(rondo_stop_trace(c, nullptr), "events"), invalid(rondo_trace_file(nullptr, 1, &text), "events"),
        invalid(rondo_abort(nullptr), "communicator"), invalid(rondo_check(nullptr), "communicator"),
        invalid(rondo_use_plan(nullptr, "plan.json", 0), "communicator"),
        invalid(rondo_group_begin(nullptr), "communicator"), invalid(rondo_group_end(nullptr), "communicator")});
    const std::string of_calls = first_wrong({
        invalid(rondo_all_to_all_v(c, any_input, nullptr, nullptr, any_output, any_counts, nullptr, RONDO_F32), "sent_counts"),
        invalid(rondo_all_to_all_v(c, any_input, any_counts, nullptr, any_output, nullptr, nullptr, RONDO_F32), "received_counts"),
        invalid(rondo_start_all_to_all_v(c, any_input, any_counts, nullptr, any_output, nullptr, nullptr, RONDO_F32, &work), "received_counts"),
        invalid(rondo_recv_any(c, any_output, 1, RONDO_F32, nullptr), "source"), invalid(rondo_work_wait(nullptr), "work"),
        invalid(rondo_work_wait_for(nullptr, 1), "work"),
        invalid(rondo_work_source(nullptr, &number), "work"), invalid(rondo_work_on_end(nullptr, nullptr, nullptr), "work"),
        invalid(rondo_set_timeout(nullptr, 1), "communicator"), rondo_work_done(nullptr) == 1 ? "" : "no work isn't done"});
    rondo_destroy(nullptr);
    rondo_memory_destroy(nullptr);
    rondo_work_destroy(nullptr);
    rondo_text_destroy(nullptr);
    return first_wrong({of_communicators, of_calls, made == nullptr && text == nullptr && work == nullptr ? "" : "a result of a call that was refused"});
  };
  CHECK(run_two(body) == "");
}
