#include <algorithm>

#include "perform.hpp"
#include "rondo/formats.hpp"
#include "support/catch.hpp"
#include "texts.hpp"

using namespace rondo;
using test::data;
using test::from_msccl;
using test::msccl_error;
using test::perform;
using test::with;

namespace {

std::string step(int s, const std::string& type, const std::string& source, const std::string& destination,
                 int count = 1, int block = -1, int dependency = -1) {
  const auto operand = [](const std::string& prefix, const std::string& text) {
    return " " + prefix + "buf=\"" + text.substr(0, 1) + "\" " + prefix + "off=\"" + text.substr(1) + "\"";
  };
  return "<step s=\"" + std::to_string(s) + "\" type=\"" + type + "\"" + operand("src", source) +
         operand("dst", destination) + " cnt=\"" + std::to_string(count) + "\" depid=\"" + std::to_string(block) +
         "\" deps=\"" + std::to_string(dependency) + "\" hasdep=\"0\"/>";
}

std::string block(int id, int send, int receive, const std::string& steps, int channel = 0) {
  return "<tb id=\"" + std::to_string(id) + "\" send=\"" + std::to_string(send) + "\" recv=\"" +
         std::to_string(receive) + "\" chan=\"" + std::to_string(channel) + "\">" + steps + "</tb>";
}

std::string gpu(int id, const std::string& blocks, int scratch = 0) {
  return "<gpu id=\"" + std::to_string(id) + "\" i_chunks=\"0\" o_chunks=\"0\" s_chunks=\"" + std::to_string(scratch) +
         "\">" + blocks + "</gpu>";
}

std::string algo(const std::string& collective, int gpus, int chunks, bool in_place, const std::string& body) {
  return "<algo name=\"t\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"" + std::to_string(chunks) +
         "\" ngpus=\"" + std::to_string(gpus) + "\" coll=\"" + collective + "\" inplace=\"" + (in_place ? "1" : "0") +
         "\">" + body + "</algo>";
}

std::vector<Step> all_steps(const Plan& plan) {
  std::vector<Step> steps;
  for (std::uint32_t rank = 0; rank < plan.header.ranks; ++rank) {
    for (const Lane& lane : plan.program(rank).lanes) steps.insert(steps.end(), lane.steps.begin(), lane.steps.end());
  }
  return steps;
}

}  // namespace

TEST_CASE("a two-gpu MSCCL ring becomes the plan it describes") {
  const Plan plan = from_msccl(data("ring2.xml"));
  CHECK(plan.header.algorithm == "ring2");
  CHECK(plan.header.collective == Collective::all_reduce);
  CHECK(plan.header.ranks == 2);
  CHECK(plan.header.chunks_per_block == 2);
  CHECK(plan.header.protocol == Protocol::staged);
  CHECK(plan.header.depth == 2);
  CHECK(plan.header.in_place);
  CHECK_FALSE(plan.header.out_of_place);
  CHECK(plan.header.max_bytes == 0);
  const std::vector<Step> steps = plan.program(1).lanes.at(0).steps;
  REQUIRE(steps.size() == 3);
  const Operand link{Buffer::link, 0, 0, 1};
  CHECK(steps[0].kind == StepKind::copy);
  CHECK(steps[0].sources == Operands{{Buffer::input, self, 1, 1}});
  CHECK(steps[0].destinations == Operands{link});
  CHECK(steps[1].kind == StepKind::reduce);
  CHECK(steps[1].finish);
  CHECK(steps[1].sources == Operands{link, {Buffer::input, self, 0, 1}});
  CHECK(steps[1].destinations == Operands{{Buffer::output, self, 0, 1}, link});
  CHECK(steps[2].sources == Operands{link});
  CHECK(steps[2].destinations == Operands{{Buffer::output, self, 1, 1}});
  CHECK(perform(plan) == "");
}

TEST_CASE("a three-gpu MSCCL ring runs in place and out of place, and its nop orders the two thread blocks") {
  const Plan plan = from_msccl(data("ring3.xml"));
  CHECK(plan.header.in_place);
  CHECK(plan.header.out_of_place);
  CHECK(plan.header.min_bytes == 1024);
  const Program program = plan.program(0);
  REQUIRE(program.lanes.size() == 2);
  REQUIRE(program.lanes[1].steps.size() == 3);
  CHECK(program.lanes[1].steps[0].after == Afters{{0, 2}});
  CHECK(perform(plan) == "");
  CHECK(perform(plan, false, 1) != "");  // at depth 1 every gpu waits for room on its link
}

