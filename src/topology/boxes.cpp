#include "topology/boxes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "topology/describe.hpp"

namespace rondo {
namespace {

constexpr double gap = 8;
constexpr double padding = 9;
constexpr double room_for_links = 46;  // above switches and the network
constexpr double line_height = 15;
constexpr double character_width = 6.6;
constexpr double wide = 1.9;              // width to height of a pleasant sheet
constexpr double wide_shelf = 2.4;        // devices are read in rows
constexpr std::size_t most_switches = 8;  // in one row, so that links to them spread out
constexpr std::size_t longest_line = 30;

std::string shortened(const std::string& text) {
  return text.size() <= longest_line ? text : text.substr(0, longest_line - 2) + "..";
}

class Maker {
 public:
  explicit Maker(const Topology& topology) : topology_(topology), children_(children_of(topology)) {
    ranks_.resize(topology.nodes.size());
    for (std::uint32_t rank = 0; rank < topology.ranks.size(); ++rank)
      if (topology.ranks[rank].node >= 0) ranks_[topology.ranks[rank].node].push_back(rank);
    pci_.resize(topology.nodes.size());
    for (const Link& link : topology.links)
      if (link.type == "pci") pci_[link.from] = &link;
  }

  Box box_of(std::uint32_t index) const {
    const Node& node = topology_.nodes[index];
    if (index_of_core(index) >= 0) return core_box(index);
    Box box;
    box.node = index;
    box.kind = node.kind;
    box.heading = node.name;
    if (node.bytes > 0) box.heading.append("  ").append(print_size(node.bytes));
    if (!node.detail.empty() && (node.kind == NodeKind::package || node.kind == NodeKind::machine))
      box.heading.append("  ").append(node.detail);
    if (is_device(node)) add_device_lines(box, node, index);
    box.ranks = rank_words(ranks_[index]);
    add_inside(box, index);
    return box;
  }

 private:
  static bool is_device(const Node& node) {
    return node.cpus.empty() && node.kind != NodeKind::numa && node.parent >= 0;
  }

  static std::string rank_words(std::vector<std::uint32_t> ranks) {
    if (ranks.empty()) return {};
    std::sort(ranks.begin(), ranks.end());
    std::string words = ranks.size() == 1 ? "rank " : "ranks ";
    return words.append(print_ranges(ranks));
  }

  // The core at the end of a chain of caches that are its alone; such a chain is one box.
  std::int64_t index_of_core(std::uint32_t index) const {
    while (topology_.nodes[index].kind == NodeKind::cache && children_[index].size() == 1)
      index = children_[index].front();
    const NodeKind kind = topology_.nodes[index].kind;
    const bool bare = kind == NodeKind::cpu;
    return kind == NodeKind::core || bare ? static_cast<std::int64_t>(index) : -1;
  }

  Box core_box(std::uint32_t index) const {
    Box box;
    box.node = index;
    box.kind = NodeKind::core;
    std::vector<std::uint32_t> ranks;
    for (;; index = children_[index].front()) {
      const Node& node = topology_.nodes[index];
      box.folded.push_back(index);
      ranks.insert(ranks.end(), ranks_[index].begin(), ranks_[index].end());
      if (node.kind != NodeKind::cache) break;
      box.lines.push_back(node.name.substr(0, node.name.find('#')) + "  " + print_size(node.bytes));
    }
    const Node& core = topology_.nodes[index];
    box.heading = core.name;
    for (const std::uint32_t cpu : children_[index]) {
      box.folded.push_back(cpu);
      ranks.insert(ranks.end(), ranks_[cpu].begin(), ranks_[cpu].end());
    }
    if (core.kind == NodeKind::core) box.lines.push_back(std::string("cpu ").append(print_ranges(core.cpus)));
    box.ranks = rank_words(ranks);
    return box;
  }

  void add_device_lines(Box& box, const Node& node, std::uint32_t index) const {
    if (node.kind == NodeKind::pci_bridge) return;
    const std::string words = device_words(node);
    if (!words.empty() && node.kind != NodeKind::gpu) box.lines.push_back(words);
    for (std::size_t begin = 0; begin < node.detail.size();) {
      const std::size_t comma = std::min(node.detail.find(", ", begin), node.detail.size());
      box.lines.push_back(shortened(node.detail.substr(begin, comma - begin)));
      begin = comma + 2;
    }
    if (pci_[index] == nullptr) return;
    const Figure& rate = pci_[index]->bandwidth_bytes_per_s;
    box.lines.push_back(std::string("PCI ").append(print_rate(rate.value)));
    if (rate.provenance == Provenance::assumed) box.lines.back() += " assumed";
  }

  // Bridges behind a host bridge carry nothing that a picture needs: their devices stand in the host bridge's box.
  void add_inside(Box& box, std::uint32_t index) const {
    for (const std::uint32_t child : children_[index]) {
      if (topology_.nodes[child].kind == NodeKind::pci_bridge && box.kind == NodeKind::pci_bridge) {
        box.folded.push_back(child);
        add_inside(box, child);
      } else {
        box.inside.push_back(box_of(child));
      }
    }
  }

