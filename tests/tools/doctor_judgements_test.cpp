// What the doctor makes of made-up machines: each differs from a healthy one in one fact, and in that finding alone.
#include <algorithm>
#include <functional>

#include "rondo/doctor.hpp"
#include "support/catch.hpp"

namespace {

using namespace rondo;
using Change = std::function<void(MachineFacts&)>;
using Words = std::vector<std::string>;

MachineFacts healthy() {
  MachineFacts facts;
  facts.version = 100;
  facts.compiler = "GCC 12.2.0";
  facts.ucx_version = "1.13.1";
  facts.kernel_target = "AVX2";
  facts.figures_source = "measured by rondo calibrate, 2026-11-23";
  facts.figures_measured = true;
  facts.topology = read_synthetic("package:1 l3:1 core:4 pu:1").value();
  facts.topology.ranks = {RankPlace{0, 1, {0, 1, 2, 3}, 0}};
  facts.descriptors = {1024, 4096};
  facts.open_descriptors = 5;
  facts.locked_bytes = {std::uint64_t{8} << 20, std::uint64_t{8} << 20};
  facts.memory_bytes = std::uint64_t{4} << 30;
  facts.memory_bound = "are available";
  facts.launchers = {"mpirun.openmpi", "mpirun.mpich"};
  facts.trials = {{"threads", "shm", "", 140, 9e9}, {"processes", "shm", "", 150, 8e9, true}, {"processes", "ucx", "", 12000, 1e9}};
  return facts;
}

std::vector<Finding> judged(const Change& change) {
  MachineFacts facts = healthy();
  change(facts);
  return judge_machine(facts);
}

Change set(const std::string& name, const std::string& value) {
  return [=](MachineFacts& facts) { facts.environment[name] = value; };
}

struct Expected {
  Change change;
  std::string check;
  Verdict verdict;
  Words meaning, remedy;  ///< words that must be there
};

std::string lacks(const std::string& text, const Words& words) {
  for (const std::string& word : words)
    if (text.find(word) == std::string::npos) return "'" + word + "' is missing in: " + text + "\n";
  return "";
}

/// "" when the change gives the one finding that is expected, and nothing else but good ones.
std::string wrong(const Expected& expected) {
  std::string faults = expected.check + ": no such finding\n";
  for (const Finding& finding : judged(expected.change)) {
    if (finding.check == expected.check) {
      faults = finding.verdict == expected.verdict ? "" : finding.check + " is " + std::string(to_string(finding.verdict)) + "\n";
      faults += lacks(finding.meaning, expected.meaning) + lacks(finding.remedy, expected.remedy);
      if (expected.verdict == Verdict::ok && !finding.remedy.empty()) faults += "a remedy for what is well: " + finding.remedy + "\n";
    } else if (finding.verdict != Verdict::ok) {
      return "beside " + expected.check + ": " + finding.check + ": " + finding.meaning + "\n";
    }
  }
  return faults;
}

std::string wrong(const std::vector<Expected>& all) {
  std::string faults;
  for (const Expected& one : all) faults += wrong(one);
  return faults;
}

constexpr auto ok = Verdict::ok, note = Verdict::note, problem = Verdict::problem;

}  // namespace

TEST_CASE("on a healthy machine every finding is good and there is nothing to type") {
  const auto findings = judged([](MachineFacts&) {});
  CHECK(findings.size() >= 15);
  for (const Finding& finding : findings) {
    INFO(finding.check << ": " << finding.meaning);
    CHECK(finding.verdict == Verdict::ok);
    CHECK(finding.remedy == "");
    CHECK(finding.meaning != "");
  }
}