TEST_CASE("a reduction that completes a value is marked as finishing, and no other") {
  int finishing = 0;
  for (const Step& s : all_steps(from_msccl(data("ring3.xml")))) {
    if (s.kind != StepKind::reduce) CHECK_FALSE(s.finish);
    if (s.finish) CHECK(s.destinations[0].buffer == Buffer::output);
    finishing += s.finish;
  }
  CHECK(finishing == 3);
}

TEST_CASE("ranks that combine the same values combine them in the same order") {
  const std::string exchange = step(0, "s", "i0", "i0") + step(1, "rrc", "i0", "i0");
  const Plan plan =
      from_msccl(algo("allreduce", 2, 1, true, gpu(0, block(0, 1, 1, exchange)) + gpu(1, block(0, 0, 0, exchange))));
  CHECK(plan.program(0).lanes[0].steps[1].sources[0].buffer == Buffer::input);
  CHECK(plan.program(1).lanes[0].steps[1].sources[0].buffer == Buffer::link);
  CHECK(perform(plan) == "");
}

TEST_CASE("an input chunk that is overwritten in place is read from the output from then on") {
  // gpu 1's chunk 0 travels to gpu 0, comes back combined, and is sent on from where it was put.
  const std::string first = step(0, "rrc", "i0", "i0") + step(1, "s", "i0", "i0");
  const std::string second = step(0, "s", "i0", "i0") + step(1, "r", "i0", "i0");
  const Plan plan =
      from_msccl(algo("allreduce", 2, 1, true, gpu(0, block(0, 1, 1, first)) + gpu(1, block(0, 0, 0, second))));
  CHECK(plan.program(0).lanes[0].steps[1].sources[0].buffer == Buffer::output);
  CHECK(perform(plan) == "");
}

TEST_CASE("an in-place all-gather that reads its own block of the output reads the input") {
  const auto steps = [](const std::string& mine, const std::string& other) {
    return step(0, "s", mine, mine) + step(1, "r", other, other);
  };
  const Plan plan = from_msccl(algo(
      "allgather", 2, 2, true, gpu(0, block(0, 1, 1, steps("o0", "o1"))) + gpu(1, block(0, 0, 0, steps("o1", "o0")))));
  CHECK(plan.header.chunks_per_block == 1);
  CHECK(plan.program(1).lanes[0].steps[0].sources == Operands{{Buffer::input, self, 0, 1}});
  CHECK(perform(plan) == "");
}

TEST_CASE("partial results that an in-place reduce-scatter keeps in other ranks' input blocks go to scratch") {
  const auto gpu_of = [](int id) {
    const std::string theirs = "i" + std::to_string(1 - id);
    const std::string mine = "i" + std::to_string(id);
    return gpu(id,
               block(0, 1 - id, 1 - id,
                     step(0, "cpy", theirs, "s0") + step(1, "cpy", "s0", theirs) + step(2, "s", theirs, theirs) +
                         step(3, "rrc", mine, mine)),
               1);
  };
  const Plan plan = from_msccl(algo("reduce_scatter", 2, 2, true, gpu_of(0) + gpu_of(1)));
  CHECK(plan.header.scratch_chunks == 3);
  CHECK(perform(plan) == "");
}

TEST_CASE("an input written out of place gets scratch of its own") {
  const auto gpu_of = [](int id) {
    return gpu(id, block(0, 1 - id, 1 - id,
                         step(0, "s", "i0", "i0") + step(1, "rrc", "i0", "i0") + step(2, "cpy", "i0", "o0")));
  };
  const Plan plan = from_msccl(algo("allreduce", 2, 1, false, gpu_of(0) + gpu_of(1)));
  CHECK(plan.header.scratch_chunks == 1);
  CHECK(plan.header.out_of_place);
  CHECK_FALSE(plan.header.in_place);
  CHECK(perform(plan) == "");
}

