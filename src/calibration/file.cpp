// Where a calibration is kept. The file's name is a hash of what kind of machine it is, so that a folder shared by several machines serves them all.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/config.hpp"
#include "base/fd.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "calibration/file.hpp"

namespace rondo {
namespace {

constexpr std::uintmax_t most_bytes = 1u << 16;

/// What measurements depend on: the processors' model, how many there are, and their caches and memories.
std::string kind_of(const Topology& topology) {
  std::string kind;
  std::set<std::string> seen;
  for (const Node& node : topology.nodes) {
    if (node.kind != NodeKind::package && node.kind != NodeKind::cache && node.kind != NodeKind::numa) continue;
    const std::string sort = node.name.substr(0, node.name.find('#'));
    const bool sized = node.kind == NodeKind::cache;  // memories differ by what firmware keeps for itself
    const std::string part = sort + " " + node.detail + " " + (sized ? std::to_string(node.bytes) : "") + " " + std::to_string(node.cpus.size()) + ";";
    if (seen.insert(part).second) kind += part;
  }
  const auto processors = std::count_if(topology.nodes.begin(), topology.nodes.end(), [](const Node& node) { return node.kind == NodeKind::cpu; });
  return kind + std::to_string(processors);
}

Error failed(const std::string& what, const std::string& file) { return Error{Errc::io, what + " " + file, errno, "calibration"}; }

Result<void> write_all(int fd, std::string_view text, const std::string& file) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed("cannot write", file);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

std::string file_in(const std::string& folder, const Topology& topology) { return folder + "/calibration-" + hash_of(kind_of(topology)) + ".json"; }

}  // namespace

Result<std::string> calibration_file(const Topology& topology) {
  if (!config()) return config().error();
  if (config()->cache_folder.empty())
    return Error{Errc::invalid_argument, "no folder to keep a calibration in: neither RONDO_CACHE nor XDG_CACHE_HOME nor HOME is an absolute path", 0,
                 "calibration"};
  return file_in(config()->cache_folder, topology);
}

/// Under another name first, so that nobody reads half a file.
Result<void> save_calibration(const Topology& topology, const CoreFigures& figures) {
  auto file = calibration_file(topology);
  if (!file) return file.error();
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(*file).parent_path(), error);
  if (error) return Error{Errc::io, "cannot make the folder of " + *file, error.value(), "calibration"};
  std::string draft = *file + ".XXXXXX";
  Fd fd(::mkstemp(draft.data()));
  if (!fd) return failed("cannot write", *file);
  Result<void> done = write_all(fd.get(), write_core_figures(figures) + "\n", draft);
  if (done && (::fchmod(fd.get(), 0644) != 0 || ::fsync(fd.get()) != 0)) done = failed("cannot write", draft);
  if (done && ::rename(draft.c_str(), file->c_str()) != 0) done = failed("cannot write", *file);
  if (!done) ::unlink(draft.c_str());
  return done;
}

Result<std::optional<CoreFigures>> load_calibration(const Topology& topology) {
  if (!config()) return config().error();
  return load_calibration_from(config()->cache_folder, topology);
}

Result<std::optional<CoreFigures>> load_calibration_from(const std::string& folder, const Topology& topology) {
  if (folder.empty()) return std::optional<CoreFigures>();
  const std::string file = file_in(folder, topology);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) return std::optional<CoreFigures>();
  if (error) return Error{Errc::io, "cannot read " + file, error.value(), "calibration"};
  if (bytes > most_bytes) return Error{Errc::invalid_argument, file + ": " + std::to_string(bytes) + " bytes are no calibration", 0, "calibration"};
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad() || !stream.is_open()) return failed("cannot read", file);
  auto figures = read_core_figures(text);
  if (!figures) return Error{figures.error().code, file + ": " + figures.error().detail, 0, "calibration"};
  return std::optional<CoreFigures>(std::move(*figures));
}

CoreFigures known_core_figures(const Topology& topology) {
  auto kept = load_calibration(topology);
  if (!kept) log_warn(to_string(kept.error()) + "; the figures of the kind of processor are used ('rondo calibrate' writes it anew)");
  return kept && *kept ? std::move(**kept) : core_figures(topology);
}

}  // namespace rondo
