// Open MPI, MPICH and Intel MPI as participants: one source, compiled with each library's own headers.
#include <mpi.h>

#include <cstring>
#include <string>

#include "compare/driver.hpp"

namespace {

// A type that only Intel MPI has can be added up; without it values of two bytes can still be moved.
#ifdef MPIX_C_BF16
constexpr bool adds_bf16 = true;
const MPI_Datatype mpi_bf16 = MPIX_C_BF16;
#else
constexpr bool adds_bf16 = false;
const MPI_Datatype mpi_bf16 = MPI_UINT16_T;
#endif

class Mpi {
 public:
  Mpi() {
    int value = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &value);
    rank_ = static_cast<std::uint32_t>(value);
    MPI_Comm_size(MPI_COMM_WORLD, &value);
    ranks_ = static_cast<std::uint32_t>(value);
  }

  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return ranks_; }
  bool supports(const compare::Case& what) const {
    const bool placed = what.in_place == 0 || (what.operation != compare::Operation::send_recv && what.operation != compare::Operation::all_to_all_v);
    return placed && (what.type == compare::Type::f32 || adds_bf16 || !compare::is_reduction(what.operation));
  }
  void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

  // MPI's default error handler ends the job, so return codes need no check.
  void run(const compare::Call& call) {
    const int count = static_cast<int>(call.count);
    const int root = static_cast<int>(call.root);
    const MPI_Datatype type = call.type == compare::Type::f32 ? MPI_FLOAT : mpi_bf16;
    const bool at_root = call.root == rank_;
    const void* send = call.in_place ? MPI_IN_PLACE : call.input;
    switch (call.operation) {
      case compare::Operation::all_reduce:
        MPI_Allreduce(send, call.output, count, type, MPI_SUM, MPI_COMM_WORLD);
        break;
      case compare::Operation::broadcast:
        // MPI broadcasts in place only: out of place the root's own copy is the caller's.
        MPI_Bcast(at_root ? call.input : call.output, count, type, root, MPI_COMM_WORLD);
        if (at_root && !call.in_place) copy(call);
        break;
      case compare::Operation::reduce:
        MPI_Reduce(at_root ? send : call.input, call.output, count, type, MPI_SUM, root, MPI_COMM_WORLD);
        break;
      case compare::Operation::reduce_scatter:
        // In place, MPI leaves the result at the start of the buffer, which is the input's.
        MPI_Reduce_scatter_block(send, call.in_place ? call.input : call.output, count, type, MPI_SUM, MPI_COMM_WORLD);
        if (call.in_place && call.input != call.output) copy(call);
        break;
      case compare::Operation::all_gather:
        MPI_Allgather(send, count, type, call.output, count, type, MPI_COMM_WORLD);
        break;
      case compare::Operation::all_to_all:
        MPI_Alltoall(send, count, type, call.output, count, type, MPI_COMM_WORLD);
        break;
      case compare::Operation::gather:
        MPI_Gather(at_root ? send : call.input, count, type, call.output, count, type, root, MPI_COMM_WORLD);
        break;
      case compare::Operation::scatter:
        MPI_Scatter(call.input, count, type, at_root && call.in_place ? MPI_IN_PLACE : call.output, count, type, root, MPI_COMM_WORLD);
        break;
      case compare::Operation::scan:
        MPI_Scan(send, call.output, count, type, MPI_SUM, MPI_COMM_WORLD);
        break;
      case compare::Operation::all_to_all_v: {
        const auto& blocks = uneven_.of(call.count, rank_, ranks_);
        MPI_Alltoallv(call.input, blocks.sent.data(), blocks.sent_at.data(), type, call.output, blocks.received.data(), blocks.received_at.data(), type,
                      MPI_COMM_WORLD);
        break;
      }
      case compare::Operation::barrier:
        barrier();
        break;
      case compare::Operation::send_recv:
        MPI_Sendrecv(call.input, count, type, static_cast<int>((rank_ + 1) % ranks_), 0, call.output, count, type,
                     static_cast<int>((rank_ + ranks_ - 1) % ranks_), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    }
  }

 private:
  static void copy(const compare::Call& call) { std::memcpy(call.output, call.input, call.count * compare::size_of(call.type)); }

  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 0;
  bench_support::UnevenCache<int> uneven_;
};

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text, static_cast<std::size_t>(length));
  for (char& c : version) {
    if (c == '\t') c = ' ';
  }
  version = version.substr(0, version.find_first_of(",\n"));
  version = version.substr(0, version.find(" for Linux"));  // Intel MPI's
  const std::size_t label = version.find(" Version: ");  // MPICH's
  return label == std::string::npos ? version : version.replace(label, 10, " ");
}

}  // namespace

int main(int argc, char** argv) {
  const compare::RankOptions options = compare::parse_rank_options(argc, argv);
  compare::die_with_parent();
  if (options.pin) compare::pin_rank(options.rank);
  MPI_Init(&argc, &argv);
  Mpi library;
  if (options.pin) compare::pin_rank(library.rank());
  compare::RankLink link(options, library.rank(), library_version());
  compare::Driver<Mpi>(library, link).serve();
  MPI_Finalize();
  return 0;
}
