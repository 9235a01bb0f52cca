#include "perform.hpp"
#include "rondo/formats.hpp"
#include "support/catch.hpp"
#include "texts.hpp"

using namespace rondo;
using test::data;
using test::from_mscclpp;
using test::mscclpp_error;
using test::perform;
using test::with;

namespace {

/// A plan of one gpu whose thread blocks have the given operations.
std::string one_gpu(const std::vector<std::string>& blocks, const std::string& semaphores = "", int scratch = 2) {
  std::string text =
      R"({"name": "t", "collective": "allreduce", "protocol": "Simple", "inplace": false, "gpus": [{"id": 0, "input_chunks": 2,
        "output_chunks": 2, "scratch_chunks": )" +
      std::to_string(scratch) + R"(, "semaphores": [)" + semaphores + R"(], "threadblocks": [)";
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    text += (b ? "," : "") + (R"({"id": )" + std::to_string(b)) + R"(, "ops": [)" + blocks[b] + "]}";
  }
  return text + "]}]}";
}

std::string transfer(const std::string& from, const std::string& to, const std::string& more = "",
                     const std::string& name = "copy") {
  const auto operand = [](const std::string& text) {
    return R"({"type": ")" + text.substr(0, 1) + R"(", "index": )" + text.substr(1, 1) + R"(, "size": )" +
           text.substr(3) + "}";
  };
  return R"({"name": ")" + name + R"(", "src_buff": [)" + operand(from) + R"(], "dst_buff": [)" + operand(to) + "]" +
         more + "}";
}

const char* const barrier = R"({"name": "barrier", "barrier_id": 3, "num_threadblocks": 2})";

/// A lane's steps without the waits that guard the reuse of scratch over pieces; signals for such waits may end it.
std::vector<Step> steps_of(const Plan& plan, std::uint32_t rank, std::uint32_t lane) {
  std::vector<Step> steps;
  const Program program = plan.program(rank);
  for (const Step& step : program.lanes.at(lane).steps) {
    if (step.kind != StepKind::wait || step.wait.lag == 0) steps.push_back(step);
  }
  return steps;
}

}  // namespace

TEST_CASE("an MSCCL++ two-shot in packets becomes writes, signals and waits") {
  const Plan plan = from_mscclpp(data("two_shot_packets.json"));
  CHECK(plan.header.algorithm == "two_shot_packets");
  CHECK(plan.header.collective == Collective::all_reduce);
  CHECK(plan.header.chunks_per_block == 4);
  CHECK(plan.header.scratch_chunks == 4);
  CHECK(plan.header.protocol == Protocol::staged);
  CHECK(plan.header.out_of_place);
  CHECK_FALSE(plan.header.in_place);
  CHECK(plan.header.min_bytes == 64);
  CHECK(plan.header.max_bytes == 65536);
  const std::vector<Step> steps = steps_of(plan, 0, 0);
  REQUIRE(steps.size() == 5);
  CHECK(steps[0].kind == StepKind::copy);
  CHECK(steps[0].destinations == Operands{{Buffer::scratch, 1, 0, 2}});
  CHECK(steps[1].kind == StepKind::signal);
  CHECK(steps[2].kind == StepKind::wait);
  CHECK(steps[2].wait == WaitFor{1, 0, 0, 0});
  CHECK(steps[3].kind == StepKind::reduce);
  CHECK(steps[3].finish);
  CHECK(steps[3].destinations == Operands{{Buffer::output, self, 0, 2}, {Buffer::scratch, 1, 2, 2}});
  CHECK(steps[4].kind == StepKind::signal);
  const std::vector<Step> unpack = steps_of(plan, 1, 1);
  REQUIRE(unpack.size() >= 2);
  CHECK(unpack[0].wait == WaitFor{0, 0, 1, 0});
  CHECK(perform(plan) == "");
}

