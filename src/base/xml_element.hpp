// One XML element: its attributes as numbers in a range, and where it stands, for messages.
#pragma once

#include <pugixml.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/problem.hpp"

namespace rondo {

/// An attribute's name. Names are told apart by eight letters at once, which those in the program's text are turned into when it is compiled.
class XmlName {
 public:
  XmlName() = default;  ///< of no value yet
  consteval XmlName(const char* text) : XmlName(text, 0) {}
  static XmlName of(const char* text) { return XmlName(text, 0); }

  const char* text() const { return text_; }
  std::uint64_t letters() const { return letters_; }  ///< the first eight
  bool operator==(const XmlName& other) const {
    constexpr std::uint64_t most_of_seven = ~std::uint64_t{0} >> 8;  // up to here they are the whole name
    return letters_ == other.letters_ && (letters_ <= most_of_seven || std::strcmp(text_, other.text_) == 0);
  }

 private:
  constexpr XmlName(const char* text, std::uint64_t letters) : text_(text), letters_(letters) {
    for (std::size_t k = 0; k < sizeof letters_ && text[k] != '\0'; ++k) letters_ = letters_ << 8 | static_cast<unsigned char>(text[k]);
  }

  const char* text_;
  std::uint64_t letters_;
};

class XmlElement {
 public:
  /// `id` is the attribute that tells the element from its siblings; `parent` must outlive it.
  XmlElement(pugi::xml_node node, const char* id, const XmlElement* parent, Problem& problem)
      : node_(node), id_(id), parent_(parent), problem_(problem) {
    for (pugi::xml_attribute attribute = node.first_attribute(); attribute; attribute = attribute.next_attribute())
      take(XmlName::of(attribute.name()), attribute.value());
  }

  std::string_view text(XmlName name) {
    const char* const value = find(name);
    if (value == nullptr) report("attribute " + std::string(name.text()) + " is missing");
    return value == nullptr ? std::string_view() : value;
  }

  /// The number in attribute `name`, from `low` to `high`; `low` after a report.
  std::int64_t number(XmlName name, std::int64_t low, std::int64_t high) {
    const std::string_view value = text(name);
    std::int64_t result = 0;
    const auto [stop, code] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (code == std::errc{} && stop == value.data() + value.size() && result >= low && result <= high) return result;
    expected(name, "a number from " + std::to_string(low) + " to " + std::to_string(high));
    return low;
  }

  std::uint32_t count(XmlName name, std::uint32_t low, std::uint32_t high) {
    return static_cast<std::uint32_t>(number(name, low, high));
  }

  /// The text of an attribute that may be missing.
  std::string_view text_or(XmlName name, std::string_view otherwise) const {
    const char* const value = find(name);
    return value == nullptr ? otherwise : value;
  }

  /// The number in an attribute that may be missing.
  std::int64_t number_or(XmlName name, std::int64_t otherwise, std::int64_t low, std::int64_t high) {
    return has(name) ? number(name, low, high) : otherwise;
  }

  bool has(XmlName name) const { return find(name) != nullptr; }

  void expected(XmlName name, const std::string& what) {
    report("attribute " + std::string(name.text()) + "=\"" + node_.attribute(name.text()).value() + "\": expected " + what);
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
  struct Attribute {
    XmlName name;
    const char* value;
  };

  /// Refuses an attribute that stands there twice, which the parser lets through.
  void take(XmlName name, const char* value) {
    const std::uint64_t mark = std::uint64_t{1} << (name.letters() * 0x9e3779b97f4a7c15 >> 58);
    if ((marks_ & mark) != 0 && find(name) != nullptr) return report("attribute " + std::string(name.text()) + " stands there twice; expected once");
    if (count_ == attributes_.size()) return report("more than " + std::to_string(count_) + " attributes; fewer are expected");
    marks_ |= mark;
    attributes_[count_++] = {name, value};
  }

  /// They are looked up in about the order in which they are written.
  const char* find(XmlName name) const {
    for (std::size_t k = 0; k < count_; ++k) {
      if (next_ >= count_) next_ = 0;
      const Attribute& attribute = attributes_[next_++];
      if (attribute.name == name) return attribute.value;
    }
    return nullptr;
  }

  pugi::xml_node node_;
  std::array<Attribute, 64> attributes_;  ///< the first count_
  std::size_t count_ = 0;
  std::uint64_t marks_ = 0;  ///< a bit for each name: a new one's is almost always a new bit
  mutable std::size_t next_ = 0;
  const char* id_;
  const XmlElement* parent_;
  Problem& problem_;
};

}  // namespace rondo
