// The C interface: plans out and in.
#include "communicator/c_api.hpp"
#include "rondo/formats.hpp"

using namespace rondo;
using namespace rondo::c;

extern "C" {

rondo_status rondo_plan_for(const rondo_communicator* communicator, const rondo_call* call, char** json) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"json", json}})) return *error;
    const auto filled = whole(call);
    if (!filled) return filled.error();
    if (auto error = wrong_call(*filled, communicator->value.size())) return *error;
    const auto plan = communicator->value.plan_for(call_of(*filled));
    if (!plan) return plan.error();
    give(write_plan(*plan), json);
    return {};
  });
}

rondo_status rondo_use_plan(rondo_communicator* communicator, const char* path, int unverified) {
  return guarded([&]() -> Result<void> {
    if (auto error = find_null({{"communicator", communicator}, {"path", path}})) return *error;
    const auto plan = load_plan(path);
    if (!plan) return plan.error();
    return communicator->value.use_plan(*plan, unverified != 0);
  });
}

}  // extern "C"
