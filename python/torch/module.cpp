// The Python module: makes backends for torch.distributed.
#include <torch/csrc/utils/pybind.h>

#include "backend.hpp"

namespace rondo_torch {
namespace {

namespace py = pybind11;

c10::intrusive_ptr<c10d::Backend> create(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, double timeout_seconds, const std::string& name,
                                         bool is_world, const std::vector<std::int64_t>& global_ranks) {
  GroupOptions options;
  options.store = store;
  options.rank = static_cast<std::uint32_t>(rank);
  options.size = static_cast<std::uint32_t>(size);
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000));
  options.name = name;
  options.is_world = is_world;
  const py::gil_scoped_release without_python;
  return c10::make_intrusive<Backend>(options, global_ranks);
}

}  // namespace
}  // namespace rondo_torch

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("options", [](const c10::intrusive_ptr<c10d::Backend>& backend) { return backend->getBackendOptions(); });
  module.def("create", &rondo_torch::create, pybind11::arg("store"), pybind11::arg("rank"), pybind11::arg("size"), pybind11::arg("timeout_seconds"),
             pybind11::arg("name"), pybind11::arg("is_world"), pybind11::arg("global_ranks"));
}