TEST_CASE("a step over chunks that lie in different places is split, and its messages with it") {
  // Chunk 0 is combined on gpu 0, chunk 1 isn't, and both are sent in one step.
  const std::string first = step(0, "rrc", "i0", "i0") + step(1, "s", "i0", "i0", 2) + step(2, "rrc", "i1", "i1") +
                            step(3, "nop", "i0", "i0");
  const std::string second = step(0, "s", "i0", "i0") + step(1, "r", "i0", "s0", 2) + step(2, "s", "i1", "i1");
  const std::string third = step(0, "cpy", "s0", "i0", 1, 0, 1) + step(1, "re", "s1", "i1", 1, 0, 2);
  const Plan plan =
      from_msccl(algo("allreduce", 2, 2, true,
                    gpu(0, block(0, 1, 1, first)) + gpu(1, block(0, 0, 0, second) + block(1, -1, -1, third), 2)));
  const Program waiting = plan.program(1);
  const std::vector<Step> steps = waiting.lanes[1].steps;
  const auto moves = [](const Step& s) { return s.kind == StepKind::copy || s.kind == StepKind::reduce; };
  const auto copying = std::find_if(steps.begin(), steps.end(), moves);
  REQUIRE(copying != steps.end());
  CHECK(copying->after.size() == 1);
  CHECK(waiting.lanes[0].steps[copying->after.at(0).step].destinations.at(0).index == 1);
  for (const Step& s : all_steps(plan)) {
    for (const Operand& operand : s.destinations) CHECK(operand.count == 1);
  }
  CHECK(perform(plan) == "");
}

TEST_CASE("the root of a broadcast is the gpu whose data is read, of a reduce the one that ends with all") {
  const Plan broadcast =
      from_msccl(algo("broadcast", 2, 1, false,
                    gpu(0, block(0, -1, 1, step(0, "r", "o0", "o0"))) +
                        gpu(1, block(0, 0, -1, step(0, "s", "i0", "o0") + step(1, "cpy", "i0", "o0")))));
  CHECK(broadcast.header.root == 1);
  CHECK(perform(broadcast) == "");
  const Plan reduce = from_msccl(
      algo("reduce", 2, 1, false,
           gpu(0, block(0, 1, -1, step(0, "s", "i0", "o0"))) + gpu(1, block(0, -1, 0, step(0, "rrc", "i0", "o0")))));
  CHECK(reduce.header.root == 1);
  CHECK(perform(reduce) == "");
}

TEST_CASE("an all-to-all's chunks are counted by block") {
  const auto gpu_of = [](int id) {
    const std::string mine = std::to_string(id);
    const std::string other = std::to_string(1 - id);
    return gpu(id, block(0, 1 - id, 1 - id,
                         step(0, "cpy", "i" + mine, "o" + mine) + step(1, "s", "i" + other, "o0") +
                             step(2, "r", "i0", "o" + other)));
  };
  const Plan plan = from_msccl(algo("alltoall", 2, 2, false, gpu_of(0) + gpu_of(1)));
  CHECK(plan.header.chunks_per_block == 1);
  CHECK(perform(plan) == "");
}

TEST_CASE("a plan that leans on deep links gets the depth it needs") {
  // gpu 0 sends five chunks before it takes the first; gpu 1 wants its message, which comes sixth, first.
  std::string sends, receives;
  for (int c = 0; c < 5; ++c) sends += step(c, "s", "i" + std::to_string(c), "o0");
  sends += step(5, "s", "i5", "o0");
  for (int c = 0; c < 5; ++c)
    receives += step(c, "r", "i0", "o" + std::to_string(c), 1, c == 0 ? 1 : -1, c == 0 ? 0 : -1);
  receives += step(5, "r", "i0", "o5");
  const std::string late = block(1, -1, 0, step(0, "r", "i0", "s0"), 1);
  const std::string token = step(6, "nop", "i0", "i0");
  const std::string first =
      gpu(0, block(0, 1, -1, sends + token) + block(1, 1, -1, step(0, "s", "i0", "o0", 1, 0, 4), 1) +
                 block(2, -1, -1, step(0, "cpy", "i0", "o0", 6)));
  const Plan plan = from_msccl(algo("broadcast", 2, 6, false, first + gpu(1, block(0, -1, 0, receives) + late, 1)));
  CHECK(plan.header.depth == 5);
  CHECK(perform(plan, false, 4) != "");
  CHECK(perform(plan) == "");
}

