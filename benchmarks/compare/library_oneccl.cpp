// oneCCL as a participant: its build for host memory, over Intel MPI's shared memory.
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <oneapi/ccl.hpp>
#include <string>

#include "compare/driver.hpp"
#include "support/cores.hpp"

// Hooks of a tracing library that the archive leaves to its user to link. Null: no tracing.
extern "C" {
void* __itt_domain_create_ptr__3_0;
void* __itt_event_create_ptr__3_0;
void* __itt_event_end_ptr__3_0;
void* __itt_event_start_ptr__3_0;
void* __itt_metadata_add_ptr__3_0;
void* __itt_string_handle_create_ptr__3_0;
void* __itt_task_begin_ptr__3_0;
void* __itt_task_end_ptr__3_0;
void* __itt_thread_set_name_ptr__3_0;
}

namespace {

class OneCcl {
 public:
  OneCcl(std::uint32_t rank, std::uint32_t ranks)
      : rank_(rank),
        ranks_(ranks),
        crowded_(ranks > bench_support::usable_cores()),
        communicator_(ccl::create_communicator(static_cast<int>(ranks), static_cast<int>(rank), meet(rank))) {}

  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return ranks_; }
  bool supports(const compare::Case& what) const {
    if (what.operation == compare::Operation::all_to_all_v) return what.in_place == 0;
    return what.operation != compare::Operation::scan && what.operation != compare::Operation::send_recv;
  }
  void barrier() { finish(ccl::barrier(communicator_)); }

  void run(const compare::Call& call) {
    const ccl::datatype type = call.type == compare::Type::f32 ? ccl::datatype::float32 : ccl::datatype::bfloat16;
    constexpr ccl::reduction sum = ccl::reduction::sum;
    const int root = static_cast<int>(call.root);
    switch (call.operation) {
      case compare::Operation::all_reduce:
        return finish(ccl::allreduce(call.input, call.output, call.count, type, sum, communicator_));
      case compare::Operation::broadcast:
        return finish(ccl::broadcast(call.input, call.output, call.count, type, root, communicator_));
      case compare::Operation::reduce:
        return finish(ccl::reduce(call.input, call.output, call.count, type, sum, root, communicator_));
      case compare::Operation::reduce_scatter:
        return finish(ccl::reduce_scatter(call.input, call.output, call.count, type, sum, communicator_));
      case compare::Operation::all_gather:
        return finish(ccl::allgather(call.input, call.output, call.count, type, communicator_));
      case compare::Operation::all_to_all:
        return finish(ccl::alltoall(call.input, call.output, call.count, type, communicator_));
      case compare::Operation::all_to_all_v: {
        const auto& blocks = uneven_.of(call.count, rank_, ranks_);
        return finish(ccl::alltoallv(call.input, blocks.sent, call.output, blocks.received, type, communicator_));
      }
      case compare::Operation::barrier:
        return barrier();
      case compare::Operation::gather:
        return finish(ccl::gather(call.input, call.output, call.count, type, root, communicator_));
      case compare::Operation::scatter:
        return finish(ccl::scatter(call.input, call.output, call.count, type, root, communicator_));
      case compare::Operation::scan:
      case compare::Operation::send_recv:
        break;  // see supports()
    }
  }

 private:
  // MPI carries rank 0's address to the others.
  static ccl::shared_ptr_class<ccl::kvs> meet(std::uint32_t rank) {
    ccl::shared_ptr_class<ccl::kvs> store;
    ccl::kvs::address_type address{};
    if (rank == 0) {
      store = ccl::create_main_kvs();
      address = store->get_address();
    }
    MPI_Bcast(address.data(), static_cast<int>(address.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    return rank == 0 ? store : ccl::create_kvs(address);
  }

  // event::wait() spins and never yields: with more ranks than processors each call would take time slices of 15 ms.
  void finish(ccl::event event) const {
    if (!crowded_) return event.wait();
    while (!event.test()) sched_yield();
  }

  std::uint32_t rank_;
  std::uint32_t ranks_;
  bool crowded_;
  ccl::communicator communicator_;
  bench_support::UnevenCache<std::size_t> uneven_;
};

// It tells its settings on standard output, whatever its log level is; errors come as exceptions.
void silence_output() {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
}

std::string library_version() {
  const ccl::library_version version = ccl::get_library_version();
  return "oneCCL " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.update);
}

void serve(const compare::RankOptions& options) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  compare::pin_rank(static_cast<std::uint32_t>(rank));
  ccl::init();
  OneCcl library(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks));
  compare::RankLink link(options, library.rank(), library_version());
  compare::Driver<OneCcl>(library, link).serve();
}

}  // namespace

int main(int argc, char** argv) {
  const compare::RankOptions options = compare::parse_rank_options(argc, argv);
  compare::die_with_parent();
  silence_output();
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);  // with less, oneCCL over MPI dies at its first communicator
  try {
    serve(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare_oneccl: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
