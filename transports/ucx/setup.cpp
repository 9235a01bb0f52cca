#include "transports/ucx/setup.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/config.hpp"
#include "base/log.hpp"
#include "transports/ucx/library.hpp"
#include "transports/ucx/ucx.hpp"

namespace rondo::ucx {
namespace {

// How many Quiets this thread is under: UCX asks its log handler on the thread that has something to say.
thread_local int quiet = 0;

/// Others may use UCX in this process too: what it says to them is left alone.
ucs_log_func_rc_t handle_log(const char* /*file*/, unsigned /*line*/, const char* /*function*/, ucs_log_level_t level,
                             const ucs_log_component_config_t* /*component*/, const char* format, va_list arguments) {
  if (quiet == 0 || level == UCS_LOG_LEVEL_FATAL) return UCS_LOG_FUNC_RC_CONTINUE;
  if (log_enabled(LogLevel::debug)) {
    char text[512];
    va_list copy;
    va_copy(copy, arguments);
    std::vsnprintf(text, sizeof text, format, copy);
    va_end(copy);
    log_debug(std::string("ucx: ") + text);
  }
  return UCS_LOG_FUNC_RC_STOP;
}

struct Setting {
  const char* name;
  const char* value;
};

/// What decides whom this rank reaches, over what, and by which protocol, where the user hasn't set it (UCX_TLS and the like); the values are UCX's
/// own but where a reason stands.
constexpr std::array settings{
    Setting{"TLS", "^sm"},  // over shared-memory lanes UCX doesn't see that a peer has died
    Setting{"NET_DEVICES", "all"},
    Setting{"SELF_DEVICES", "all"},
    Setting{"ACC_DEVICES", "all"},
    Setting{"PROTOS", "all"},
    Setting{"BCOPY_THRESH", "auto"},
    Setting{"RNDV_THRESH", "inf"},  // pieces are short: a round trip for each of them costs a third of TCP's bandwidth
    Setting{"RNDV_SCHEME", "auto"},
    Setting{"NUM_EPS", "auto"},
    Setting{"NUM_PPN", "auto"},
    Setting{"UNIFIED_MODE", "n"},
    Setting{"ADDRESS_VERSION", "v1"},
    Setting{"USE_MT_MUTEX", "n"},
    Setting{"FLUSH_WORKER_EPS", "y"},
    Setting{"RESOLVE_REMOTE_EP_ID", "y"},  // the wire-up ends before creation does: none meets a rank that leaves
    Setting{"KEEPALIVE_INTERVAL", "1s"},  // a machine that vanishes is noticed in seconds
};

/// Where TCP is all there is: a peer that hangs up while UCX 1.13 sends from Rondo's slots themselves (zcopy) makes it abort the process
/// (uct_iface.h:884), so it sends from buffers of its own.
constexpr std::array settings_of_tcp{Setting{"ZCOPY_THRESH", "inf"}};

/// Of its device, which counts from 1.
unsigned port_of(const std::filesystem::path& interface) {
  unsigned number = 0;
  std::ifstream(interface / "dev_port") >> number;
  return number + 1;
}

/// What the user hasn't set.
Result<void> apply_to(const Library& ucp, ucp_config_t* config, std::span<const Setting> chosen) {
  const Environment environment = read_environment();
  for (const Setting& setting : chosen) {
    if (environment.contains(std::string("UCX_") + setting.name)) continue;
    const auto status = ucp.config_modify(config, setting.name, setting.value);
    if (status == UCS_OK || status == UCS_ERR_NO_ELEM) continue;  // the latter: this version of UCX has no such setting
    return error_of(std::string("cannot set UCX's ") + setting.name + " to " + setting.value, status);
  }
  return {};
}

/// Those of RONDO_NET_INTERFACES, and of each message a part by each of them.
Result<void> apply_interfaces(const Library& ucp, ucp_config_t* config) {
  const auto& set = rondo::config();
  if (!set) return set.error();
  if (set->net_interfaces.empty()) return {};
  const std::string devices = devices_of(set->net_interfaces), rails = std::to_string(set->net_interfaces.size());
  const std::array chosen{Setting{"NET_DEVICES", devices.c_str()}, Setting{"MAX_EAGER_RAILS", rails.c_str()}, Setting{"MAX_RNDV_RAILS", rails.c_str()}};
  return apply_to(ucp, config, chosen);
}

}  // namespace

Quiet::Quiet() { ++quiet; }
Quiet::~Quiet() { --quiet; }

bool knows_infiniband() {
  const auto& uct = library();
  if (!uct) return false;
  const Quiet meanwhile;
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct->query_components(&components, &count) != UCS_OK) return false;
  bool known = false;
  for (const uct_component_h component : std::span(components, count)) {
    uct_component_attr_t attributes{};
    attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
    known |= uct->component_query(component, &attributes) == UCS_OK && std::string_view(attributes.name) == "ib";
  }
  uct->release_component_list(components);
  return known;
}

std::string devices_of(const std::vector<std::string>& interfaces, const std::filesystem::path& folder) {
  std::string devices;
  const auto add = [&](const std::string& name) { devices += (devices.empty() ? "" : ",") + name; };
  for (const std::string& interface : interfaces) {
    std::error_code failed;  // no such folder: the kernel sends its packets itself
    std::filesystem::directory_iterator device(folder / interface / "device/infiniband", failed), end;
    if (failed || device == end) add(interface);
    else add(device->path().filename().string() + ":" + std::to_string(port_of(folder / interface)));
  }
  return devices;
}

Error error_of(const std::string& what, ucs_status_t status) {
  return Error{Errc::unsupported, what + ": " + library()->status_string(status), 0, "ucx"};
}

Result<ucp_context_h> make_context(const Library& ucp) {
  static std::once_flag once;
  std::call_once(once, ucp.push_log_handler, handle_log);
  ucp_config_t* config = nullptr;
  if (const auto status = ucp.config_read(nullptr, nullptr, &config); status != UCS_OK)
    return error_of("cannot read UCX's configuration", status);
  auto applied = apply_to(ucp, config, settings);
  if (applied && !ucx_beats_tcp()) applied = apply_to(ucp, config, settings_of_tcp);
  if (applied) applied = apply_interfaces(ucp, config);
  if (!applied) {
    ucp.config_release(config);
    return applied.error();
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  ucp_context_h context = nullptr;
  const ucs_status_t status = ucp.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context);
  ucp.config_release(config);
  if (status != UCS_OK) return error_of("cannot start UCX", status);
  return context;
}

}  // namespace rondo::ucx