  const Topology& topology_;
  const std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::vector<std::uint32_t>> ranks_;
  std::vector<const Link*> pci_;
};

double text_width(const Box& box) {
  std::size_t longest = box.heading.size() + 1;
  for (const std::string& line : box.lines) longest = std::max(longest, line.size());
  const std::size_t badge = box.ranks.empty() ? 0 : box.ranks.size() + 2;
  if (box.inside.empty()) return static_cast<double>(std::max(longest, badge)) * character_width;
  return static_cast<double>(longest + badge) * character_width;
}

// The height of heading and lines; a leaf's ranks stand on a line of their own.
double text_height(const Box& box) {
  const std::size_t ranks = box.inside.empty() && !box.ranks.empty() ? 1 : 0;
  return line_height * static_cast<double>(1 + box.lines.size() + ranks);
}

// Boxes in rows of `columns`, from (0, 0).
Extent rows_of(std::vector<Box*>& boxes, std::size_t columns, bool place, double x, double y) {
  Extent whole;
  for (std::size_t begin = 0; begin < boxes.size(); begin += columns) {
    const std::size_t end = std::min(begin + columns, boxes.size());
    double width = 0, height = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (place) boxes[i]->x = x + width, boxes[i]->y = y + whole.height;
      width += boxes[i]->width + gap;
      height = std::max(height, boxes[i]->height);
    }
    whole.width = std::max(whole.width, width - gap);
    whole.height += height + gap;
  }
  whole.height = std::max(0.0, whole.height - gap);
  return whole;
}

// Which shelf of its parent a box stands on, from the top: processors, then devices by what they are.
std::size_t shelf_of(const Box& box) {
  switch (box.kind) {
    case NodeKind::pci_bridge:
      return 1;
    case NodeKind::gpu:
      return 2;
    case NodeKind::nic:
      return 3;
    case NodeKind::net_switch:
      return 4;
    case NodeKind::other:
      return box.inside.empty() ? 5 : 0;
    default:
      return 0;
  }
}

std::size_t best_columns(std::vector<Box*>& boxes) {
  if (boxes.empty()) return 1;
  const bool switches = boxes.front()->kind == NodeKind::net_switch;
  if (switches && boxes.size() <= most_switches) return boxes.size();
  const double aspect = shelf_of(*boxes.front()) == 0 ? wide : wide_shelf;
  std::size_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t columns = 1; columns <= boxes.size(); ++columns) {
    const Extent extent = rows_of(boxes, columns, false, 0, 0);
    // A last row that is nearly empty looks like a mistake, so it costs a little.
    const bool ragged = boxes.size() % columns != 0;
    const double size = std::max(extent.width / aspect, extent.height) * (ragged ? 1.15 : 1.0);
    if (size < least) least = size, best = columns;
  }
  return best;
}

using Shelves = std::array<std::vector<Box*>, 6>;

Shelves shelves_of(std::vector<Box>& boxes) {
  Shelves shelves;
  for (Box& box : boxes) shelves[shelf_of(box)].push_back(&box);
  // A single interface beside a single disk needs no shelf of its own.
  std::size_t devices = 0;
  for (std::size_t shelf = 2; shelf < shelves.size(); ++shelf) devices += shelves[shelf].size();
  for (std::size_t shelf = 3; devices <= 4 && shelf < shelves.size(); ++shelf) {
    shelves[2].insert(shelves[2].end(), shelves[shelf].begin(), shelves[shelf].end());
    shelves[shelf].clear();
  }
  return shelves;
}

Extent fill(std::vector<Box>& boxes, bool place, double x, double y) {
  Extent whole;
  for (std::vector<Box*>& shelf : shelves_of(boxes)) {
    if (shelf.empty()) continue;
    if (whole.height > 0) whole.height += shelf.front()->kind == NodeKind::net_switch ? room_for_links : gap;
    const Extent extent = rows_of(shelf, best_columns(shelf), place, x, y + whole.height);
    whole.width = std::max(whole.width, extent.width);
    whole.height += extent.height;
  }
  return whole;
}

// All cores get the width that the widest needs, so that they stand in columns.
double widest_core(const std::vector<Box>& boxes) {
  double widest = 0;
  for (const Box& box : boxes)
    widest = std::max({widest, box.kind == NodeKind::core ? text_width(box) : 0, widest_core(box.inside)});
  return widest;
}

void measure(Box& box, double core_width) {
  for (Box& inner : box.inside) measure(inner, core_width);
  const Extent inside = fill(box.inside, false, 0, 0);
  const double text = box.kind == NodeKind::core ? core_width : text_width(box);
  box.width = std::max(text, inside.width) + 2 * padding;
  box.height = text_height(box) + 2 * padding + (box.inside.empty() ? 0 : inside.height + gap);
}

void place(Box& box) {
  fill(box.inside, true, box.x + padding, box.y + padding + text_height(box) + gap);
  for (Box& inner : box.inside) place(inner);
}

}  // namespace

std::vector<Box> make_boxes(const Topology& topology) {
  const Maker maker{topology};
  std::vector<Box> boxes;
  for (std::uint32_t n = 0; n < topology.nodes.size(); ++n)
    if (topology.nodes[n].parent < 0) boxes.push_back(maker.box_of(n));
  return boxes;
}

Extent lay_out(std::vector<Box>& boxes, double x, double y) {
  const double core_width = widest_core(boxes);
  std::vector<Box*> machines, networks;
  for (Box& box : boxes) {
    measure(box, core_width);
    (box.kind == NodeKind::net_switch ? networks : machines).push_back(&box);
  }
  Extent whole = rows_of(machines, best_columns(machines), true, x, y);
  for (Box* network : networks) {
    network->x = x;
    network->y = y + whole.height + room_for_links;
    network->width = whole.width;
    whole.height += room_for_links + network->height;
  }
  for (Box& box : boxes) place(box);
  return whole;
}

}  // namespace rondo
