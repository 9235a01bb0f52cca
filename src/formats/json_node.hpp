// One place in a JSON text: typed access, and its path, for messages.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

#include "formats/problem.hpp"

namespace rondo::formats {

class JsonNode {
 public:
  JsonNode(const nlohmann::json& value, Problem& problem) : value_(&value), problem_(&problem) {}

  bool has(const char* key) const { return value_->is_object() && value_->contains(key); }

  /// The member `key`; a report and null when it is missing. The parent must outlive what is returned, here and below.
  JsonNode at(const char* key) const {
    if (has(key)) return {(*value_)[key], this, key, 0};
    report(std::string("\"") + key + "\" is missing");
    return {null(), this, key, 0};
  }

  JsonNode at(std::size_t index) const { return {(*value_)[index], this, nullptr, index}; }

  /// Elements of an array; a report and 0 when it is none.
  std::size_t size() const {
    if (value_->is_array()) return value_->size();
    expected("an array");
    return 0;
  }

  std::uint64_t number(std::uint64_t low, std::uint64_t high) const {
    if (value_->is_number_unsigned()) {
      const auto number = value_->get<std::uint64_t>();
      if (number >= low && number <= high) return number;
    }
    expected("a number from " + std::to_string(low) + " to " + std::to_string(high));
    return low;
  }

  std::uint32_t count(std::uint32_t low, std::uint32_t high) const {
    return static_cast<std::uint32_t>(number(low, high));
  }

  bool boolean() const {
    if (value_->is_boolean()) return value_->get<bool>();
    expected("true or false");
    return false;
  }

  std::string text() const {
    if (value_->is_string()) return value_->get<std::string>();
    expected("a string");
    return {};
  }

  void expected(const std::string& what) const {
    if (problem_->any() || value_->is_null()) return report("expected " + what);
    const bool scalar = !value_->is_structured();
    report("expected " + what +
           (scalar ? ", found " + value_->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) : ""));
  }

  void report(const std::string& what) const {
    if (!problem_->any()) problem_->report(path() + ": " + what);
  }

  /// Says that the plan means something we can't do, in the caller's words.
  void refuse(const std::string& what) const { problem_->report("not supported: " + what, Errc::unsupported); }

  std::string path() const {
    if (!parent_) return "plan";
    if (!key_) return parent_->path() + "[" + std::to_string(index_) + "]";
    return parent_->parent_ ? parent_->path() + "." + key_ : key_;
  }

  bool failed() const { return problem_->any(); }

 private:
  JsonNode(const nlohmann::json& value, const JsonNode* parent, const char* key, std::size_t index)
      : value_(&value), parent_(parent), key_(key), index_(index), problem_(parent->problem_) {}

  static const nlohmann::json& null() {
    static const nlohmann::json value;
    return value;
  }

  const nlohmann::json* value_;
  const JsonNode* parent_ = nullptr;
  const char* key_ = nullptr;
  std::size_t index_ = 0;
  Problem* problem_;
};

}  // namespace rondo::formats