TEST_CASE("an MSCCL++ plan over peers' inputs is direct, and what it writes there goes to outputs") {
  const Plan plan = from_mscclpp(data("two_shot_direct.json"));
  CHECK(plan.header.protocol == Protocol::direct);
  CHECK(plan.header.in_place);
  CHECK_FALSE(plan.header.out_of_place);
  CHECK(plan.header.max_bytes == 0);
  const std::vector<Step> steps = steps_of(plan, 1, 0);
  REQUIRE(steps.size() == 5);
  CHECK(steps[1].wait == WaitFor{0, 0, 0, 0});
  CHECK(steps[2].sources == Operands{{Buffer::input, 0, 1, 1}, {Buffer::input, self, 1, 1}});
  CHECK(steps[2].destinations == Operands{{Buffer::output, self, 1, 1}, {Buffer::output, 0, 1, 1}});
  CHECK(steps[2].finish);
  CHECK(steps[4].wait == WaitFor{0, 0, 1, 0});
  CHECK(perform(plan) == "");
}

TEST_CASE("the second channel to a peer ends at the peer's second channel back") {
  std::string text = data("two_shot_direct.json");
  // gpu 0 signals and waits on its second channel, gpu 1 still on its first: they never meet.
  text = with(text, "\"connected_to\": [1]", "\"connected_to\": [1, 1]");
  text = with(text, "\"channel_ids\": [0]}], \"remote_buffer_refs\"", "\"channel_ids\": [1]}], \"remote_buffer_refs\"");
  CHECK(mscclpp_error(text).find(
            "gpus[0].threadblocks[0].ops[1]: it waits on channel 1 from gpu 1, which has no channel for it") !=
        std::string::npos);
}

TEST_CASE("a barrier orders the thread blocks that come to it") {
  const std::string first = transfer("i0+2", "s0+2") + "," + barrier + "," + transfer("s1+1", "o1+1");
  const Plan plan = from_mscclpp(one_gpu({first, std::string(barrier) + "," + transfer("s0+1", "o0+1")}));
  const std::vector<Step> waiting = steps_of(plan, 0, 1);
  REQUIRE(waiting.size() >= 3);
  CHECK(waiting[0].kind == StepKind::signal);
  CHECK(waiting[1].wait == WaitFor{0, 0, 0, 0});
  CHECK(perform(plan) == "");
  CHECK(mscclpp_error(one_gpu({first})).find("barrier 3 is for 2 thread blocks, but 1 come to it") != std::string::npos);
  CHECK(mscclpp_error(one_gpu({first, std::string(barrier) + "," + barrier}))
            .find("thread block 0 comes to barrier 3 only 1 times") != std::string::npos);
}

TEST_CASE("a semaphore orders release before acquire, less what it holds at first") {
  const std::string release = R"({"name": "sem_release", "semaphore_ids": [0]})";
  const std::string acquire = R"({"name": "sem_acquire", "semaphore_ids": [0]})";
  const std::vector<std::string> blocks{transfer("i0+2", "s0+2") + "," + release,
                                        acquire + "," + transfer("s0+2", "o0+2")};
  const Plan plan = from_mscclpp(one_gpu(blocks, R"({"init_value": 0})"));
  CHECK(steps_of(plan, 0, 1).at(0).wait == WaitFor{0, 0, 0, 0});
  CHECK(perform(plan) == "");
  const Plan held = from_mscclpp(one_gpu(blocks, R"({"init_value": 1})"));
  CHECK(steps_of(held, 0, 1).at(0).kind == StepKind::copy);
  CHECK(mscclpp_error(one_gpu({acquire, release + "," + acquire}, R"({"init_value": 0})"))
            .find("not supported: acquisitions of semaphore 0 from two thread blocks") != std::string::npos);
  CHECK(mscclpp_error(one_gpu({acquire}, R"({"init_value": 0})"))
            .find("it waits for release of semaphore 0 number 1; there are 0") != std::string::npos);
  CHECK(mscclpp_error(one_gpu({acquire})).find("expected an index below 0, the number of the gpu's semaphores") !=
        std::string::npos);
}

