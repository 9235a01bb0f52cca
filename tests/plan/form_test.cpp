#include <functional>

#include "has.hpp"
#include "samples.hpp"
#include "support/catch.hpp"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr std::uint32_t huge = 0xfffffffe;

/// A plan of good form with one thing of each kind: two ranks, two lanes, scratch, links, waits, after, skew.
std::pair<PlanHeader, std::vector<Program>> good() {
  PlanHeader made = header(2, 4);
  made.scratch_chunks = 3;
  std::vector<Program> programs(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    const std::uint32_t q = 1 - r;
    Step wide = copy({Buffer::input, self, 1, 2}, {{Buffer::output, self, 1, 2}, {Buffer::scratch, self, 0, 2}});
    programs[r].lanes.resize(2);
    programs[r].lanes[0].steps = {wide, signal(), copy(input(0), {link(q)}), wait(q, 1, 1, 2, 1)};
    programs[r].lanes[1].steps = {after(signal(), 0, 2), combine({link(q), input(0)}, {output(0)}, true), wait(q, 0, 0),
                                  copy(scratch(1, q), {output(3), scratch(2, q)}), signal()};
  }
  return {made, programs};
}

/// What check_form says of the good plan after `spoil`.
std::string spoilt(const std::function<void(PlanHeader&, std::vector<Program>&)>& spoil) {
  auto [made, programs] = good();
  spoil(made, programs);
  return form_problem(Plan(made, programs));
}

std::string bad_header(const std::function<void(PlanHeader&)>& spoil) {
  return spoilt([&](PlanHeader& made, std::vector<Program>&) { spoil(made); });
}

/// Spoils lane 1 of rank 1 at one step.
std::string bad_step(std::size_t step, const std::function<void(Step&)>& spoil) {
  return spoilt([&](PlanHeader&, std::vector<Program>& programs) { spoil(programs[1].lanes[1].steps[step]); });
}

}  // namespace

TEST_CASE("a plan of good form passes, and so do all samples") {
  CHECK(spoilt([](PlanHeader&, std::vector<Program>&) {}) == "");
  for (const Plan& plan : {ring(2), ring(5, 3, 1, 1), read_peers(3), two_shot_puts(4), one_shot_without_credits(3)})
    CHECK(form_problem(plan) == "");
}

TEST_CASE("headers out of bounds are refused by name") {
  CHECK(has(bad_header([](PlanHeader& h) { h.ranks = 0; }), "header: ranks is 0"));
  CHECK(bad_header([](PlanHeader& h) { h.wire = DataType::bf16; }) == "");
  CHECK(has(bad_header([](PlanHeader& h) { h.wire = DataType::f32; }), "header: wire f32, expected f16 or bf16"));
  CHECK(has(bad_header([](PlanHeader& h) { h.wire = DataType::f16, h.protocol = Protocol::inlined; }), "header: wire f16 with protocol inlined"));
  CHECK(has(bad_header([](PlanHeader& h) { h.wire = DataType::f16, h.collective = Collective::reduce; }), "header: wire f16 in a plan for reduce"));
  CHECK(has(bad_header([](PlanHeader& h) { h.ranks = 1000001; }), "ranks is 1000001, expected 1 to 1000000"));
  CHECK(has(bad_header([](PlanHeader& h) { h.root = 2; }), "root is 2, expected 0 to 1"));
  CHECK(has(bad_header([](PlanHeader& h) { h.chunks_per_block = 0; }), "chunks_per_block is 0"));
  CHECK(has(bad_header([](PlanHeader& h) { h.chunks_per_block = huge; }), "chunks_per_block"));
  CHECK(has(bad_header([](PlanHeader& h) { h.scratch_chunks = huge; }), "scratch_chunks"));
  CHECK(has(bad_header([](PlanHeader& h) { h.depth = 0; }), "depth is 0"));
  CHECK(has(bad_header([](PlanHeader& h) { h.depth = huge; }), "depth"));
  CHECK(has(bad_header([](PlanHeader& h) { h.alignment_bytes = 0; }), "alignment_bytes is 0"));
  CHECK(has(bad_header([](PlanHeader& h) { h.alignment_bytes = 48; }), "power of two"));
  CHECK(has(bad_header([](PlanHeader& h) { h.collective = static_cast<Collective>(99); }), "collective is 99"));
  CHECK(has(bad_header([](PlanHeader& h) { h.protocol = static_cast<Protocol>(9); }), "protocol is 9"));
  CHECK(has(bad_header([](PlanHeader& h) { h.in_place = h.out_of_place = false; }), "neither"));
  CHECK(has(bad_header([](PlanHeader& h) { h.min_bytes = 9, h.max_bytes = 8; }), "min_bytes"));
  CHECK(has(bad_header([](PlanHeader& h) { h.ranks = 3; }), "one program for each of its 3 ranks"));
}

