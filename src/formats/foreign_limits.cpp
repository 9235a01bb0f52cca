// What the programs that plans are written for take at most: RCCL's MSCCL (64 thread blocks a GPU, 64 steps a block, counts below 72) and MSCCL++'s executor
// (src/include/execution_common.hpp: 64 operations and 16 channels a thread block, 8 channels an operation).
#include <pugixml.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "rondo/formats.hpp"

namespace rondo {
namespace {

using nlohmann::json;

/// Collects what is more than somebody takes.
class Excess {
 public:
  explicit Excess(std::string who) : who_(std::move(who)) {}
  void check(std::size_t most, std::size_t limit, const char* what) {
    if (most <= limit) return;
    text_ += (text_.empty() ? who_ + " takes at most " : ", ") + std::to_string(limit) + " " + what + ", and this has up to " + std::to_string(most);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string who_, text_;
};

std::string of_msccl(std::string_view text) {
  pugi::xml_document document;
  if (!document.load_buffer(text.data(), text.size())) return {};
  std::size_t blocks = 0, steps = 0, count = 0;
  for (const pugi::xml_node gpu : document.document_element().children("gpu")) {
    const auto all = gpu.children("tb");
    blocks = std::max<std::size_t>(blocks, static_cast<std::size_t>(std::distance(all.begin(), all.end())));
    for (const pugi::xml_node block : all) {
      std::size_t own = 0;
      for (const pugi::xml_node step : block.children("step")) {
        ++own;
        count = std::max<std::size_t>(count, step.attribute("cnt").as_uint());
      }
      steps = std::max(steps, own);
    }
  }
  Excess excess("MSCCL");
  excess.check(blocks, 64, "thread blocks a GPU");
  excess.check(steps, 64, "steps a thread block");
  excess.check(count, 71, "chunks a step");
  return excess.take();
}

std::size_t size_of(const json& value, const char* key) { return value.is_object() && value.contains(key) && value[key].is_array() ? value[key].size() : 0; }

std::string of_mscclpp(std::string_view text) {
  const json file = json::parse(text, nullptr, false);
  if (size_of(file, "gpus") == 0) return {};
  std::size_t operations = 0, channels = 0, together = 0;
  for (const json& gpu : file["gpus"]) {
    for (std::size_t b = 0; b < size_of(gpu, "threadblocks"); ++b) {
      const json& block = gpu["threadblocks"][b];
      operations = std::max(operations, size_of(block, "ops"));
      std::size_t own = 0;
      for (std::size_t k = 0; k < size_of(block, "channels"); ++k) own += size_of(block["channels"][k], "channel_ids");
      channels = std::max(channels, own);
      for (std::size_t k = 0; k < size_of(block, "ops"); ++k)
        for (const char* key : {"channel_ids", "src_buff", "dst_buff"}) together = std::max(together, size_of(block["ops"][k], key));
    }
  }
  Excess excess("MSCCL++");
  excess.check(operations, 64, "operations a thread block");
  excess.check(channels, 16, "channels a thread block");
  excess.check(together, 8, "channels or buffers an operation");
  return excess.take();
}

}  // namespace

std::string exceeded_limits(std::string_view exported) {
  const std::size_t first = exported.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return exported[first] == '<' ? of_msccl(exported) : of_mscclpp(exported);
}

}  // namespace rondo
