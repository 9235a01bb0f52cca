// A program that uses MPI and Rondo in one process: by turns, both under way at once, and each from a thread of its own. Run by mpirun.
// beside_mpi TRANSPORT ORDER: "shm" or "ucx"; "rondo_first" or "mpi_first" says who ends first.
#include <mpi.h>
#include <rondo/communicator.hpp>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank = 0, size = 0;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "beside_mpi: rank %d: %s\n", rank, what.c_str());
  std::_Exit(1);
}

void require(int status) {
  if (status != MPI_SUCCESS) fail("MPI failed");
}
void require(const rondo::Result<void>& done) {
  if (!done) fail(to_string(done.error()));
}

/// A rank's values, and whether a sum of all ranks' is right. Whole numbers, so that no order of additions shows.
struct Values {
  explicit Values(std::size_t count, int seed) : in(count), out(count, -1), seed_(seed) {
    for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<float>((rank + 1) * ((static_cast<int>(i) + seed) % 97));
  }
  void check(const char* whose) const {
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] != static_cast<float>(size * (size + 1) / 2 * ((static_cast<int>(i) + seed_) % 97)))
        fail(std::string(whose) + " has a wrong sum at " + std::to_string(i) + " of " + std::to_string(out.size()));
  }
  std::vector<float> in, out;

 private:
  int seed_;
};

void by_mpi(Values& values) {
  require(MPI_Allreduce(values.in.data(), values.out.data(), static_cast<int>(values.in.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
}
void by_rondo(rondo::Communicator& group, Values& values) {
  require(group.all_reduce(values.in.data(), values.out.data(), values.in.size(), rondo::DataType::f32));
}

void by_turns(rondo::Communicator& group) {
  for (int k = 0; k < 200; ++k) {
    const std::size_t count = k % 10 == 9 ? 300'000 : static_cast<std::size_t>(1 + k * 37);
    Values first(count, k), second(count, k + 1);
    by_mpi(first);
    by_rondo(group, second);
    first.check("MPI");
    second.check("Rondo");
  }
}

void at_once(rondo::Communicator& group) {
  for (int k = 0; k < 100; ++k) {
    Values first(static_cast<std::size_t>(1 + k * 1001), k), second(static_cast<std::size_t>(1 + k * 701), k);
    MPI_Request request{};
    require(MPI_Iallreduce(first.in.data(), first.out.data(), static_cast<int>(first.in.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request));
    rondo::Work work = group.start({rondo::Collective::all_reduce, second.in.data(), second.out.data(), second.in.size()});
    // Ranks wait in different orders: neither library may need the other one's end.
    const bool mpi_first = (k + rank) % 2 == 0;
    if (mpi_first) require(MPI_Wait(&request, MPI_STATUS_IGNORE));
    require(work.wait());
    if (!mpi_first) require(MPI_Wait(&request, MPI_STATUS_IGNORE));
    first.check("MPI");
    second.check("Rondo");
  }
}

void from_two_threads(rondo::Communicator& group) {
  std::thread other([&] {
    for (int k = 0; k < 100; ++k) {
      Values values(static_cast<std::size_t>(1 + k * 501), k);
      by_rondo(group, values);
      values.check("Rondo");
    }
  });
  for (int k = 0; k < 100; ++k) {
    Values values(static_cast<std::size_t>(1 + k * 301), k);
    by_mpi(values);
    values.check("MPI");
  }
  other.join();
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  require(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  require(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  require(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (argc != 3) fail("usage: beside_mpi shm|ucx rondo_first|mpi_first");
  std::int64_t job = getpid();
  require(MPI_Bcast(&job, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
  rondo::CommunicatorOptions options;
  options.transport = argv[1];
  options.timeout = std::chrono::seconds(60);
  auto joined = rondo::Communicator::local(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size), "beside_mpi/" + std::to_string(job), options);
  if (!joined) fail(to_string(joined.error()));
  std::optional<rondo::Communicator> group(std::move(*joined));
  by_turns(*group);
  at_once(*group);
  if (provided == MPI_THREAD_MULTIPLE) from_two_threads(*group);
  if (std::string(argv[2]) == "rondo_first") group.reset();
  require(MPI_Finalize());
  if (group) {
    Values values(1000, 1);
    by_rondo(*group, values);
    values.check("Rondo without MPI");
  }
  group.reset();
  if (rank == 0) std::printf("beside_mpi: %d ranks, %s, threads of MPI %s\n", size, argv[1], provided == MPI_THREAD_MULTIPLE ? "tried" : "not offered");
  return 0;
}