TEST_CASE("block counts that overflow are refused") {
  CHECK(has(bad_header([](PlanHeader& h) {
              h.ranks = 1000000;
              h.collective = Collective::all_to_all;
              h.chunks_per_block = 1 << 20;
            }),
            "a buffer of 1048576000000 chunks"));
}

TEST_CASE("an order must be a permutation of the ranks") {
  CHECK(bad_header([](PlanHeader& h) { h.order = {1, 0}; }) == "");
  CHECK(has(bad_header([](PlanHeader& h) { h.order = {0}; }), "order names 1 ranks of 2"));
  CHECK(has(bad_header([](PlanHeader& h) { h.order = {1, 1}; }), "no permutation of the ranks, see 1"));
  CHECK(bad_header([](PlanHeader& h) { h.order = {1, 0, 0, 1}; }) == "");
  CHECK(has(bad_header([](PlanHeader& h) { h.order = {1, 0, 0}; }), "order names 3 ranks of 2"));
  CHECK(has(bad_header([](PlanHeader& h) { h.order = {1, 0, 0, 0}; }), "no permutation of the ranks, see 0"));
  CHECK(has(bad_header([](PlanHeader& h) { h.order = {0, huge}; }), "no permutation"));
}

TEST_CASE("groups lie in groups, and all of them together are the ranks") {
  const auto with = [](std::vector<std::uint32_t> groups) { return bad_header([&](PlanHeader& h) { h.groups = std::move(groups); }); };
  CHECK(has(with({0}), "a group of 0 ranks"));
  CHECK(has(with({1}), "a group of 1 ranks"));
  CHECK(has(with({2}), "groups of 2 ranks have no others beside them among 2"));
  CHECK(has(with({huge}), "have no others beside them among 2"));
  const auto of_twelve = [](std::vector<std::uint32_t> groups) {
    return form_problem([&] {
      PlanHeader h = header(12, 1);
      h.groups = std::move(groups);
      return Plan(h, std::vector<Program>(12));
    }());
  };
  CHECK(of_twelve({2, 6}) == "");
  CHECK(has(of_twelve({5}), "groups of 5 ranks don't divide 12"));
  CHECK(has(of_twelve({2, 3}), "groups of 2 ranks don't divide 3"));
  CHECK(has(of_twelve({3, 3}), "groups of 3 ranks have no others beside them among 3"));
}

TEST_CASE("send_recv has two ranks, and a barrier isn't inlined") {
  CHECK(has(form_problem([] {
              PlanHeader h = header(3, 1);
              h.collective = Collective::send_recv;
              return Plan(h, std::vector<Program>(3));
            }()),
            "send_recv has 2 ranks"));
  CHECK(has(bad_header([](PlanHeader& h) { h.collective = Collective::barrier, h.protocol = Protocol::inlined; }),
            "a barrier moves no data"));
}

