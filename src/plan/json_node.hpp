// One place in a plan's JSON text: typed access that remembers the first thing wrong, with its path.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace rondo::plan {

/// Readers go on with defaults after a report; whoever loops looks at any().
struct Problem {
  std::optional<std::string> first;
  bool any() const { return first.has_value(); }
  void report(const std::string& what) {
    if (!first) first = what;
  }
};

class JsonNode {
 public:
  JsonNode(const nlohmann::json& json, Problem& problem) : json_(&json), problem_(&problem) {}

  const nlohmann::json& json() const { return *json_; }
  bool failed() const { return problem_->any(); }
  void report(const std::string& what) const { problem_->report(path() + ": " + what); }

  void expected(const std::string& what) const {
    using nlohmann::json;
    std::string found =
        json_->is_structured() ? json_->type_name() : json_->dump(-1, ' ', false, json::error_handler_t::replace);
    if (found.size() > 100) found = found.substr(0, 100) + "...";
    report("expected " + what + ", found " + found);
  }

  bool has(const char* key) const { return json_->is_object() && json_->contains(key); }

  /// The member `key`, which must be there. The parent must outlive what is returned, here and below.
  JsonNode at(const char* key) const { return {(*json_)[key], *this, key, 0}; }
  JsonNode member(const std::string& key, const nlohmann::json& value) const { return {value, *this, key.c_str(), 0}; }
  JsonNode at(std::size_t index) const { return {(*json_)[index], *this, nullptr, index}; }

  /// Elements of an array; a report and 0 when it is none.
  std::size_t size() const {
    if (json_->is_array()) return json_->size();
    expected("an array");
    return 0;
  }

  std::uint64_t number(std::uint64_t high) const {
    if (json_->is_number_unsigned() && json_->get<std::uint64_t>() <= high) return json_->get<std::uint64_t>();
    expected("a whole number from 0 to " + std::to_string(high));
    return 0;
  }

  void read(std::uint32_t& value) const {
    value = static_cast<std::uint32_t>(number(std::numeric_limits<std::uint32_t>::max()));
  }
  void read(std::uint64_t& value) const { value = number(std::numeric_limits<std::uint64_t>::max()); }

  void read(double& value) const {
    if (!json_->is_number()) return expected("a number");
    value = json_->get<double>();
  }

  void read(bool& value) const {
    if (!json_->is_boolean()) return expected("true or false");
    value = json_->get<bool>();
  }

  void read(std::string& value) const {
    if (!json_->is_string()) return expected("a string");
    value = json_->get<std::string>();
  }

  std::string path() const {
    if (parent_ == nullptr) return "plan";
    const std::string above = parent_->path();
    return key_ == nullptr ? above + "[" + std::to_string(index_) + "]" : above + "." + key_;
  }

 private:
  JsonNode(const nlohmann::json& json, const JsonNode& parent, const char* key, std::size_t index)
      : json_(&json), parent_(&parent), key_(key), index_(index), problem_(parent.problem_) {}

  const nlohmann::json* json_;
  const JsonNode* parent_ = nullptr;
  const char* key_ = nullptr;
  std::size_t index_ = 0;
  Problem* problem_;
};

}  // namespace rondo::plan
