// The module rondo._core. rondo/_communicator.py makes of it what people use.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <tuple>

#include "communicator.hpp"
#include "errors.hpp"
#include "plans.hpp"
#include "rondo/formats.hpp"
#include "rondo/trace.hpp"

using namespace rondo_python;

namespace {

using Seconds = std::chrono::duration<double>;

std::chrono::nanoseconds duration_of(double seconds, const char* name) {
  if (!(seconds > 0)) throw nb::value_error((std::string(name) + " is " + std::to_string(seconds) + "; accepted: seconds above 0, or inf").c_str());
  constexpr double longest = 9e9;  // seconds that 64 bits of nanoseconds hold
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(std::min(seconds, longest)));
}

/// timeout, bootstrap_timeout, algorithm, transport, strict, integrity: as Communicator's options in Python.
using Options = std::tuple<double, double, std::string, std::string, bool, bool>;

rondo::CommunicatorOptions options_of(const Options& given) {
  const auto& [timeout, bootstrap_timeout, algorithm, transport, strict, integrity] = given;
  rondo::CommunicatorOptions options;
  options.timeout = duration_of(timeout, "timeout");
  options.bootstrap_timeout = duration_of(bootstrap_timeout, "bootstrap_timeout");
  options.algorithm = algorithm;
  options.transport = transport;
  options.strict = strict;
  options.integrity = integrity;
  return options;
}

std::unique_ptr<Communicator> wrap(rondo::Result<rondo::Communicator> made) { return std::make_unique<Communicator>(checked(std::move(made))); }

/// Memory that peers map, as bytes that keep it.
nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>> bytes_of(Communicator& communicator, std::uint64_t bytes) {
  auto memory = std::make_unique<std::shared_ptr<void>>(communicator.allocate(bytes));
  void* const data = memory->get();
  const nb::capsule owner(memory.release(), [](void* held) noexcept { delete static_cast<std::shared_ptr<void>*>(held); });
  return {data, {bytes}, owner};
}

void bind_creation(nb::module_& module) {
  const auto without_lock = nb::call_guard<nb::gil_scoped_release>();
  module.def("from_environment", [](const Options& options) { return wrap(rondo::Communicator::from_environment(options_of(options))); }, without_lock);
  module.def("local", [](std::uint32_t rank, std::uint32_t size, const std::string& job, const Options& options) {
    return wrap(rondo::Communicator::local(rank, size, job, options_of(options)));
  }, without_lock);
  module.def("unique_id", [] { return checked(rondo::Communicator::unique_id()); }, without_lock);
  module.def("by_id", [](std::uint32_t rank, std::uint32_t size, const std::string& id, const Options& options) {
    return wrap(rondo::Communicator::by_id(rank, size, id, options_of(options)));
  }, without_lock);
  module.def("in_process", [](std::uint32_t size, const Options& options) {
    std::vector<std::unique_ptr<Communicator>> ranks;
    for (auto& rank : checked(rondo::Communicator::in_process(size, options_of(options))))
      ranks.push_back(std::make_unique<Communicator>(std::move(rank)));
    return ranks;
  }, without_lock);
  module.def("trace_file", [](const std::vector<std::string>& ranks) { return rondo::trace_file(ranks); });
}

void bind_communicator(nb::module_& module) {
  const auto input = nb::arg("input").noconvert().none(), output = nb::arg("output").noconvert().none();
  const auto data = nb::arg("data").noconvert();
  nb::class_<Communicator>(module, "Communicator")
      .def_prop_ro("rank", &Communicator::rank)
      .def_prop_ro("size", &Communicator::size)
      .def_prop_ro("parent_ranks", &Communicator::parent_ranks)
      .def("run", [](Communicator& self, const std::string& collective, std::optional<Input> in, std::optional<Output> out, const std::string& op,
                     std::uint32_t root, double scale) { self.run({collective, op, root, scale}, in, out); },
           nb::arg("collective"), input, output, nb::arg("op"), nb::arg("root"), nb::arg("scale"))
      .def("start", [](Communicator& self, const std::string& collective, std::optional<Input> in, std::optional<Output> out, const std::string& op,
                       std::uint32_t root, double scale) { return self.start({collective, op, root, scale}, in, out); },
           nb::arg("collective"), input, output, nb::arg("op"), nb::arg("root"), nb::arg("scale"))
      .def("plan_for", [](Communicator& self, const std::string& collective, std::optional<Input> in, std::optional<Output> out, const std::string& op,
                          std::uint32_t root) { return self.plan_for({collective, op, root}, in, out); },
           nb::arg("collective"), input, output, nb::arg("op"), nb::arg("root"))
      .def("exchange", &Communicator::exchange, nb::arg("input").noconvert(), nb::arg("sent"), nb::arg("output").noconvert(), nb::arg("received"))
      .def("reduce_list", &Communicator::reduce_list)
      .def("send", &Communicator::send, data, nb::arg("to"))
      .def("start_send", &Communicator::start_send, data, nb::arg("to"))
      .def("recv", &Communicator::recv, data, nb::arg("source").none())
      .def("start_recv", &Communicator::start_recv, data, nb::arg("source").none())
      .def("split", &Communicator::split)
      .def("duplicate", &Communicator::duplicate)
      .def("shrink", &Communicator::shrink)
      .def("grow", &Communicator::grow, nb::arg("size"), nb::arg("job"))
      .def("allocate", &bytes_of)
      .def("use_plan", [](Communicator& self, const std::string& text, bool unverified) { self.use_plan(checked(rondo::import_plan(text)), unverified); },
           nb::call_guard<nb::gil_scoped_release>())
      .def("use_plan_file", [](Communicator& self, const std::string& path, bool unverified) { self.use_plan(checked(rondo::load_plan(path)), unverified); },
           nb::call_guard<nb::gil_scoped_release>())
      .def("group_begin", [](Communicator& self) { self.library().group_begin(); })
      .def("group_end", [](Communicator& self) { check(self.library().group_end()); }, nb::call_guard<nb::gil_scoped_release>())
      .def("set_timeout", [](Communicator& self, double seconds) { check(self.library().set_timeout(duration_of(seconds, "seconds"))); })
      .def("abort", [](Communicator& self) { self.library().abort(); })
      .def("flight_record", [](Communicator& self) { return self.library().flight_record(); })
      .def("topology", [](Communicator& self) { return rondo::write_topology_json(self.library().topology()); })
      .def("start_trace", [](Communicator& self, std::uint64_t capacity) { check(self.library().start_trace(capacity)); })
      .def("stop_trace", [](Communicator& self) { return rondo::trace_events(checked(self.library().stop_trace())); });
}

}  // namespace

NB_MODULE(_core, module) {
  translate_failures();
  nb::class_<Started>(module, "Work")
      .def("done", &Started::done)
      .def("source", &Started::source)
      .def("wait", &Started::wait, nb::arg("timeout").none());
  bind_communicator(module);
  bind_creation(module);
  bind_plans(module);
}