TEST_CASE("operands must lie within their buffers; the message names rank, lane and step") {
  CHECK(has(bad_step(3, [](Step& s) { s.destinations[0].index = 4; }),
            "rank 1, lane 1, step 3: chunks 4 to 4 of output, which has 4"));
  CHECK(has(bad_step(3, [](Step& s) { s.sources[0].index = 3; }), "of scratch, which has 3"));
  CHECK(has(bad_step(1, [](Step& s) { s.sources[1].index = 0xffffffff; }), "of input, which has 4"));
  CHECK(has(bad_step(3, [](Step& s) { s.sources[0].count = s.destinations[0].count = s.destinations[1].count = huge; }),
            "of scratch"));
  CHECK(has(bad_step(3, [](Step& s) { s.sources[0].rank = 2; }), "scratch of rank 2, there are 2"));
  CHECK(has(bad_step(3, [](Step& s) { s.destinations[0].rank = 0; }), "which protocol direct alone may touch"));
  CHECK(has(bad_step(3, [](Step& s) { s.sources[0].buffer = static_cast<Buffer>(7); }), "no known buffer"));
}

TEST_CASE("buffers that a collective doesn't give a rank can't be touched") {
  CHECK(has(bad_header([](PlanHeader& h) { h.collective = Collective::broadcast; }), "rank 1 has no input"));
  CHECK(has(bad_header([](PlanHeader& h) { h.collective = Collective::reduce, h.root = 1; }), "rank 0 has no output"));
  PlanHeader h = header(2, 1);
  h.collective = Collective::broadcast;
  h.protocol = Protocol::direct;
  Program zero, one;
  one.lanes = {{{copy(input(0, 0), {output(0)})}}};
  CHECK(form_problem(Plan(h, {zero, one})) == "");
  one.lanes = {{{copy(input(0, 1), {output(0)})}}};
  CHECK(has(form_problem(Plan(h, {zero, one})), "rank 1, lane 0, step 0: rank 1 has no input"));
}

TEST_CASE("links join two different ranks, one lane at each end") {
  CHECK(has(bad_step(1, [](Step& s) { s.sources[0].rank = 1; }), "link(1,0): its rank is no other rank"));
  CHECK(has(bad_step(1, [](Step& s) { s.sources[0].rank = 2; }), "its rank is no other rank"));
  CHECK(has(bad_step(1, [](Step& s) { s.sources[0].rank = self; }), "its rank is no other rank"));
  CHECK(has(bad_step(1, [](Step& s) { s.sources.push_back(s.sources[0]); }), "a link occurs twice"));
  CHECK(has(bad_step(1, [](Step& s) { s.destinations.push_back(link(0)); }), "by lane 0 too"));
  CHECK(has(bad_step(1,
                     [](Step& s) {
                       for (auto* o : {&s.sources, &s.destinations})
                         for (Operand& operand : *o) operand = {Buffer::link, 0, operand.index + 1, huge};
                       s.destinations[0].index = 9;
                       s.sources[1].index = 8;
                     }),
            "more than any buffer has"));
}

TEST_CASE("steps have as many operands as their kind, of equal length") {
  CHECK(has(bad_step(3, [](Step& s) { s.sources.push_back(s.sources[0]); }), "a copy has one source, not 2"));
  CHECK(has(bad_step(3, [](Step& s) { s.sources.clear(); }), "a copy has one source, not 0"));
  CHECK(has(bad_step(3, [](Step& s) { s.destinations.clear(); }), "no destination"));
  CHECK(has(bad_step(1, [](Step& s) { s.sources.pop_back(); }), "a reduce has two or more sources, not 1"));
  CHECK(has(bad_step(3, [](Step& s) { s.destinations[1].count = 2; }), "operands of 1 and 2 chunks"));
  CHECK(has(bad_step(3, [](Step& s) { s.sources[0].count = s.destinations[0].count = s.destinations[1].count = 0; }),
            "an operand of 0 chunks"));
  CHECK(has(bad_step(3, [](Step& s) { s.kind = static_cast<StepKind>(8); }), "no known kind"));
  CHECK(has(bad_step(4, [](Step& s) { s.sources.push_back(input(0)); }), "a signal has no operands"));
  CHECK(has(bad_step(2, [](Step& s) { s.destinations.push_back(output(0)); }), "a wait has no operands"));
  CHECK(has(bad_step(4, [](Step& s) { s.finish = true; }), "a signal finishes no value"));
}