TEST_CASE("thread blocks that share an operation each do a slice of every chunk") {
  const auto part = [](int k) {
    return transfer("i0+2", "o0+2", R"(, "tbg_info": {"tb_id": )" + std::to_string(k) + R"(, "tbg_size": 3})");
  };
  const Plan plan = from_mscclpp(one_gpu({part(0), part(1), part(2)}));
  CHECK(plan.header.chunks_per_block == 6);
  CHECK(steps_of(plan, 0, 1).at(0).sources == Operands{{Buffer::input, self, 2, 2}});
  CHECK(perform(plan) == "");
  CHECK(perform(from_mscclpp(one_gpu({part(0), part(1), part(1)}))) != "");
}

TEST_CASE("packets that one thread block both writes and reads need no wait") {
  const std::string pack = transfer("i0+2", "s0+2", "", "cpkt");
  const std::string unpack = transfer("s0+2", "o0+2", "", "upkt");
  const Plan plan = from_mscclpp(one_gpu({pack + "," + unpack}));
  CHECK(steps_of(plan, 0, 0).at(1).kind == StepKind::copy);
  CHECK(perform(plan) == "");
  CHECK(mscclpp_error(one_gpu({unpack + "," + pack}))
            .find("gpus[0].threadblocks[0].ops[0]: it waits for what its own thread block does later") !=
        std::string::npos);
  CHECK(mscclpp_error(one_gpu({unpack})).find("nobody writes packets to chunk 0 of its scratch") != std::string::npos);
  CHECK(mscclpp_error(one_gpu({pack + "," + unpack, pack}))
            .find("not supported: packets for chunk 0 of gpu 0's scratch from both") != std::string::npos);
}

TEST_CASE("operations with a meaning only on GPUs are refused by name and place") {
  for (const char* name : {"glres", "gstore", "gstorepkt", "pipeline"}) {
    const std::string error =
        mscclpp_error(with(data("two_shot_direct.json"), "\"name\": \"rres\"", std::string("\"name\": \"") + name + "\""));
    CHECK(error.find(std::string("unsupported: not supported: op ") + name + " at gpus[0].threadblocks[0].ops[2]") !=
          std::string::npos);
  }
}

TEST_CASE("signals on one channel from two thread blocks are refused with both named") {
  std::string text = data("two_shot_direct.json");
  const std::string extra = R"(,{"id": 1, "ops": [{"name": "signal", "channel_ids": [0], "channel_type": "memory"}],
    "channels": [{"channel_type": "memory", "channel_ids": [0]}]}], )";
  text = with(text, "}], \n  \"channels\"", "}" + extra + "\n  \"channels\"");
  const std::string error = mscclpp_error(text);
  INFO(error);
  CHECK(error.find("not supported: signals on channel 0 from two thread blocks, at gpus[0].threadblocks[0].ops[0] and "
                   "gpus[0].threadblocks[1].ops[0]") != std::string::npos);
}

TEST_CASE("a wrong chunk in an MSCCL++ plan stays wrong") {
  CHECK(perform(from_mscclpp(with(data("two_shot_packets.json"), "\"type\": \"o\", \"index\": 0",
                              "\"type\": \"o\", \"index\": 1"))) != "");
  CHECK(perform(from_mscclpp(with(data("two_shot_direct.json"), "\"type\": \"i\", \"index\": 0",
                              "\"type\": \"i\", \"index\": 1"))) != "");
}

