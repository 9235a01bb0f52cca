#include "base/config.hpp"

#include "support/catch.hpp"

using namespace rondo;

namespace {

bool mentions(const Error& error, const std::string& part) {
  return error.detail.find(part) != std::string::npos;
}

const Environment job{{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_PORT", "29500"}};

Environment with(Environment environment, const std::string& name, const std::string& value) {
  environment[name] = value;
  return environment;
}

}  // namespace

TEST_CASE("an empty environment gives the documented defaults") {
  const auto config = parse_config({});
  REQUIRE(config);
  CHECK(config->log == LogLevel::warn);
  CHECK(!config->timeout);
  CHECK(config->algorithm.empty());
  CHECK(config->kernel_copies);
  CHECK(config->staging_bytes == 8u << 20);
  CHECK(config->warnings.empty());
}

TEST_CASE("every RONDO variable is read") {
  const auto config = parse_config({{"RONDO_LOG", "debug"},
                                    {"RONDO_TIMEOUT", "2.5"},
                                    {"RONDO_ALGORITHM", "ring"},
                                    {"RONDO_STRICT", "1"},
                                    {"RONDO_INTEGRITY", "1"},
                                    {"RONDO_KERNEL_COPIES", "0"},
                                    {"RONDO_CACHE", "/somewhere"},
                                    {"RONDO_STAGING_BYTES", "512K"}});
  REQUIRE(config);
  CHECK(config->cache_folder == "/somewhere");
  CHECK(config->strict);
  CHECK(config->integrity);
  CHECK_FALSE(config->kernel_copies);
  CHECK(config->log == LogLevel::debug);
  CHECK(config->timeout == std::chrono::milliseconds(2500));
  CHECK(config->algorithm == "ring");
  CHECK(config->staging_bytes == 512u << 10);
  CHECK(config->warnings.empty());
}

TEST_CASE("a bad value names the variable, the value and what would be accepted") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> bad{
      {"RONDO_LOG", {"loud", "WARN", "3"}},
      {"RONDO_TIMEOUT", {"0", "-1", "2s", "nan", "inf", "1e300", "."}},
      {"RONDO_STRICT", {"yes", "2", "true"}},
      {"RONDO_INTEGRITY", {"on", "2"}},
      {"RONDO_KERNEL_COPIES", {"no", "2", "off"}},
      {"RONDO_CACHE", {"relative", "./here", "~/there"}},
      {"RONDO_NET_PORTS", {"20000", "0-1", "5-4", "1-65536", "a-b", "1-2-3", "-5"}},
      {"RONDO_NET_INTERFACES", {",", "eth0,,ib0", "eth0, ib0", "a/b"}},
      {"RONDO_REQUIRE_JOB_KEY", {"yes", "2"}},
      {"RONDO_STAGING_BYTES", {"8X", "M", "-1", "1K", "99999999999999999999", "100000G", "8 M"}}};
  for (const auto& [name, values] : bad)
    for (const auto& value : values) {
      INFO(name << "=" << value);
      const auto config = parse_config({{name, value}});
      REQUIRE(!config);
      CHECK(config.error().code == Errc::invalid_argument);
      CHECK(mentions(config.error(), name + "='" + value + "'"));
      CHECK(mentions(config.error(), "accepted: "));
    }
}

TEST_CASE("an unknown RONDO variable is warned of once, with the closest known one") {
  const auto config = parse_config({{"RONDO_TIMOUT", "3"}, {"RONDOX", "1"}, {"HOME", "/"}});
  REQUIRE(config);
  REQUIRE(config->warnings.size() == 1);
  CHECK(config->warnings[0].find("RONDO_TIMOUT") != std::string::npos);
  CHECK(config->warnings[0].find("RONDO_TIMEOUT?") != std::string::npos);
}

TEST_CASE("a job's environment is read as torchrun sets it") {
  auto environment = job;
  environment["LOCAL_RANK"] = "1";
  environment["LOCAL_WORLD_SIZE"] = "2";
  environment["MASTER_ADDR"] = "node7";
  environment["TORCHELASTIC_RUN_ID"] = "abc";
  environment["TORCHELASTIC_RESTART_COUNT"] = "3";
  const auto read = parse_job_environment(environment);
  REQUIRE(read);
  CHECK(read->rank == 1);
  CHECK(read->size == 4);
  CHECK(read->local_rank == 1);
  CHECK(read->local_size == 2);
  CHECK(read->master_address == "node7");
  CHECK(read->master_port == 29500);
  CHECK(read->run_id == "abc");
  CHECK(read->restart_count == 3);
}

TEST_CASE("a job without local variables is on one machine") {
  const auto read = parse_job_environment(job);
  REQUIRE(read);
  CHECK(read->local_rank == 1);
  CHECK(read->local_size == 4);
  CHECK(read->run_id.empty());
}

TEST_CASE("a variable that a job needs is named when it is missing") {
  for (const std::string name : {"RANK", "WORLD_SIZE", "MASTER_PORT"}) {
    auto environment = job;
    environment.erase(name);
    const auto read = parse_job_environment(environment);
    REQUIRE(!read);
    CHECK(mentions(read.error(), name + " is not set"));
  }
}

TEST_CASE("contradictions in a job's environment name the variable that doesn't fit") {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"RANK", "4"},        {"RANK", "-1"},           {"RANK", "one"},
      {"WORLD_SIZE", "0"},  {"LOCAL_RANK", "4"},      {"LOCAL_WORLD_SIZE", "5"},
      {"MASTER_PORT", "0"}, {"MASTER_PORT", "65536"}, {"TORCHELASTIC_RESTART_COUNT", "x"}};
  for (const auto& [name, value] : bad) {
    INFO(name << "=" << value);
    const auto read = parse_job_environment(with(job, name, value));
    REQUIRE(!read);
    CHECK(mentions(read.error(), name + "='" + value + "'; accepted: "));
  }
}

TEST_CASE("every documented variable has a meaning, accepted values and a default") {
  for (const Variable& variable : known_variables()) {
    CHECK(!variable.meaning.empty());
    CHECK(!variable.accepted.empty());
    CHECK(!variable.standard.empty());
  }
}