TEST_CASE("the doctor says how the library was built and what that costs") {
  CHECK(wrong({
            {[](MachineFacts&) {}, "library", ok, {"0.1.0", "GCC 12.2.0", "with UCX 1.13.1", "without CUDA"}, {}},
            {[](MachineFacts& facts) { facts.sanitized = true; }, "library", note, {"sanitizer", "slower"}, {"cmake --preset release"}},
            {[](MachineFacts& facts) { facts.optimised = false; }, "library", note, {"without optimisation"}, {"cmake --preset release"}},
            {[](MachineFacts& facts) { facts.ucx_version = ""; }, "library", ok, {"without UCX"}, {}},
            {[](MachineFacts& facts) { facts.ucx_version = "", facts.ucx_failure = "no libucp", facts.rdma = true, facts.locked_bytes = {}; },
             "library", note, {"without UCX", "InfiniBand", "no libucp"}, {"libucx0"}},
            {[](MachineFacts& facts) { facts.kernel_target = "SSE2"; }, "kernels", note, {"SSE2", "AVX2"}, {"lscpu"}},
            {[](MachineFacts& facts) { facts.kernel_target = "NEON"; }, "kernels", ok, {"NEON"}, {}},
            {[](MachineFacts& facts) {
               facts.figures_measured = false;
               facts.figures_source = "assumed, processors of AMD";
             }, "calibration", note, {"assumed, processors of AMD"}, {"rondo calibrate"}},
            {[](MachineFacts& facts) { facts.calibration_failure = "invalid_argument: FILE: line 1"; }, "calibration", problem, {"FILE"}, {"rondo calibrate"}},
            {[](MachineFacts&) {}, "calibration", ok, {"measured by rondo calibrate"}, {}},
        }) == "");
}

TEST_CASE("the doctor says when there is less processor time than processors") {
  const auto quota = [](double value) { return [=](MachineFacts& facts) { facts.topology.cpu_quota = value; }; };
  const auto allowed = [](std::vector<std::uint32_t> cpus) { return [=](MachineFacts& facts) { facts.topology.ranks[0].cpus = cpus; }; };
  CHECK(wrong({
            {quota(0.5), "processors", note, {"4 processors", "0.5", "more than 1 rank "}, {"docker update --cpus 4"}},
            {quota(2.5), "processors", note, {"2.5", "more than 2 ranks"}, {"CPUQuota=400%"}},
            {quota(4), "processors", ok, {"4 processors"}, {}},
            {allowed({1, 2}), "processors", ok, {"2 of 4 processors", "affinity"}, {}},
            {allowed({1}), "processors", note, {"1 of 4 processors", "turns"}, {"taskset -c 0-3"}},
            {[](MachineFacts&) {}, "memory system", ok, {"1 package", "1 NUMA node", "L3", "4 processors"}, {}},
            {[](MachineFacts& facts) { facts.virtual_machine = true; }, "surroundings", ok, {"virtual machine"}, {}},
            {[](MachineFacts& facts) { facts.container = "/.dockerenv"; }, "surroundings", ok, {"/.dockerenv", "network name space"}, {}},
        }) == "");
  const auto blind = [](MachineFacts& facts) {
    facts.topology = {};
    facts.topology_failure = "hwloc can't see this machine";
  };
  CHECK(wrong({blind, "processors", problem, {"hwloc can't see"}, {"rondo topo"}}) == "");
}

TEST_CASE("the doctor says whether GPUs which are there are used, what keeps them apart, and that none is there though their driver is") {
  const std::string driver = "NVRM version: 535.104.05";
  const auto gpus = [=](std::uint32_t devices) {
    return [=](MachineFacts& facts) {
      facts.nvidia_driver = driver;
      facts.nvidia_devices = devices;
      facts.container = "/.dockerenv";
    };
  };
  const auto with_cuda = [=](const std::string& apart) {
    return [=](MachineFacts& facts) {
      gpus(2)(facts);
      facts.cuda_version = "13.0";
      facts.topology.links.push_back({0, 0, "nvlink", {}, {}});
      if (!apart.empty()) facts.gpus_apart.push_back(apart);
    };
  };
  CHECK(wrong({
            {[](MachineFacts&) {}, "GPUs", ok, {"none is visible"}, {}},
            {gpus(8), "GPUs", note, {"8 NVIDIA GPUs", driver, "built without CUDA", "host memory"}, {"nvcc"}},
            {with_cuda(""), "GPUs", ok, {"2 NVIDIA GPUs", driver, "with 1 NVLink connection"}, {}},
            {with_cuda("0000:06:00.0 and 0000:0a:00.0: no"), "GPUs", note, {"1 pair of them can't reach", "such as 0000:06:00.0 and"}, {}},
            {gpus(0), "GPUs", note, {driver, "no GPU is visible"}, {"docker run --gpus all"}},
        }) == "");
}

