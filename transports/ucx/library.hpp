// UCX's functions. The library is loaded where a rank first needs it: who needs none pays nothing for it, and a wheel takes the UCX of the machine that it
// comes to, which has the modules for its network (docs/design/0006-message-links.md).
#pragma once

#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>
#include <uct/api/uct.h>

#include <string>
#include <vector>

#include "rondo/result.hpp"

namespace rondo::ucx {

/// Named as in UCX, without ucp_, ucs_ or uct_.
struct Library {
  std::string path;  ///< the file that was loaded
  decltype(&ucp_get_version_string) get_version_string = nullptr;
  decltype(&ucp_config_read) config_read = nullptr;
  decltype(&ucp_config_modify) config_modify = nullptr;
  decltype(&ucp_config_release) config_release = nullptr;
  decltype(&ucp_init_version) init_version = nullptr;
  decltype(&ucp_cleanup) cleanup = nullptr;
  decltype(&ucp_worker_create) worker_create = nullptr;
  decltype(&ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&ucp_worker_progress) worker_progress = nullptr;
  decltype(&ucp_worker_flush_nbx) worker_flush_nbx = nullptr;
  decltype(&ucp_ep_create) ep_create = nullptr;
  decltype(&ucp_ep_close_nbx) ep_close_nbx = nullptr;
  decltype(&ucp_tag_send_nbx) tag_send_nbx = nullptr;
  decltype(&ucp_tag_probe_nb) tag_probe_nb = nullptr;
  decltype(&ucp_tag_msg_recv_nbx) tag_msg_recv_nbx = nullptr;
  decltype(&ucp_request_check_status) request_check_status = nullptr;
  decltype(&ucp_request_free) request_free = nullptr;
  decltype(&ucs_log_push_handler) push_log_handler = nullptr;
  decltype(&ucs_status_string) status_string = nullptr;
  decltype(&uct_query_components) query_components = nullptr;
  decltype(&uct_component_query) component_query = nullptr;
  decltype(&uct_release_component_list) release_component_list = nullptr;
};

/// Where UCX is looked for: one that the process has loaded, the loader's folders, and then, beside a wheel in site-packages, PyPI's libucx-cu12.
std::vector<std::string> places_of_library();

/// The first of `places` that is UCX. Error unsupported: what the loader says of each, or which functions it lacks.
Result<Library> load_library(const std::vector<std::string>& places);

/// UCX as it was found at the first call, for good; thread-safe. Errors: those of load_library().
const Result<Library>& library();

}  // namespace rondo::ucx
