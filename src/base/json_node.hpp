// One place in a plan's JSON text: typed access that reports the first thing wrong, with its path.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/problem.hpp"

namespace rondo {

class JsonNode {
 public:
  /// The root, called "plan"; the paths of its members begin with `prefix`.
  JsonNode(const nlohmann::json& json, Problem& problem, const char* prefix = "plan.")
      : json_(&json), key_(prefix), problem_(&problem) {}

  const nlohmann::json& json() const { return *json_; }
  bool failed() const { return problem_->any(); }
  bool has(const char* key) const { return json_->is_object() && json_->contains(key); }

  /// The member `key`; a report and null when it is missing. The parent must outlive what is returned, here and below.
  JsonNode at(const char* key) const {
    if (has(key)) return {(*json_)[key], this, key, 0};
    report(std::string("\"") + key + "\" is missing");
    return {null(), this, key, 0};
  }
  JsonNode member(const std::string& key, const nlohmann::json& value) const { return {value, this, key.c_str(), 0}; }
  JsonNode at(std::size_t index) const { return {(*json_)[index], this, nullptr, index}; }

  /// Elements of an array; a report and 0 when it is none.
  std::size_t size() const {
    if (json_->is_array()) return json_->size();
    expected("an array");
    return 0;
  }

  std::uint64_t number(std::uint64_t low, std::uint64_t high, const char* kind = "a number") const {
    if (json_->is_number_unsigned()) {
      const auto number = json_->get<std::uint64_t>();
      if (number >= low && number <= high) return number;
    }
    expected(std::string(kind) + " from " + std::to_string(low) + " to " + std::to_string(high));
    return low;
  }

  std::uint32_t count(std::uint32_t low, std::uint32_t high) const {
    return static_cast<std::uint32_t>(number(low, high));
  }

  bool boolean() const {
    if (json_->is_boolean()) return json_->get<bool>();
    expected("true or false");
    return false;
  }

  std::string text() const {
    if (json_->is_string()) return json_->get<std::string>();
    expected("a string");
    return {};
  }

  /// The same by the type of what is read.
  void read(std::uint32_t& value) const { value = static_cast<std::uint32_t>(number(0, std::numeric_limits<std::uint32_t>::max(), "a whole number")); }
  void read(std::uint64_t& value) const { value = number(0, std::numeric_limits<std::uint64_t>::max(), "a whole number"); }
  void read(bool& value) const { value = boolean(); }
  void read(std::string& value) const { value = text(); }
  void read(double& value) const {
    if (!json_->is_number()) return expected("a number");
    value = json_->get<double>();
  }

  void expected(const std::string& what) const {
    using nlohmann::json;
    if (failed()) return;  // the path and the text of what was found cost time
    std::string found =
        json_->is_structured() ? json_->type_name() : json_->dump(-1, ' ', false, json::error_handler_t::replace);
    if (found.size() > 100) found = found.substr(0, 100) + "...";
    report("expected " + what + ", found " + found);
  }

  void report(const std::string& what) const {
    if (!failed()) problem_->report(path() + ": " + what);
  }

  /// Says that the plan means something we can't do, in the caller's words.
  void refuse(const std::string& what) const { problem_->report("not supported: " + what, Errc::unsupported); }

  std::string path() const {
    if (parent_ == nullptr) return "plan";
    if (key_ == nullptr) return parent_->path() + "[" + std::to_string(index_) + "]";
    return parent_->parent_ == nullptr ? std::string(parent_->key_) + key_ : parent_->path() + "." + key_;
  }

 private:
  JsonNode(const nlohmann::json& json, const JsonNode* parent, const char* key, std::size_t index)
      : json_(&json), parent_(parent), key_(key), index_(index), problem_(parent->problem_) {}

  static const nlohmann::json& null() {
    static const nlohmann::json value;
    return value;
  }

  const nlohmann::json* json_;
  const JsonNode* parent_ = nullptr;
  const char* key_ = nullptr;  // the root's: the prefix
  std::size_t index_ = 0;
  Problem* problem_;
};

}  // namespace rondo
