// One XML element: its attributes as numbers in a range, and where it stands, for messages.
#pragma once

#include <pugixml.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.hpp"

namespace rondo {

class XmlElement {
 public:
  /// `id` is the attribute that tells the element from its siblings; `parent` must outlive it.
  XmlElement(pugi::xml_node node, const char* id, const XmlElement* parent, Problem& problem)
      : node_(node), hint_(node.first_attribute()), id_(id), parent_(parent), problem_(problem) {
    refuse_doubled_attributes();
  }

  std::string_view text(const char* name) {
    const pugi::xml_attribute attribute = node_.attribute(name, hint_);
    if (!attribute) report("attribute " + std::string(name) + " is missing");
    return attribute.value();
  }

  /// The number in attribute `name`, from `low` to `high`; `low` after a report.
  std::int64_t number(const char* name, std::int64_t low, std::int64_t high) {
    const std::string_view value = text(name);
    std::int64_t result = 0;
    const auto [stop, code] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (code == std::errc{} && stop == value.data() + value.size() && result >= low && result <= high) return result;
    expected(name, "a number from " + std::to_string(low) + " to " + std::to_string(high));
    return low;
  }

  std::uint32_t count(const char* name, std::uint32_t low, std::uint32_t high) {
    return static_cast<std::uint32_t>(number(name, low, high));
  }

  /// The text of an attribute that may be missing.
  std::string_view text_or(const char* name, std::string_view otherwise) const {
    const pugi::xml_attribute attribute = node_.attribute(name);
    return attribute ? std::string_view(attribute.value()) : otherwise;
  }

  /// The number in an attribute that may be missing.
  std::int64_t number_or(const char* name, std::int64_t otherwise, std::int64_t low, std::int64_t high) {
    return has(name) ? number(name, low, high) : otherwise;
  }

  bool has(const char* name) const { return !node_.attribute(name).empty(); }

  void expected(const char* name, const std::string& what) {
    report("attribute " + std::string(name) + "=\"" + node_.attribute(name).value() + "\": expected " + what);
  }

  void report(const std::string& what) {
    if (!problem_.any()) problem_.report(place() + ": " + what);
  }

  std::string place() const {
    const std::string own = std::string(node_.name()) + (id_ ? " " + std::string(node_.attribute(id_).value()) : "");
    return parent_ ? parent_->place() + ", " + own : own;
  }

  pugi::xml_node node() const { return node_; }

 private:
  /// The parser would take them, and attribute() the first.
  void refuse_doubled_attributes() {
    constexpr std::size_t few = 16;  // whose names are compared with one another: files have many elements, and elements few attributes
    std::array<std::uint64_t, few> names;
    std::size_t count = 0;
    for (const pugi::xml_attribute attribute : node_.attributes()) {
      const std::uint64_t name = abridged(attribute.name());
      const auto end = names.begin() + count;
      if (count == few || std::find(names.begin(), end, name) != end) return refuse_among_many();
      names[count++] = name;
    }
  }

  /// A name's first letters; equal for equal names.
  static std::uint64_t abridged(const char* name) {
    std::uint64_t letters = 0;
    for (std::size_t k = 0; k < sizeof letters && name[k] != '\0'; ++k) letters = letters << 8 | static_cast<unsigned char>(name[k]);
    return letters;
  }

  void refuse_among_many() {
    std::vector<std::string_view> names;
    for (const pugi::xml_attribute attribute : node_.attributes()) names.push_back(attribute.name());
    std::sort(names.begin(), names.end());
    const auto doubled = std::adjacent_find(names.begin(), names.end());
    if (doubled != names.end()) report("attribute " + std::string(*doubled) + " stands there twice; expected once");
  }

  pugi::xml_node node_;
  pugi::xml_attribute hint_;  // attributes are looked up in about the order in which they are written
  const char* id_;
  const XmlElement* parent_;
  Problem& problem_;
};

}  // namespace rondo