TEST_CASE("input is never written, and destinations overlap sources only exactly") {
  CHECK(has(bad_step(3, [](Step& s) { s.destinations[0] = input(0); }), "input is a destination"));
  const auto move = [](Operands from, Operands to) {
    return bad_step(3, [&](Step& s) { s = from.size() == 1 ? copy(from[0], to) : combine(from, to); });
  };
  const auto out = [](std::uint32_t first) { return Operand{Buffer::output, self, first, 2}; };
  const auto in = [](std::uint32_t first) { return Operand{Buffer::input, self, first, 2}; };
  CHECK(move({out(0)}, {out(0)}) == "");
  CHECK(has(move({out(0)}, {out(1)}), "overlaps a source in part"));
  CHECK(has(move({out(1)}, {out(0)}), "overlaps a source in part"));
  CHECK(has(move({out(0), out(1)}, {out(1)}), "overlaps a source in part"));
  CHECK(has(move({out(1), out(2)}, {out(1)}), "overlaps a source in part"));
  CHECK(has(move({in(2)}, {out(0), out(0)}), "two destinations overlap"));
  CHECK(has(move({in(2)}, {out(0), out(1)}), "two destinations overlap"));
  CHECK(move({in(0), in(1)}, {out(2)}) == "rank 1, lane 1, step 3: a destination overlaps a source in part");
  CHECK(move({in(0), in(0)}, {out(2)}) == "");
  CHECK(has(move({in(0)}, {out(1)}), "overlaps a source in part"));  // in place they are one memory
  CHECK(spoilt([&](PlanHeader& h, std::vector<Program>& p) {
          h.in_place = false;
          p[1].lanes[1].steps[3] = copy(in(0), {out(1)});
        }) == "");
}

TEST_CASE("waits name lanes and signals that exist, and not their own lane") {
  CHECK(has(bad_step(2, [](Step& s) { s.wait.rank = 2; }), "waits for rank 2 of 2"));
  CHECK(has(bad_step(2, [](Step& s) { s.wait.rank = self; }), "waits for rank"));
  CHECK(has(bad_step(2, [](Step& s) { s.wait.lane = 2; }), "waits for lane 2 of rank 0, which has no such lane"));
  CHECK(has(bad_step(2, [](Step& s) { s.wait.signal = 1; }), "waits for signal 1 of lane 0 of rank 0, which has 1"));
  CHECK(has(bad_step(2, [](Step& s) { s.wait = {1, 1, 0, 0}; }), "waits for its own lane"));
  CHECK(bad_step(2, [](Step& s) { s.wait = {1, 0, 0, 0}; }) == "");
  CHECK(has(bad_step(2, [](Step& s) { s.wait.lag = huge; }), "lag"));
  CHECK(has(bad_step(2, [](Step& s) { s.skew = huge; }), "skew"));
}

TEST_CASE("after names an existing step of another lane") {
  CHECK(has(bad_step(0, [](Step& s) { s.after[0].lane = 1; }), "that is its own lane"));
  CHECK(has(bad_step(0, [](Step& s) { s.after[0].lane = 2; }), "there is no such lane"));
  CHECK(has(bad_step(0, [](Step& s) { s.after[0].step = 4; }), "after lane 0, step 4: there is no such step"));
}