TEST_CASE("the doctor counts the ranks that a limit of descriptors allows and names one that serves a rank for each processor") {
  const auto limit = [](std::uint64_t soft, std::uint64_t hard) { return [=](MachineFacts& facts) { facts.descriptors = {soft, hard}; }; };
  CHECK(wrong({
            {[](MachineFacts&) {}, "descriptors", ok, {"1024", "hard limit 4096", "5 open", "254 ranks as processes", "18 as threads"}, {}},
            {limit(32, 64), "descriptors", note, {"32", "6 ranks as processes", "2 as threads"}, {"ulimit -n 64"}},
            {limit(20, 1u << 20), "descriptors", problem, {"3 ranks as processes", "1 as threads"}, {"ulimit -n 64"}},
            {limit(8, 8), "descriptors", problem, {"0 ranks"}, {"sudo prlimit", "--nofile=64:64", "docker run --ulimit nofile=64:64"}},
            {limit(32, 62), "descriptors", note, {"32"}, {"ulimit -n 62"}},
            {[](MachineFacts& facts) { facts.descriptors = {}; }, "descriptors", ok, {"unlimited"}, {}},
        }) == "");
  const auto large = [](MachineFacts& facts) {
    facts.topology = read_synthetic("core:64 pu:1").value();
    facts.descriptors = {1024, 1u << 20};
  };
  CHECK(wrong({large, "descriptors", note, {"254 ranks as processes", "18 as threads"}, {"ulimit -n 16384"}}) == "");
}

TEST_CASE("the doctor says when processes, files, addresses, locked memory or memory are short") {
  const auto tasks = [](std::uint64_t left) { return [=](MachineFacts& facts) { facts.tasks_left = left; }; };
  const auto files = [](std::uint64_t bytes) { return [=](MachineFacts& facts) { facts.file_bytes.soft = bytes; }; };
  const auto locked = [](std::optional<std::uint64_t> bytes) {
    return [=](MachineFacts& facts) {
      facts.rdma = true;
      facts.locked_bytes.soft = bytes;
    };
  };
  const auto memory = [](std::uint64_t bytes) {
    return [=](MachineFacts& facts) {
      facts.memory_bytes = bytes;
      facts.memory_bound = "is the control group's limit";
    };
  };
  CHECK(wrong({
            {tasks(100), "tasks", ok, {"100 more"}, {}},
            {tasks(11), "tasks", note, {"11 more", "up to 3"}, {"ulimit -u", "--pids-limit"}},
            {tasks(5), "tasks", problem, {"5 more"}, {"ulimit -u"}},
            {[](MachineFacts& facts) { facts.sealing_failure = "cannot seal a memfd: Operation not permitted"; }, "shared memory", problem,
             {"cannot seal a memfd"}, {"seccomp"}},
            {[](MachineFacts&) {}, "shared memory", ok, {"/dev/shm isn't used"}, {}},
            {files(1u << 30), "size limits", ok, {"files 1 GiB"}, {}},
            {files(1u << 20), "size limits", problem, {"files 1 MiB"}, {"ulimit -f unlimited"}},
            {[](MachineFacts& facts) { facts.address_bytes.soft = 1u << 30; }, "size limits", note, {"address space 1 GiB"}, {"ulimit -v unlimited"}},
            {locked(8u << 20), "locked memory", note, {"8 MiB", "RDMA"}, {"memlock"}},
            {locked(std::nullopt), "locked memory", ok, {"unlimited"}, {}},
            {memory(1u << 30), "memory", ok, {"8 MiB", "1 GiB is the control group's limit"}, {}},
            {memory(16u << 20), "memory", note, {"16 MiB is the control group's limit", "4 processes"}, {"export RONDO_STAGING_BYTES"}},
        }) == "");
}

TEST_CASE("a segment that a limit of file sizes lets two ranks have but not one rank a processor is worth a note") {
  const auto many = [](MachineFacts& facts) {
    facts.topology = read_synthetic("core:64 pu:1").value();
    facts.descriptors = {};
    facts.file_bytes.soft = (256u << 20) + (11u << 19);  // the room for split communicators, and what 2 ranks need besides
  };
  CHECK(wrong({many, "size limits", note, {"among 64"}, {"ulimit -f unlimited"}}) == "");
}

