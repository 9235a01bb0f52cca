// The Python module: makes backends for torch.distributed.
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <torch/csrc/utils/pybind.h>

#include "hook.hpp"

namespace rondo_torch {
namespace {

namespace py = pybind11;

c10::intrusive_ptr<c10d::Backend> create(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, double timeout_seconds, const std::string& name,
                                         bool is_world, const std::vector<std::int64_t>& global_ranks, bool for_gloo, const std::string& device) {
  GroupOptions options;
  options.store = store;
  options.rank = static_cast<std::uint32_t>(rank);
  options.size = static_cast<std::uint32_t>(size);
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000));
  options.name = name;
  options.is_world = is_world;
  options.global_ranks = global_ranks;
  const py::gil_scoped_release without_python;
  const auto kind = device.empty() ? std::nullopt : std::optional(c10::Device(device).type());
  return c10::make_intrusive<Backend>(options, global_ranks, for_gloo, kind);
}

/// Throws ValueError where the group doesn't run on Rondo; `what` was to be done with it.
c10::intrusive_ptr<Backend> backend_of(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const char* what) {
  c10::intrusive_ptr<Backend> backend;
  for (const c10::Device& device : group->getDeviceTypes())
    if (!backend) backend = c10::dynamic_intrusive_pointer_cast<Backend>(group->getBackend(device.type()));
  TORCH_CHECK_VALUE(backend.defined(), "rondo: ", what, " a process group that doesn't run on Rondo; accepted: init_process_group(\"rondo\"), or "
                    "RONDO_TAKEOVER=gloo, and TORCH_DISTRIBUTED_DEBUG not DETAIL");
  return backend;
}

std::vector<std::int64_t> lost_ranks(const c10::intrusive_ptr<c10d::ProcessGroup>& group) { return backend_of(group, "lost_ranks of")->lost_ranks(); }

std::string told_by_first(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const std::string& text) {
  return backend_of(group, "shrink_group of")->told_by_first(text);
}

/// `wire`: "f16", "bf16", or nothing.
void register_hook(const std::shared_ptr<c10d::Reducer>& reducer, const c10::intrusive_ptr<c10d::ProcessGroup>& group, const std::string& wire,
                   bool error_feedback) {
  const auto backend = backend_of(group, "a DDPHook for");
  std::optional<at::ScalarType> type;
  if (wire == "f16") type = at::kHalf;
  if (wire == "bf16") type = at::kBFloat16;
  reducer->register_comm_hook(std::make_unique<Hook>(backend, type, error_feedback));
}

}  // namespace
}  // namespace rondo_torch

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("options", [](const c10::intrusive_ptr<c10d::Backend>& backend) { return backend->getBackendOptions(); });
  module.def("give_up_unfinished", &rondo_torch::Group::give_up_unfinished, pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def("register_hook", &rondo_torch::register_hook);
  module.def("lost_ranks", &rondo_torch::lost_ranks, pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def("told_by_first", &rondo_torch::told_by_first, pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def("create", &rondo_torch::create, pybind11::arg("store"), pybind11::arg("rank"), pybind11::arg("size"), pybind11::arg("timeout_seconds"),
             pybind11::arg("name"), pybind11::arg("is_world"), pybind11::arg("global_ranks"), pybind11::arg("for_gloo"), pybind11::arg("device"));
}
