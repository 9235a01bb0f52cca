#include "transports/ucx/library.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "base/shared_library.hpp"

namespace rondo::ucx {
namespace {

constexpr char file_name[] = "libucp.so.0";

/// The folder that this code is loaded from.
std::filesystem::path own_folder() {
  Dl_info info{};
  static const char here = 0;
  if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

}  // namespace

std::vector<std::string> places_of_library() {
  return {file_name, (own_folder() / "../../libucx/lib" / file_name).lexically_normal().string()};
}

Result<Library> load_library(const std::vector<std::string>& places) {
  auto file = SharedLibrary::load(places);
  if (!file) return Error{Errc::unsupported, "UCX can't be loaded (Debian's libucx0 has it): " + file.error().detail, 0, "ucx"};
  Library found;
  found.path = file->path();
  file->find("ucp_get_version_string", found.get_version_string);
  file->find("ucp_config_read", found.config_read);
  file->find("ucp_config_modify", found.config_modify);
  file->find("ucp_config_release", found.config_release);
  file->find("ucp_init_version", found.init_version);
  file->find("ucp_cleanup", found.cleanup);
  file->find("ucp_worker_create", found.worker_create);
  file->find("ucp_worker_destroy", found.worker_destroy);
  file->find("ucp_worker_get_address", found.worker_get_address);
  file->find("ucp_worker_release_address", found.worker_release_address);
  file->find("ucp_worker_progress", found.worker_progress);
  file->find("ucp_worker_flush_nbx", found.worker_flush_nbx);
  file->find("ucp_ep_create", found.ep_create);
  file->find("ucp_ep_close_nbx", found.ep_close_nbx);
  file->find("ucp_tag_send_nbx", found.tag_send_nbx);
  file->find("ucp_tag_probe_nb", found.tag_probe_nb);
  file->find("ucp_tag_msg_recv_nbx", found.tag_msg_recv_nbx);
  file->find("ucp_request_check_status", found.request_check_status);
  file->find("ucp_request_free", found.request_free);
  file->find("ucs_log_push_handler", found.push_log_handler);
  file->find("ucs_status_string", found.status_string);
  file->find("uct_query_components", found.query_components);
  file->find("uct_component_query", found.component_query);
  file->find("uct_release_component_list", found.release_component_list);
  if (!file->missing().empty()) return Error{Errc::unsupported, file->path() + " isn't a UCX that Rondo knows; it lacks " + file->missing(), 0, "ucx"};
  return found;
}

const Result<Library>& library() {
  static const Result<Library> found = load_library(places_of_library());
  return found;
}

}  // namespace rondo::ucx