TEST_CASE("ranks that share out a copy mean the same one, and its word's owner is among them") {
  const auto shared_out = [](const std::function<void(PlanHeader&, std::vector<Program>&)>& spoil, Form form = Form::whole) {
    PlanHeader made = header(3, 2);
    made.collective = Collective::broadcast;
    made.protocol = Protocol::direct;
    made.neutral = false;
    std::vector<Program> programs(3);
    programs[0].lanes = {{{once(copy(input(1), {output(1, 1)}), 1, 4), once(copy(input(1), {output(1, 2)}), 2, 4)}}};
    for (std::uint32_t rank = 1; rank < 3; ++rank) programs[rank].lanes = {{{once(copy(input(1, 0), {output(1)}), rank, 4)}}};
    spoil(made, programs);
    const auto fine = check_form(Plan(made, programs), form);
    return fine ? std::string() : fine.error().detail;
  };
  const auto step = [&](const std::function<void(Step&)>& spoil) {
    return shared_out([&](PlanHeader&, std::vector<Program>& programs) { spoil(programs[0].lanes[0].steps[1]); });
  };
  CHECK(shared_out([](PlanHeader&, std::vector<Program>&) {}) == "");
  CHECK(step([](Step& s) { s.once->rank = 3; }) == "rank 0, lane 0, step 1: word 4 of rank 3: there are 3 ranks");
  CHECK(has(step([](Step& s) { s.once->index = 16; }), "word 16 of rank 2: a rank has 16"));
  CHECK(has(step([](Step& s) { s.once->index = 5; }), "word 5 of rank 2: that rank has no such step"));
  CHECK(has(step([](Step& s) { s.once->rank = 1; }), "word 4 of rank 1: a rank names it once"));
  CHECK(has(step([](Step& s) { s.sources[0].index = 0; }), "word 4 of rank 2: rank 0 has another copy by it"));
  CHECK(has(step([](Step& s) { s.destinations.push_back(output(0)); }), "a copy to one destination"));
  CHECK(has(step([](Step& s) { s.finish = true; }), "which finishes nothing"));
  CHECK(has(step([](Step& s) { s.kind = StepKind::signal; }), "what is done once is a copy"));
  CHECK(has(step([](Step& s) { s.destinations[0] = link(2); }), "a message is sent by its sender"));
  CHECK(has(shared_out([](PlanHeader& h, std::vector<Program>&) { h.neutral = true; }), "the plan is neutral"));
  CHECK(has(shared_out([](PlanHeader& h, std::vector<Program>&) { h.protocol = Protocol::staged; }), "protocol direct alone"));
  CHECK(has(shared_out([](PlanHeader&, std::vector<Program>& p) { p[2].lanes[0].steps.clear(); }), "word 4 of rank 2: that rank has no such step"));
  CHECK(shared_out([](PlanHeader&, std::vector<Program>& p) { p[2].lanes[0].steps.clear(); }, Form::runnable) == "");
}

TEST_CASE("a header that says not neutral holds for every step") {
  CHECK(
      has(bad_header([](PlanHeader& h) { h.neutral = false; }), "rank 0, lane 0, step 2: link(1,0): the header says"));
  Plan plan = one_shot_without_credits(2);
  plan.header.neutral = false;
  CHECK(form_problem(plan) == "");
}

TEST_CASE("inlined plans have no links, skew, lane order, puts or second writes") {
  const auto inlined = [](std::vector<Step> steps, std::vector<Step> second = {}) {
    PlanHeader h = header(2, 2);
    h.protocol = Protocol::inlined;
    h.scratch_chunks = 2;
    Program zero, one;
    zero.lanes = {{{signal()}}};
    one.lanes = {{std::move(steps)}, {std::move(second)}};
    return form_problem(Plan(h, {zero, one}));
  };
  CHECK(inlined({copy(input(0), {scratch(0)}), signal(), wait(0, 0, 0),
                 combine({input(0), scratch(0, 0)}, {output(0)}, true)}) == "");
  CHECK(has(inlined({copy(input(0), {link(0)})}), "a link in an inlined plan"));
  CHECK(has(inlined({copy(input(0), {output(0)}, 1)}), "skew in an inlined plan"));
  CHECK(has(inlined({copy(input(0), {scratch(0, 0)})}), "writes scratch of rank 0"));
  CHECK(has(inlined({copy(input(0), {scratch(1)}), copy(input(1), {scratch(1)})}), "step 1: writes scratch[1] again"));
  CHECK(has(inlined({signal()}, {wait(1, 0, 0)}), "can't order its lanes"));
  CHECK(has(inlined({signal()}, {after(copy(input(0), {output(0)}), 0, 0)}), "can't order its lanes"));
}
