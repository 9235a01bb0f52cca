// Open MPI and MPICH as participants: one source, compiled with each library's own compiler wrapper.
#include <mpi.h>

#include <string>

#include "compare/driver.hpp"

namespace {

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
  bool supports(compare::Operation) const { return true; }
  void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

  // MPI's default error handler ends the job, so return codes need no check.
  void run(const compare::Call& call) {
    const int count = static_cast<int>(call.count);
    const int root = static_cast<int>(call.root);
    const bool at_root = call.root == rank_;
    const void* send = call.in_place ? MPI_IN_PLACE : call.input;
    switch (call.operation) {
      case compare::Operation::all_reduce:
        MPI_Allreduce(send, call.output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
      case compare::Operation::broadcast:
        // MPI broadcasts in place only: out of place the root's own copy is the caller's.
        MPI_Bcast(at_root ? const_cast<float*>(call.input) : call.output, count, MPI_FLOAT, root, MPI_COMM_WORLD);
        if (at_root && !call.in_place) std::copy_n(call.input, call.count, call.output);
        break;
      case compare::Operation::reduce:
        MPI_Reduce(at_root ? send : call.input, call.output, count, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
        break;
      case compare::Operation::reduce_scatter:
        reduce_scatter(call, count);
        break;
      case compare::Operation::all_gather:
        MPI_Allgather(send, count, MPI_FLOAT, call.output, count, MPI_FLOAT, MPI_COMM_WORLD);
        break;
    }
  }

 private:
  // In place, MPI leaves the result at the start of the buffer, so its output is the input's begin.
  static void reduce_scatter(const compare::Call& call, int count) {
    if (call.in_place) {
      auto* buffer = const_cast<float*>(call.input);
      MPI_Reduce_scatter_block(MPI_IN_PLACE, buffer, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (buffer != call.output) std::copy_n(buffer, call.count, call.output);
    } else {
      MPI_Reduce_scatter_block(call.input, call.output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
  }

  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 0;
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
