#include "sparse.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <sstream>
#include <thread>

#include "elements.hpp"

namespace rondo_torch {
namespace {

constexpr std::int64_t most_dimensions = 64;  // torch has no more

/// What ranks must agree on, behind what they need not: the number of values; then type, sparse dimensions, all dimensions, sizes.
at::Tensor form_of(const at::Tensor& tensor) {
  std::vector<std::int64_t> words{tensor._nnz(), static_cast<std::int64_t>(tensor.scalar_type()), tensor.sparse_dim(), tensor.dim()};
  words.insert(words.end(), tensor.sizes().begin(), tensor.sizes().end());
  words.resize(4 + most_dimensions, 0);
  return at::tensor(words, at::kLong);
}

std::string described(const at::Tensor& form) {
  const std::int64_t* const words = form.const_data_ptr<std::int64_t>();
  std::ostringstream text;
  text << at::IntArrayRef(words + 4, static_cast<std::size_t>(std::clamp<std::int64_t>(words[3], 0, most_dimensions))) << " of "
       << static_cast<at::ScalarType>(words[1]) << " with " << words[2] << " sparse dimensions";
  return text.str();
}

/// One sum: its calls of the library.
class Sum {
 public:
  Sum(rondo_communicator* communicator, const RondoWork& work, std::int64_t ranks) : communicator_(communicator), work_(work), ranks_(ranks) {}

  /// All ranks' indices and values, gathered, and added up where they meet.
  at::Tensor of(const at::Tensor& tensor) const {
    const at::Tensor own = tensor.coalesce();
    const at::Tensor counts = agreed_counts(form_of(own));
    const at::Tensor indices = joined(own.indices().t().contiguous(), counts);
    const at::Tensor values = joined(own.values(), counts);
    return at::sparse_coo_tensor(indices.t(), values, tensor.sizes(), tensor.options()).coalesce();
  }

 private:
  /// All ranks' tensors like `block`, by rank.
  at::Tensor gathered(const at::Tensor& block) const {
    auto shape = block.sizes().vec();
    shape.insert(shape.begin(), ranks_);
    const at::Tensor all = at::empty(shape, block.options());
    const rondo_call call = move_call(RONDO_ALL_GATHER, block.scalar_type(), block.data_ptr(), all.data_ptr(), block.numel());
    const rondo_status status = rondo_run(communicator_, &call);
    if (status != RONDO_SUCCESS) throw_failure(status, work_.describe());
    return all;
  }

  /// How many values each rank has. DistBackendError where their tensors differ in what they must not.
  at::Tensor agreed_counts(const at::Tensor& form) const {
    const auto rest = [](const at::Tensor& of) { return of.narrow(0, 1, of.numel() - 1); };
    const at::Tensor forms = gathered(form);
    for (std::int64_t rank = 0; rank < ranks_; ++rank)
      TORCH_CHECK_WITH(DistBackendError, at::equal(rest(forms[rank]), rest(form)), "rondo: ", work_.describe(), ": sparse tensors that differ: here ",
                       described(form), ", rank ", rank, " has ", described(forms[rank]),
                       "; accepted: equal shapes, types and numbers of sparse dimensions on all ranks");
    return forms.select(1, 0).contiguous();
  }

  /// All ranks' parts, of which counts[rank] rows are rank's, one after the other.
  at::Tensor joined(const at::Tensor& part, const at::Tensor& counts) const {
    auto shape = part.sizes().vec();
    shape[0] = counts.max().item<std::int64_t>();
    const at::Tensor padded = at::zeros(shape, part.options());
    padded.narrow(0, 0, part.size(0)).copy_(part);
    const at::Tensor all = gathered(padded);
    std::vector<at::Tensor> parts;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) parts.push_back(all[rank].narrow(0, 0, counts[rank].item<std::int64_t>()));
    return at::cat(parts);
  }

  rondo_communicator* const communicator_;
  const RondoWork& work_;
  const std::int64_t ranks_;
};

}  // namespace

struct SparseSums::Shared {
  struct Job {
    c10::intrusive_ptr<RondoWork> work;
    std::chrono::milliseconds timeout;
  };

  explicit Shared(const Group& of) : group(of, "sparse sums") {}

  /// The thread's whole life.
  void serve() {
    for (;;) {
      Job job;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return closed || !jobs.empty(); });
        if (jobs.empty()) return;
        job = std::move(jobs.front());
        jobs.pop_front();
      }
      std::exception_ptr failure;
      try {
        run(job);
      } catch (...) {
        failure = std::current_exception();
      }
      job.work->end(failure);
    }
  }

  void run(const Job& job) {
    const at::AutoDispatchBelowAutograd below;
    rondo_communicator* const communicator = group.communicator(job.work->id());
    const rondo_status status = rondo_set_timeout(communicator, std::chrono::duration<double>(job.timeout).count());
    if (status != RONDO_SUCCESS) throw_failure(status, job.work->describe());
    at::Tensor tensor = job.work->result().front();
    tensor.copy_(Sum(communicator, *job.work, group.size()).of(tensor));
  }

  Group group;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool closed = false;
};

SparseSums::SparseSums(const Group& of) : shared_(std::make_shared<Shared>(of)) {
  std::thread([shared = shared_] { shared->serve(); }).detach();
}

SparseSums::~SparseSums() { close(); }

c10::intrusive_ptr<RondoWork> SparseSums::start(Operation operation, std::chrono::milliseconds timeout) {
  auto work = c10::make_intrusive<RondoWork>(std::move(operation));
  {
    const std::lock_guard lock(shared_->mutex);
    TORCH_CHECK_WITH(DistBackendError, !shared_->closed, "rondo: ", work->id(), ": this process group was destroyed");
    work->begin(shared_->group.in_flight());
    shared_->jobs.push_back({work, timeout});
  }
  shared_->changed.notify_one();
  return work;
}

void SparseSums::abort() { shared_->group.abort(); }

void SparseSums::close() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
  }
  shared_->changed.notify_one();
  shared_->group.close();
}

}  // namespace rondo_torch
