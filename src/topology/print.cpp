// A topology as a tree that people read.
#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "rondo/topology.hpp"
#include "topology/describe.hpp"

namespace rondo {
namespace {

// What stands on one line: a chain of nodes of which each has the next as its only child ("L2 · L1 · core"), and as
// often as neighbours look the same, all of these ("8 x L2#0-7 · ...").
struct Line {
  std::vector<std::vector<std::uint32_t>> columns;  // per position in the chain, the nodes of all folded neighbours
  std::vector<std::uint32_t> ranks;
};

class Printer {
 public:
  explicit Printer(const Topology& topology)
      : topology_(topology), children_(children_of(topology)), links_(topology.nodes.size()) {
    for (const Link& link : topology.links) links_[link.from].push_back(&link);
    ranks_.resize(topology.nodes.size());
    for (std::uint32_t rank = 0; rank < topology.ranks.size(); ++rank)
      if (topology.ranks[rank].node >= 0) ranks_[topology.ranks[rank].node].push_back(rank);
  }

  std::string print() {
    for (std::uint32_t n = 0; n < topology_.nodes.size(); ++n)
      if (topology_.nodes[n].kind == NodeKind::machine) print_machine(n);
    print_cross_links();
    return text_.str();
  }

 private:
  const Node& node(std::uint32_t index) const { return topology_.nodes[index]; }

  void print_machine(std::uint32_t machine) {
    const Node& top = node(machine);
    const std::string detail = printable(top.detail);
    text_ << printable(top.name) << (detail.empty() ? "" : " (" + detail + ")") << ": "
          << print_count(top.cpus.size(), "processor");
    const std::uint32_t usable = topology_.usable_cpus(top.host);
    const double quota = top.host == 0 ? topology_.cpu_quota : 0;
    if (quota > 0) text_ << "; the control group's quota is worth " << number(quota);
    if (usable < top.cpus.size()) text_ << "; " << usable << " usable";
    if (!ranks_[machine].empty()) text_ << rank_words(ranks_[machine]);
    text_ << "\n";
    print_children(machine, "");
    print_crossings(top.host);
  }

  static std::string number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", value);
    return text.data();
  }

  // Chains end at a core, whose processors are named on its line.
  bool joins(std::uint32_t index) const {
    const NodeKind kind = node(index).kind;
    return children_[index].size() == 1 && ranks_[index].empty() &&
           (kind == NodeKind::cache || kind == NodeKind::pci_bridge);
  }

  Line line_of(std::uint32_t index) const {
    Line line;
    for (line.columns.push_back({index}); joins(index); line.columns.push_back({index}))
      index = children_[index].front();
    line.ranks = ranks_[index];
    if (node(index).kind == NodeKind::core)
      for (const std::uint32_t cpu : children_[index])
        line.ranks.insert(line.ranks.end(), ranks_[cpu].begin(), ranks_[cpu].end());
    return line;
  }

  bool is_leaf(std::uint32_t index) const { return children_[index].empty() || node(index).kind == NodeKind::core; }

  // Lines that differ by their numbers alone. Devices keep a line each: they have figures of their own.
  bool alike(const Line& a, const Line& b) const {
    if (a.columns.size() != b.columns.size() || a.ranks.size() != b.ranks.size()) return false;
    const std::uint32_t end = b.columns.back().front();
    if (!is_leaf(end) || node(end).cpus.empty()) return false;
    for (std::size_t i = 0; i < a.columns.size(); ++i) {
      const Node& one = node(a.columns[i].front());
      const Node& other = node(b.columns[i].front());
      if (one.kind != other.kind || one.bytes != other.bytes || one.cpus.size() != other.cpus.size() ||
          sort_of(one) != sort_of(other))
        return false;
    }
    return true;
  }

  static std::string sort_of(const Node& node) { return node.name.substr(0, node.name.find('#')); }

  void print_children(std::uint32_t parent, const std::string& indent) {
    const auto& children = children_[parent];
    for (std::size_t i = 0; i < children.size();) {
      Line line = line_of(children[i]);
      std::size_t folded = 1;
      for (; i + folded < children.size(); ++folded) {
        const Line next = line_of(children[i + folded]);
        if (!alike(line, next)) break;
        for (std::size_t column = 0; column < line.columns.size(); ++column)
          line.columns[column].push_back(next.columns[column].front());
        line.ranks.insert(line.ranks.end(), next.ranks.begin(), next.ranks.end());
      }
      i += folded;
      const bool last = i == children.size();
      text_ << indent << (last ? "└─ " : "├─ ") << words_of(line, folded) << "\n";
      const std::uint32_t end = line.columns.back().back();
      if (!is_leaf(end)) print_children(end, indent + (last ? "   " : "│  "));
    }
  }