TEST_CASE("what is wrong with an MSCCL++ plan is named with its path") {
  struct Case {
    const char *from, *to, *says;
  };
  const Case cases[] = {
      {"\"name\": \"two_shot_packets\", ", "", "plan: \"name\" is missing"},
      {"\"collective\": \"allreduce\"", "\"collective\": \"dance\"", "collective: expected allreduce, allgather"},
      {"\"inplace\": false", "\"inplace\": 0", "inplace: expected true or false, found 0"},
      {"\"min_message_size\": 64", "\"min_message_size\": -1", "min_message_size: expected a number from 0"},
      {"\"id\": 0", "\"id\": 1", "gpus[0].id: expected its position, 0"},
      {"\"input_chunks\": 4", "\"input_chunks\": 4000000000", "gpus[0].input_chunks: expected a number from 0 to"},
      {"\"input_chunks\": 4", "\"input_chunks\": 8", "gpus[0].output_chunks: expected 0 or 8, as counted before"},
      {"\"input_chunks\": 4, ", "", "gpus[0]: \"input_chunks\" is missing"},
      {"\"scratch_chunks\": 4", "\"scratch_chunks\": 1.5", "gpus[0].scratch_chunks: expected a number from 0 to"},
      {"\"connected_to\": [1]", "\"connected_to\": [0]", "gpus[0].channels[0].connected_to[0]: expected another gpu"},
      {"\"connected_to\": [1]", "\"connected_to\": [9]",
       "gpus[0].channels[0].connected_to[0]: expected a number from 0 to 1"},
      {"\"connected_to\": [1]", "\"connected_to\": 1", "gpus[0].channels[0].connected_to: expected an array, found 1"},
      {"\"remote_buffers\": [{\"rank\": 1", "\"remote_buffers\": [{\"rank\": 0",
       "gpus[0].remote_buffers[0].rank: expected another gpu"},
      {"\"name\": \"ppkt\"", "\"name\": \"pppt\"",
       "gpus[0].threadblocks[0].ops[0].name: expected an operation of MSCCL++, found \"pppt\""},
      {"\"name\": \"ppkt\", ", "", "gpus[0].threadblocks[0].ops[0]: \"name\" is missing"},
      {"\"type\": \"i\"", "\"type\": \"z\"",
       "gpus[0].threadblocks[0].ops[0].src_buff[0].type: expected i, o or s, found \"z\""},
      {"\"index\": 2", "\"index\": 3",
       "ops[0].src_buff[0]: expected index and size to end within the buffer's 4 chunks"},
      {"\"index\": 2", "\"index\": \"2\"", "ops[0].src_buff[0].index: expected a number from 0"},
      {"\"size\": 2", "\"size\": 0", "ops[0].src_buff[0].size: expected a number from 1"},
      {"\"size\": 2", "\"size\": 1", "gpus[0].threadblocks[0].ops[0]: expected all sizes to be the same"},
      {"\"buffer_id\": 0", "\"buffer_id\": 3", "ops[0].dst_buff[0].buffer_id: expected an index below 1"},
      {"\"channel_type\": \"memory\"", "\"channel_type\": \"wire\"", "ops[0].channel_type: expected memory or port"},
      {"\"reduce_op\": \"sum\"", "\"reduce_op\": \"min\"", "ops[2].reduce_op: expected sum"},
      {"\"threadblocks\"", "\"blocks\"", "gpus[0]: \"threadblocks\" is missing"},
      {"\"remote_buffer_ids\": [0]", "\"remote_buffer_ids\": [1]",
       "remote_buffer_refs[0].remote_buffer_ids[0]: expected an index below 1"},
      {"}]}", "}]", "not well-formed JSON"},
  };
  for (const Case& c : cases) {
    INFO(c.from << " -> " << c.to);
    const std::string error = mscclpp_error(with(data("two_shot_packets.json"), c.from, c.to));
    INFO(error);
    CHECK(error.find(c.says) != std::string::npos);
  }
  const char* const missing_signal = R"({"name": "signal", "channel_ids": [0], "channel_type": "memory"}, )";
  CHECK(
      mscclpp_error(with(data("two_shot_direct.json"), missing_signal, ""))
          .find("gpus[1].threadblocks[0].ops[4]: it waits for signal on channel 0 from gpu 0 number 2; there are 1") !=
      std::string::npos);
  for (const char* text : {"", "[]", "3", "null", "{}", "{\"gpus\": 3}",
                           "{\"name\": \"a\", \"collective\": \"allreduce\", \"inplace\": true, \"gpus\": []}"}) {
    CHECK(mscclpp_error(text) != "");
  }
  CHECK(mscclpp_error(std::string(100000, '[')).find("nested more than") != std::string::npos);
}