TEST_CASE("a dependency on a nop is one on the step that follows it") {
  const std::string text = with(data("ring3.xml"),
                                "<step s=\"2\" type=\"rrc\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"1\" "
                                "cnt=\"1\" depid=\"-1\" deps=\"-1\"",
                                "<step s=\"2\" type=\"rrc\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"1\" "
                                "cnt=\"1\" depid=\"1\" deps=\"0\"");
  const Plan plan = from_msccl(text);
  CHECK(plan.program(0).lanes[0].steps[2].after == Afters{{1, 0}});
  CHECK(perform(plan) != "");  // each now waits for the other
  const Plan later = from_msccl(with(text, "depid=\"1\" deps=\"0\"", "depid=\"1\" deps=\"2\""));
  CHECK(later.program(0).lanes[0].steps[2].after == Afters{{1, 1}});
}

TEST_CASE("a wrong chunk in an MSCCL file stays wrong in the plan") {
  CHECK(perform(from_msccl(with(data("ring2.xml"), "type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\"",
                              "type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"1\""))) != "");
  CHECK(perform(from_msccl(with(data("ring3.xml"), "type=\"rrs\" srcbuf=\"i\" srcoff=\"2\"",
                              "type=\"rrs\" srcbuf=\"i\" srcoff=\"1\""))) != "");
}

TEST_CASE("an MSCCL file without an end to its messages imports, so that the verifier can say so") {
  const Plan plan = from_msccl(with(data("ring2.xml"),
                                  "<step s=\"2\" type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" "
                                  "cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>",
                                  ""));
  CHECK(perform(plan) != "");
}