  std::string words_of(Line& line, std::size_t folded) const {
    std::string words = folded > 1 ? std::to_string(folded) + " x " : "";
    for (std::size_t column = 0; column < line.columns.size(); ++column) {
      if (column > 0) words += " · ";
      words += name_of(line.columns[column]) + facts_of(line.columns[column], column + 1 == line.columns.size());
    }
    std::sort(line.ranks.begin(), line.ranks.end());
    return line.ranks.empty() ? words : words + rank_words(line.ranks);
  }

  static std::string rank_words(const std::vector<std::uint32_t>& ranks) {
    std::string words = ranks.size() == 1 ? "  <- rank " : "  <- ranks ";
    return words.append(print_ranges(ranks));
  }

  std::string name_of(const std::vector<std::uint32_t>& nodes) const {
    const std::string first = printable(node(nodes.front()).name);
    const std::size_t hash = first.find('#');
    if (nodes.size() == 1 || hash == std::string::npos) return first;
    const std::string& last = node(nodes.back()).name;
    std::string range = first + "-";
    return range.append(last, last.find('#') + 1);
  }

  std::string facts_of(const std::vector<std::uint32_t>& nodes, bool ends_line) const {
    const Node& first = node(nodes.front());
    std::string facts;
    if (first.bytes > 0) facts.append(" ").append(print_size(first.bytes));
    if (first.kind == NodeKind::numa && first.cpus.empty()) facts += " (memory alone)";
    if (first.kind == NodeKind::core) {
      std::vector<std::uint32_t> cpus;
      for (const std::uint32_t core : nodes) cpus.insert(cpus.end(), node(core).cpus.begin(), node(core).cpus.end());
      std::sort(cpus.begin(), cpus.end());
      facts.append(" (cpu ").append(print_ranges(cpus)).append(")");
    }
    std::string rest = device_words(first);
    if (!first.detail.empty()) rest += (rest.empty() ? "" : ", ") + printable(first.detail);
    for (const Link* link : links_[nodes.front()])
      if (link->type == "pci" && ends_line)
        rest.append(rest.empty() ? "PCI " : ", PCI ").append(with_provenance(link->bandwidth_bytes_per_s));
    return rest.empty() ? facts : facts + "  " + rest;
  }

  static std::string with_provenance(const Figure& rate) {
    return print_rate(rate.value).append(" ").append(to_string(rate.provenance));
  }

  void print_crossings(std::uint32_t host) {
    const auto levels = crossings(topology_, host);
    if (levels.empty()) return;
    text_ << "\nFrom one processor to another of\n";
    for (const Crossing& level : levels)
      row(level.where, print_rate(level.cost.bandwidth_bytes_per_s), print_time(level.cost.latency_ns),
          std::string(to_string(level.cost.provenance)));
  }

  void print_cross_links() {
    const auto groups = cross_links(topology_);
    if (!groups.empty()) text_ << "\nLinks\n";
    for (const LinkGroup& group : groups) {
      const Figure& rate = group.link.bandwidth_bytes_per_s;
      row(group.words, group.link.type == "network" ? print_bit_rate(rate.value) : print_rate(rate.value),
          print_time(group.link.latency_ns.value),
          std::string(to_string(rate.provenance)) + " (" + rate.source + "), latency " +
              std::string(to_string(group.link.latency_ns.provenance)));
    }
  }

  void row(const std::string& what, const std::string& rate, const std::string& time, const std::string& origin) {
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(), "  %-34s %10s %9s   ", what.c_str(), rate.c_str(), time.c_str());
    text_ << line.data() << origin << "\n";
  }

  const Topology& topology_;
  const std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::vector<const Link*>> links_;
  std::vector<std::vector<std::uint32_t>> ranks_;
  std::ostringstream text_;
};

}  // namespace

std::string print_topology(const Topology& topology) {
  return Printer(topology).print();
}

}  // namespace rondo