TEST_CASE("the doctor shows each RONDO_ variable: accepted, refused, or misspelt and which may have been meant") {
  CHECK(wrong({
            {[](MachineFacts&) {}, "settings", ok, {"no RONDO_ variable"}, {}},
            {set("RONDO_LOG", "debug"), "RONDO_LOG", ok, {"'debug'", "stderr"}, {}},
            {set("RONDO_TIMEOUT", ""), "RONDO_TIMEOUT", ok, {"empty"}, {}},
            {set("RONDO_STAGING_BYTES", "16M"), "memory", ok, {"at most 16 MiB"}, {}},
            {set("RONDO_ALGORITHM", "ring"), "RONDO_ALGORITHM", note, {"'ring'", "faster"}, {"unset RONDO_ALGORITHM"}},
            {set("RONDO_STAGNG_BYTES", "16M"), "RONDO_STAGNG_BYTES", note, {"'16M'", "did you mean RONDO_STAGING_BYTES?"},
             {"export RONDO_STAGING_BYTES=\"$RONDO_STAGNG_BYTES\"", "unset RONDO_STAGNG_BYTES"}},
        }) == "");
}

TEST_CASE("a refused variable is the one problem, and the trials that it keeps from running aren't others") {
  for (const auto& [name, value, accepted] : std::vector<std::array<std::string, 3>>{
           {"RONDO_STAGING_BYTES", "garbage", "64K"}, {"RONDO_ALGORITHM", "nonsense", "two_shot"}, {"RONDO_TIMEOUT", "-3", "seconds"}}) {
    const auto findings = judged([&](MachineFacts& facts) {
      facts.environment[name] = value;
      for (Trial& trial : facts.trials) trial.failure = "invalid_argument";
    });
    const auto bad = std::count_if(findings.begin(), findings.end(), [](const Finding& finding) { return finding.verdict == problem; });
    CHECK(bad == 1);
    for (const Finding& finding : findings) {
      INFO(finding.check << ": " << finding.meaning);
      if (finding.verdict == problem) CHECK(lacks(finding.meaning, {"'" + value + "'", accepted}) + lacks(finding.remedy, {"unset " + name}) == "");
      if (finding.verdict == note) CHECK(lacks(finding.check + ": " + finding.meaning, {"trials: ", name}) == "");
    }
  }
}

TEST_CASE("a bad variable doesn't hide the next one") {
  const auto findings = judged([](MachineFacts& facts) { facts.environment = {{"RONDO_LOG", "loud"}, {"RONDO_TIMEOUT", "-3"}, {"RONDO_TIMOUT", "3"}}; });
  Words named;
  for (const Finding& finding : findings)
    if (finding.check.starts_with("RONDO_")) named.push_back(finding.check + " " + std::string(to_string(finding.verdict)));
  CHECK(named == Words{"RONDO_LOG problem", "RONDO_TIMEOUT problem", "RONDO_TIMOUT note"});
}

TEST_CASE("the doctor says which of the interfaces that are asked for there are") {
  const auto names = [](const std::string& value) {
    return [=](MachineFacts& facts) {
      facts.environment["RONDO_NET_INTERFACES"] = value;
      facts.interfaces = {{"lo", "127.0.0.1"}, {"eth0", "10.0.0.1"}, {"eth1", "10.0.1.1"}};
    };
  };
  const std::string check = "RONDO_NET_INTERFACES";
  CHECK(wrong({
            {names("eth0,eth1"), check, ok, {"eth0 (10.0.0.1), eth1 (10.0.1.1)"}, {}},
            {names("eth0,ib0"), check, note, {"eth0 (10.0.0.1)", "no address here: ib0"}, {}},
        }) == "");
  const auto findings = judged(names("ib0,ib1"));  // without which no rank starts, so that the trials are missing, too
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.check == check; });
  REQUIRE(found != findings.end());
  CHECK(found->verdict == problem);
  CHECK(lacks(found->meaning, {"'ib0,ib1'", "accepted: some of eth0, eth1, lo"}) == "");
  CHECK(found->remedy == "unset RONDO_NET_INTERFACES");
}