TEST_CASE("what is wrong with an MSCCL file is named with its element and attribute") {
  struct Case {
    const char *from, *to, *says;
  };
  const Case cases[] = {
      {"<algo name=\"ring2\"", "<algo", "algo: attribute name is missing"},
      {"ngpus=\"2\"", "", "algo: attribute ngpus is missing"},
      {"ngpus=\"2\"", "ngpus=\"two\"", "attribute ngpus=\"two\": expected a number from 1 to"},
      {"ngpus=\"2\"", "ngpus=\"0\"", "attribute ngpus=\"0\": expected a number from 1"},
      {"ngpus=\"2\"", "ngpus=\"4294967296\"", "attribute ngpus=\"4294967296\": expected a number"},
      {"ngpus=\"2\"", "ngpus=\"16384\"", "algo: gpu 2 is missing; ngpus is 16384"},
      {"ngpus=\"2\"", "ngpus=\"1\"", "attribute"},
      {"nchunksperloop=\"2\"", "nchunksperloop=\"-2\"", "attribute nchunksperloop=\"-2\": expected a number from 1"},
      {"nchunksperloop=\"2\"", "nchunksperloop=\"4\"", "gpu 0: attribute i_chunks=\"2\": expected 0 or 4"},
      {"coll=\"allreduce\"", "coll=\"allsquash\"", "attribute coll=\"allsquash\": expected allreduce, allgather"},
      {"coll=\"allreduce\"", "coll=\"custom\"", "unsupported: not supported: coll=\"custom\""},
      {"inplace=\"1\"", "", "algo: attribute inplace is missing"},
      {"inplace=\"1\"", "inplace=\"0\" outofplace=\"0\"", "attribute outofplace=\"0\": expected 1"},
      {"inplace=\"1\"", "inplace=\"1\" minBytes=\"9\" maxBytes=\"8\"",
       "attribute maxBytes=\"8\": expected 0 or at least minBytes"},
      {"inplace=\"1\"", "inplace=\"1\" minBytes=\"-1\"", "attribute minBytes=\"-1\": expected a number from 0"},
      {"<gpu id=\"1\"", "<gpu id=\"0\"", "gpu 0: a gpu of this id came before"},
      {"<gpu id=\"1\"", "<gpu id=\"7\"", "gpu 7: attribute id=\"7\": expected a number from 0 to 1"},
      {"i_chunks=\"2\"", "i_chunks=\"99999999999999999999\"", "gpu 0: attribute i_chunks="},
      {"s_chunks=\"0\"", "s_chunks=\"4000000000\"",
       "gpu 0: attribute s_chunks=\"4000000000\": expected a number from 0 to 65536"},
      {"s_chunks=\"0\"", "", "gpu 0: attribute s_chunks is missing"},
      {"send=\"1\"", "send=\"0\"", "gpu 0, tb 0: attribute send=\"0\": expected another gpu or -1"},
      {"send=\"1\"", "send=\"5\"", "gpu 0, tb 0: attribute send=\"5\": expected a number from -1 to 1"},
      {"send=\"1\"", "send=\"-1\"", "gpu 0, tb 0, step 0: it sends, but its tb has send=\"-1\""},
      {"recv=\"1\"", "recv=\"-1\"", "gpu 0, tb 0, step 1: it receives, but its tb has recv=\"-1\""},
      {"chan=\"0\"", "chan=\"x\"", "gpu 0, tb 0: attribute chan=\"x\": expected a number"},
      {"type=\"rrcs\"", "type=\"rrx\"", "gpu 0, tb 0, step 1: attribute type=\"rrx\": expected one of s r rcs"},
      {"step s=\"1\"", "step s=\"0\"", "gpu 0, tb 0, step 0: attribute s=\"0\": expected 1"},
      {"srcbuf=\"i\"", "srcbuf=\"q\"", "gpu 0, tb 0, step 0: attribute srcbuf=\"q\": expected i, o or s"},
      {"srcoff=\"0\"", "srcoff=\"2\"",
       "gpu 0, tb 0, step 0: attribute srcoff=\"2\": expected with cnt=\"1\" to end within the 2 chunks of buffer i"},
      {"srcoff=\"0\"", "srcoff=\"-1\"", "gpu 0, tb 0, step 0: attribute srcoff=\"-1\": expected a number from 0"},
      {"cnt=\"1\"", "cnt=\"0\"", "gpu 0, tb 0, step 0: attribute cnt=\"0\": expected a number from 1"},
      {"cnt=\"1\"", "cnt=\"4000000000\"", "gpu 0, tb 0, step 0: attribute cnt=\"4000000000\": expected a number"},
      {"cnt=\"1\"", "", "gpu 0, tb 0, step 0: attribute cnt is missing"},
      {"srcbuf=\"i\"", "srcbuf=\"s\"", "to end within the 0 chunks of buffer s"},
      {"depid=\"-1\" deps=\"-1\"", "depid=\"3\" deps=\"0\"",
       "gpu 0, tb 0: depid=\"3\" deps=\"0\": expected a tb of this gpu"},
      {"depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"9\"",
       "gpu 0, tb 0: depid=\"0\" deps=\"9\": expected one of that tb's 3 steps"},
      {"depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"2\"", "expected an earlier step of its own tb"},
      {"</tb>", "</tb><tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\"></tb>",
       "gpu 0, tb 0: a tb of this id came before"},
      {"</algo>", "", "not well-formed XML at line 17, column"},
      {"<algo", "<system", "not well-formed XML"},
  };
  for (const Case& c : cases) {
    INFO(c.from << " -> " << c.to);
    const std::string error = msccl_error(with(data("ring2.xml"), c.from, c.to));
    INFO(error);
    CHECK(error.find(c.says) != std::string::npos);
  }
  CHECK(msccl_error("").find("not well-formed XML") != std::string::npos);
  CHECK(msccl_error("<system version=\"1\"/>").find("expected the root element <algo>, found <system>") !=
        std::string::npos);
}

TEST_CASE("two thread blocks on one link are an error that names both") {
  const std::string two = block(2, 1, -1, step(0, "s", "i0", "o0"), 3) + block(5, 1, -1, step(0, "s", "i0", "o0"), 3);
  CHECK(msccl_error(algo("allreduce", 2, 1, true, gpu(0, two) + gpu(1, "")))
            .find("gpu 0: tb 2 and tb 5 both send to gpu 1 on channel 3") != std::string::npos);
}

TEST_CASE("counts that no machine holds are refused before memory is asked for") {
  std::string gpus;
  for (int id = 0; id < 100; ++id) gpus += gpu(id, "", 65536);
  CHECK(msccl_error(algo("allreduce", 100, 65536, true, gpus)).find("chunks in all buffers") != std::string::npos);
  std::string steps;
  for (int s = 0; s < 200; ++s) steps += step(s, "cpy", "i0", "o0", 65536);
  CHECK(msccl_error(algo("allreduce", 1, 65536, false, gpu(0, block(0, -1, -1, steps)))).find("steps touch") !=
        std::string::npos);
}
