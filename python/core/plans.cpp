#include "plans.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"
#include "rondo/formats.hpp"
#include "rondo/planning.hpp"
#include "rondo/verifier.hpp"

namespace rondo_python {

namespace nb = nanobind;

namespace {

/// What the call is; `bytes` of its larger buffer.
struct PlannedCall {
  std::string collective, type, op;
  std::uint64_t bytes = 0;
  std::uint32_t root = 0;
  bool in_place = false, symmetric = false;
};

/// `machine`: a topology in JSON, or else a file or synthetic string; both empty: this machine.
std::string plan(const PlannedCall& call, std::uint32_t ranks, const std::string& algorithm, const std::string& machine_json, const std::string& machine) {
  const auto collective = checked(rondo::parse_collective(call.collective));
  rondo::Request request = rondo::request_of_bytes(collective, ranks, call.bytes, checked(rondo::parse_data_type(call.type)), call.in_place);
  request.op = checked(rondo::parse_reduce_op(call.op));
  request.root = call.root;
  request.symmetric = call.symmetric;
  std::optional<rondo::Topology> topology;
  if (!machine_json.empty()) topology = checked(rondo::read_topology_json(machine_json));
  else if (!machine.empty()) topology = checked(rondo::load_topology(machine));
  const auto scene = checked(rondo::planning_scene(std::move(topology), ranks));
  return rondo::write_plan(checked(rondo::plan_call(scene, request, algorithm)));
}

}  // namespace

void bind_plans(nb::module_& module) {
  using rondo::Proof;
  using rondo::Violation;
  const auto without_lock = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<Violation>(module, "Violation")
      .def_prop_ro("fault", [](const Violation& violation) { return rondo::to_string(violation.fault); })
      .def_ro("rank", &Violation::rank)
      .def_ro("lane", &Violation::lane)
      .def_ro("step", &Violation::step)
      .def_ro("message", &Violation::message);
  nb::class_<Proof>(module, "Proof")
      .def_ro("violations", &Proof::violations)
      .def_ro("truncated", &Proof::truncated)
      .def_ro("least_safe_depth", &Proof::least_safe_depth)
      .def_ro("chunk_steps", &Proof::chunk_steps)
      .def_prop_ro("strictness", [](const Proof& proof) { return rondo::to_string(proof.strictness); })
      .def_ro("departure", &Proof::departure);
  module.def("plan", [](const std::string& collective, std::uint32_t ranks, std::uint64_t bytes, const std::string& type, const std::string& op,
                        std::uint32_t root, const std::string& algorithm, const std::string& machine_json, const std::string& machine, bool in_place,
                        bool symmetric) {
    return plan({collective, type, op, bytes, root, in_place, symmetric}, ranks, algorithm, machine_json, machine);
  }, without_lock);
  module.def("read_plan", [](const std::string& path) { return rondo::write_plan(checked(rondo::load_plan(path))); }, without_lock);
  module.def("verify", [](const std::string& text) { return rondo::verify(checked(rondo::import_plan(text))); }, without_lock);
}

}  // namespace rondo_python