TEST_CASE("the doctor says whether the launcher's variables make a job") {
  const auto job = [](std::map<std::string, std::string> variables) { return [=](MachineFacts& facts) { facts.environment = variables; }; };
  CHECK(wrong({
            {[](MachineFacts&) {}, "launcher", ok, {"torchrun", "rondo-bench -n N"}, {}},
            {job({{"RANK", "1"}}), "launcher", problem, {"WORLD_SIZE is not set"}, {"unset RANK ", "torchrun"}},
            {job({{"RANK", "1"}, {"WORLD_SIZE", "4"}}), "launcher", problem, {"MASTER_PORT is not set"}, {"unset RANK WORLD_SIZE "}},
            {job({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_PORT", "29500"}}), "launcher", problem, {"RANK='4'"}, {"unset"}},
            {job({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_PORT", "29500"}}), "launcher", ok, {"rank 1 of 4"}, {}},
            {job({{"RANK", "1"}, {"WORLD_SIZE", "8"}, {"MASTER_PORT", "29500"}}), "launcher", note, {"rank 1 of 8", "4 usable"}, {"--nproc-per-node 4"}},
            {job({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}, {"MASTER_PORT", "29500"}}), "launcher", note,
             {"several machines", "127.0.0.1:29500", "without a key"}, {"RONDO_JOB_KEY_FILE"}},
            {job({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}, {"RONDO_JOB_KEY_FILE", "/key"}}), "launcher", ok,
             {"several machines", "they meet at node7:29500"}, {}},
            {job({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}, {"RONDO_JOB_KEY_FILE", "/key"},
                  {"TORCHELASTIC_USE_AGENT_STORE", "True"}}), "launcher", ok, {"torchrun's store at node7:29500"}, {}},
            {job({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}), "launcher", note, {"Open MPI"},
             {"export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE"}},
            {job({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "0"}}), "launcher", ok, {"Open MPI", "finds the others"}, {}},
            {job({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_FD", "7"}}), "launcher", ok, {"PMI", "finds the others"}, {}},
            {job({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}), "launcher", note, {"Slurm"}, {"RANK=$SLURM_PROCID", "--mpi=pmix"}},
            {job({{"UCX_TLS", "tcp"}, {"UCX_NET_DEVICES", "eth0"}}), "UCX variables", note, {"UCX_NET_DEVICES UCX_TLS"}, {"unset UCX_NET_DEVICES UCX_TLS"}},
            {job({{"HWLOC_XMLFILE", "x.xml"}}), "hwloc variables", note, {"HWLOC_XMLFILE"}, {"unset HWLOC_XMLFILE"}},
        }) == "");
}

TEST_CASE("a trial that fails is a problem over shared memory and a note over UCX, and says how to see more") {
  const auto fails = [](std::size_t which) { return [=](MachineFacts& facts) { facts.trials[which].failure = "a rank was ended by signal 7 (Bus error)"; }; };
  CHECK(wrong({
            {[](MachineFacts&) {}, "2 threads, shm", ok, {"140 ns", "9 GB/s", "no benchmark", "rondo-bench all_reduce -n 2"}, {}},
            {[](MachineFacts&) {}, "2 processes, ucx", ok, {"12.0 us", "--transport ucx"}, {}},
            {[](MachineFacts&) {}, "kernel copies", ok, {"process_vm_readv"}, {}},
            {[](MachineFacts& facts) { facts.trials[1].kernel_copies = false; }, "kernel copies", note, {"copied twice"}, {"ptrace_scope", "SYS_PTRACE"}},
            {fails(0), "2 threads, shm", problem, {"signal 7"}, {"RONDO_LOG=debug rondo-bench", "--threads"}},
            {fails(1), "2 processes, shm", problem, {"signal 7"}, {"--transport shm"}},
            {fails(2), "2 processes, ucx", note, {"signal 7"}, {"--transport ucx"}},
            {[](MachineFacts& facts) { facts.launchers.clear(); }, "peers", note, {"tools/compare"}, {"apt-get install openmpi-bin"}},
        }) == "");
  const auto without = judged([](MachineFacts& facts) { facts.ucx_version = "", facts.trials[2].failure = "built without UCX"; });
  CHECK(std::none_of(without.begin(), without.end(), [](const Finding& finding) { return finding.check == "2 processes, ucx"; }));
}
