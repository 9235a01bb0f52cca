// Plan files that were cut, mistyped or made up: rondo verify ends with 2 and one line that says where and what it would accept.
#include <fstream>
#include <sstream>

#include "support/catch.hpp"
#include "support/folders.hpp"
#include "tools/subprocess.hpp"

namespace {

using Words = std::vector<std::string>;

/// The first `from` of a plan file becomes `to`; the line must have all of `words`: the place, and what was expected there.
struct Mutilation {
  std::string from, to;
  Words words;
};

std::string read_source(const std::string& path) {
  std::ifstream file(RONDO_SOURCE_DIR + ("/tests/" + path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Every mutilation that wasn't refused as it should be, with what was said about it.
std::string slipped_through(const std::string& original, const std::string& name, const std::vector<Mutilation>& mutilations) {
  std::string all;
  for (Mutilation one : mutilations) {
    const std::size_t at = original.find(one.from);
    std::string text = original;
    if (at != std::string::npos) text.replace(at, one.from.size(), one.to);
    one.words.push_back(name);
    const std::string file = write_file(name, text);
    const std::string wrong = at == std::string::npos ? "it isn't there" : refusal(run({rondo_program(), "verify", file}), one.words);
    if (!wrong.empty()) all += one.from + " -> " + one.to + ": " + wrong + "\n";
  }
  return all;
}

/// Cuts the text at 60 places before its end; "" when each of the files gets a line of its own and the program ends with 2.
std::string cuts(const std::string& original, const std::string& name) {
  const std::string text = original.substr(0, original.find_last_not_of(" \n") + 1);
  Words command{rondo_program(), "verify"};
  constexpr std::size_t places = 60;
  for (std::size_t i = 0; i < places; ++i)
    command.push_back(write_file(std::to_string(i) + name, text.substr(0, (text.size() - 1) * (i + 1) / places)));
  const Finished finished = run(command);
  std::string wrong = finished.code == 2 ? "" : "ended with " + std::to_string(finished.code) + "; ";
  if (!finished.out.empty()) wrong += "said " + finished.out;
  std::istringstream lines(finished.err);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    if (line.find(name) == std::string::npos || line.find("line ") == std::string::npos) wrong += line + "\n";
  return count == places ? wrong : wrong + std::to_string(count) + " lines for " + std::to_string(places) + " files";
}

const std::string beyond_64_bits = "99999999999999999999999999";

}  // namespace

TEST_CASE("a mutilated MSCCL file is refused with its element, its attribute and what was expected") {
  const std::string ring = read_source("formats/data/ring2.xml");
  CHECK(slipped_through(ring, "ring.xml",
                        {
                            {"ngpus=\"2\"", "ngpus=\"two\"", {"algo", "ngpus=\"two\"", "a number from 1"}},
                            {"ngpus=\"2\"", "ngpus=\"-2\"", {"algo", "ngpus=\"-2\"", "a number from 1"}},
                            {"ngpus=\"2\"", "ngpus=\"" + beyond_64_bits + "\"", {"algo", "ngpus", "a number from 1"}},
                            {"ngpus=\"2\"", "ngpus=\"3\"", {"algo", "gpu 2 is missing", "ngpus is 3"}},
                            {"ngpus=\"2\"", "", {"algo", "ngpus is missing"}},
                            {"coll=\"allreduce\"", "coll=\"sum\"", {"algo", "coll=\"sum\"", "allreduce, allgather"}},
                            {"inplace=\"1\"", "inplace=\"yes\"", {"algo", "inplace=\"yes\"", "0 to 1"}},
                            {"nchunksperloop=\"2\"", "nchunksperloop=\"0\"", {"algo", "nchunksperloop=\"0\"", "from 1"}},
                            {"<gpu id=\"1\"", "<gpu id=\"0\"", {"gpu 0", "came before", "once"}},
                            {"i_chunks=\"2\"", "i_chunks=\"3\"", {"gpu 0", "i_chunks=\"3\"", "0 or 2"}},
                            {"</tb>", "</tb><tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\"/>", {"gpu 0, tb 0", "came before", "once"}},
                            {"send=\"1\"", "send=\"0\"", {"gpu 0, tb 0", "send=\"0\"", "another gpu or -1"}},
                            {"send=\"1\"", "send=\"-2\"", {"gpu 0, tb 0", "send=\"-2\"", "-1 to 1"}},
                            {"step s=\"1\"", "step s=\"7\"", {"tb 0, step 7", "s=\"7\"", "expected 1"}},
                            {"type=\"rrcs\"", "type=\"fly\"", {"step 1", "type=\"fly\"", "s r rcs rrs rrc rrcs cpy re nop"}},
                            {"srcbuf=\"i\"", "srcbuf=\"x\"", {"step 0", "srcbuf=\"x\"", "i, o or s"}},
                            {"srcoff=\"1\"", "srcoff=\"-1\"", {"step 1", "srcoff=\"-1\"", "a number from 0"}},
                            {"srcoff=\"1\"", "srcoff=\"2\"", {"step 1", "srcoff=\"2\"", "within the 2 chunks"}},
                            {"cnt=\"1\"", "cnt=\"1.5\"", {"step 0", "cnt=\"1.5\"", "a number from 1"}},
                            {"depid=\"-1\" deps=\"-1\"", "depid=\"9\" deps=\"0\"", {"gpu 0, tb 0", "depid=\"9\"", "expected a tb of this gpu"}},
                            {"<algo ", "<algo ngpus=\"2\" ", {"algo", "ngpus", "twice"}},
                            {"<step s=\"0\"", "<step s=0", {"not well-formed XML at line 5, column"}},
                            {"</gpu>", "", {"not well-formed XML at line 17, column"}},
                        }) == "");
  CHECK(cuts(ring, "ring.xml") == "");
}

TEST_CASE("a mutilated MSCCL++ file is refused with its path and what was expected") {
  const std::string packets = read_source("formats/data/two_shot_packets.json");
  CHECK(slipped_through(packets, "packets.json",
                        {
                            {"\"name\": \"two_shot_packets\", ", "", {"\"name\" is missing"}},
                            {"\"collective\": \"allreduce\"", "\"collective\": 7", {"collective", "expected a string, found 7"}},
                            {"\"collective\": \"allreduce\"", "\"collective\": \"sum\"", {"collective", "found \"sum\"", "allreduce, allgather"}},
                            {"\"inplace\": false", "\"inplace\": 0", {"inplace", "true or false"}},
                            {"\"min_message_size\": 64", "\"min_message_size\": -64", {"min_message_size", "a number from 0"}},
                            {"\"min_message_size\": 64", "\"min_message_size\": " + beyond_64_bits, {"min_message_size", "a number from 0"}},
                            {"\"min_message_size\": 64", "\"min_message_size\": 1e999", {"1e999", "line 1, column "}},
                            {"\"id\": 0", "\"id\": 0, \"id\": 0", {"\"id\" comes twice in one object"}},
                            {"\"input_chunks\": 4", "\"input_chunks\": \"4\"", {"gpus[0].input_chunks", "a number from 0"}},
                            {"\"input_chunks\": 4", "\"input_chunks\": 4.5", {"gpus[0].input_chunks", "a number from 0"}},
                            {"\"input_chunks\": 4", "\"input_chunks\": 3", {"gpus[0].output_chunks", "0 or 3"}},
                            {"\"scratch_chunks\": 4", "\"scratch_chunks\": 4000000000", {"gpus[0].scratch_chunks", "a number from 0 to 65536"}},
                            {"\"id\": 1, \"input", "\"id\": 0, \"input", {"gpus[1].id", "its position, 1"}},
                            {"\"id\": 1, \"ops\"", "\"id\": 0, \"ops\"", {"gpus[0].threadblocks[1].id", "its position, 1"}},
                            {"\"connected_to\": [1]", "\"connected_to\": [0]", {"connected_to[0]", "another gpu"}},
                            {"\"connected_to\": [1]", "\"connected_to\": [7]", {"connected_to[0]", "0 to 1"}},
                            {"\"connected_to\": [1]", "\"connected_to\": 1", {"connected_to", "an array"}},
                            {"\"ops\": [", "\"ops\": 3, \"was\": [", {"threadblocks[0].ops", "an array"}},
                            {"\"name\": \"ppkt\"", "\"name\": \"fly\"", {"fly", "threadblocks[0].ops[0]"}},
                            {"\"buffer_id\": 0", "\"buffer_id\": 5", {"dst_buff[0].buffer_id", "an index below 1"}},
                            {"\"type\": \"i\"", "\"type\": \"x\"", {"src_buff[0].type", "i, o or s"}},
                            {"\"index\": 2", "\"index\": 9", {"src_buff[0]", "4 chunks"}},
                            {"\"size\": 2", "\"size\": -2", {"src_buff[0].size", "a number from"}},
                        }) == "");
  CHECK(cuts(packets, "packets.json") == "");
}

TEST_CASE("a mutilated Rondo plan is refused with its path and what was expected") {
  const std::string plan = read_source("golden/two_shot-all_reduce-3.json");
  CHECK(slipped_through(plan, "plan.json",
                        {
                            {"\"rondo_plan\": 1", "\"rondo_plan\": 2", {"plan.rondo_plan", "version 1"}},
                            {"\"collective\": \"all_reduce\"", "\"collective\": \"sum\"", {"plan.collective", "all_reduce"}},
                            {"\"collective\": \"all_reduce\"", "\"collective\": []", {"plan.collective", "a string"}},
                            {"\"protocol\": \"staged\"", "\"protocol\": \"fast\"", {"plan.protocol", "staged", "direct"}},
                            {"\"ranks\": 3", "\"ranks\": \"3\"", {"plan.ranks", "a whole number from 0"}},
                            {"\"ranks\": 3", "\"ranks\": -3", {"plan.ranks", "a whole number from 0"}},
                            {"\"ranks\": 3", "\"ranks\": 3.5", {"plan.ranks", "a whole number from 0"}},
                            {"\"ranks\": 3", "\"ranks\": " + beyond_64_bits, {"plan.ranks", "a whole number from 0"}},
                            {"\"ranks\": 3,", "", {"\"ranks\" is missing"}},
                            {"\"ranks\": 3", "\"ranks\": 3, \"ranks\": 3", {"\"ranks\" comes twice"}},
                            {"\"in_place\": true", "\"in_place\": 1", {"plan.in_place", "true or false"}},
                            {"\"depth\"", "\"deepness\"", {"deepness", "accepted are", "depth"}},
                            {"{\"rank\": 1, \"lanes\"", "{\"rank\": 0, \"lanes\"", {"plan.programs[1].rank", "expected 1"}},
                            {"\"copy\"", "\"move\"", {"plan.programs[0].lanes[0][", "move", "accepted are copy"}},
                            {"input[", "input(", {"plan.programs[0].lanes[0][", "an operand such as"}},
                            {"input[", "input[-", {"plan.programs[0].lanes[0][", "an operand such as"}},
                            {"input[", "input[" + beyond_64_bits, {"plan.programs[0].lanes[0][", "an operand such as"}},
                            {"\"signal\": true", "\"signal\": false", {"plan.programs[0].lanes[0][", "expected true"}},
                            {"\"programs\": [", "\"programs\": {", {"line "}},
                        }) == "");
  CHECK(cuts(plan, "plan.json") == "");
}
