// The picture of a topology: nested boxes for what contains what, lines for the links between devices, a table of
// figures.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "rondo/topology.hpp"
#include "topology/boxes.hpp"
#include "topology/describe.hpp"

namespace rondo {
namespace {

struct Paint {
  const char* fill;
  const char* stroke;
};

Paint paint_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::machine:
      return {"#ffffff", "#4a5568"};
    case NodeKind::package:
      return {"#eaf1fb", "#6b8fc4"};
    case NodeKind::numa:
      return {"#e8f5ec", "#6fae85"};
    case NodeKind::cache:
      return {"#fff6e0", "#d9a940"};
    case NodeKind::core:
    case NodeKind::cpu:
      return {"#ffffff", "#9aa5b1"};
    case NodeKind::gpu:
      return {"#eadffb", "#8d6cc9"};
    case NodeKind::nic:
      return {"#fde4e1", "#d0746a"};
    case NodeKind::net_switch:
      return {"#fbe9f3", "#c06c9b"};
    default:
      return {"#f4f5f7", "#b4bcc6"};
  }
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
    }
  }
  return result;
}

constexpr double margin = 16;
constexpr double row_height = 18;

class Drawing {
 public:
  explicit Drawing(const Topology& topology) : topology_(topology), boxes_(make_boxes(topology)) {}

  std::string draw() {
    const Extent extent = lay_out(boxes_, margin, margin);
    for (const Box& box : boxes_) draw_box(box);
    draw_links();
    const double bottom = draw_table(margin + extent.height + 1.6 * row_height);
    const double width = std::max(extent.width, table_width_) + 2 * margin;
    std::ostringstream sheet;
    sheet << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << bottom + margin
          << "\" viewBox=\"0 0 " << width << ' ' << bottom + margin
          << "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"11\">\n"
          << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
          << shapes_.str() << lines_.str() << words_.str() << "</svg>\n";
    return sheet.str();
  }

 private:
  void text(double x, double y, const std::string& words, const char* style) {
    words_ << "<text x=\"" << x << "\" y=\"" << y << "\" " << style << ">" << escaped(words) << "</text>\n";
  }

  void draw_box(const Box& box) {
    const Paint paint = paint_of(box.kind);
    shapes_ << "<rect x=\"" << box.x << "\" y=\"" << box.y << "\" width=\"" << box.width << "\" height=\"" << box.height
            << "\" rx=\"5\" fill=\"" << paint.fill << "\" stroke=\"" << paint.stroke << "\"/>\n";
    double y = box.y + 20;
    const double x = box.x + 9;
    text(x, y, box.heading, "font-weight=\"bold\" fill=\"#1f2933\"");
    for (const std::string& line : box.lines) text(x, y += 15, line, "fill=\"#52606d\"");
    constexpr const char* rank_style = "font-weight=\"bold\" fill=\"#c2410c\"";
    if (!box.ranks.empty() && box.inside.empty()) text(x, y + 15, box.ranks, rank_style);
    if (!box.ranks.empty() && !box.inside.empty())
      text(x + static_cast<double>(box.heading.size() + 2) * 7, y, box.ranks, rank_style);
    if (box.node >= 0) place_of_[static_cast<std::uint32_t>(box.node)] = &box;
    for (const Box& inner : box.inside) draw_box(inner);
  }

  // Memories and packages already stand inside one another; lines are for devices.
  void draw_links() {
    for (const Link& link : topology_.links) {
      const auto from = place_of_.find(link.from);
      const auto to = place_of_.find(link.to);
      const bool inside = topology_.nodes[link.from].parent == static_cast<std::int32_t>(link.to);
      if (inside || link.type == "numa" || from == place_of_.end() || to == place_of_.end()) continue;
      if (link.type == "network")
        draw_uplink(*from->second, *to->second, link.bandwidth_bytes_per_s);
      else
        draw_curve(*from->second, *to->second, link.bandwidth_bytes_per_s);
    }
  }

  void line(const std::string& path, const char* color, const Figure& figure) {
    lines_ << "<path d=\"" << path << "\" stroke=\"" << color
           << "\" stroke-opacity=\"0.7\" stroke-width=\"1.4\" fill=\"none\""
           << (figure.provenance == Provenance::assumed ? " stroke-dasharray=\"5 3\"" : "") << "/>\n";
  }

  void draw_uplink(const Box& device, const Box& network, const Figure& rate) {
    const double x = device.x + device.width / 2;
    std::ostringstream path;
    path << "M" << x << ' ' << device.y + device.height << " V" << network.y;
    line(path.str(), "#d0746a", rate);
    text(x + 6, network.y - 14, print_bit_rate(rate.value), "fill=\"#a8483d\"");
  }

  static bool contains(const Box& outer, const Box& inner) {
    return outer.x <= inner.x && outer.y <= inner.y && outer.x + outer.width >= inner.x + inner.width &&
           outer.y + outer.height >= inner.y + inner.height;
  }

  // From the lower edge of the upper box to the upper edge of the lower one; neighbours are joined from below, and a
  // box that holds the other by its heading.
  void draw_curve(const Box& a, const Box& b, const Figure& rate) {
    const Box& upper = contains(a, b) || (a.y < b.y && !contains(b, a)) ? a : b;
    const Box& lower = &upper == &a ? b : a;
    const double x1 = upper.x + upper.width / 2, x2 = lower.x + lower.width / 2;
    std::ostringstream path;
    if (contains(upper, lower)) {
      path << "M" << x2 << ' ' << upper.y + 24 << " V" << lower.y;
    } else {
      const bool level = lower.y < upper.y + upper.height;
      const double y1 = upper.y + upper.height, y2 = level ? lower.y + lower.height : lower.y;
      const double bend = level ? 24 : std::max(18.0, (y2 - y1) / 2);
      path << "M" << x1 << ' ' << y1 << " C" << x1 << ' ' << y1 + bend << ' ' << x2 << ' '
           << (level ? y2 + bend : y2 - bend) << ' ' << x2 << ' ' << y2;
    }
    line(path.str(), "#b79ee0", rate);
  }

  // Draws the table of figures from `y` down; returns where it ends.
  double draw_table(double y) {
    const auto head = "font-weight=\"bold\" fill=\"#1f2933\"";
    for (std::uint32_t host = 0; host < topology_.hosts.size() && host < 1; ++host) {
      text(margin, y, "From one processor to another of", head);
      for (const auto& level : crossings(topology_, host))
        row(y += row_height, level.where, print_rate(level.cost.bandwidth_bytes_per_s),
            print_time(level.cost.latency_ns), std::string(to_string(level.cost.provenance)));
    }
    const auto groups = cross_links(topology_);
    if (groups.empty()) return y;
    text(margin, y += 1.4 * row_height, "Links", head);
    for (const LinkGroup& group : groups) {
      const Figure& rate = group.link.bandwidth_bytes_per_s;
      row(y += row_height, group.words,
          group.link.type == "network" ? print_bit_rate(rate.value) : print_rate(rate.value),
          print_time(group.link.latency_ns.value), std::string(to_string(rate.provenance)) + ": " + rate.source);
    }
    return y;
  }

  void row(double y, const std::string& what, const std::string& rate, const std::string& time,
           const std::string& origin) {
    constexpr const char* style = "fill=\"#3e4c59\"";
    text(margin + 8, y, what, style);
    text(margin + 250, y, rate, style);
    text(margin + 320, y, time, style);
    text(margin + 375, y, origin, style);
    table_width_ = std::max(table_width_, 375 + 6.4 * static_cast<double>(origin.size()));
  }

  const Topology& topology_;
  std::vector<Box> boxes_;
  std::map<std::uint32_t, const Box*> place_of_;
  double table_width_ = 0;
  // Three layers: lines pass over boxes and under words.
  std::ostringstream shapes_;
  std::ostringstream lines_;
  std::ostringstream words_;
};

}  // namespace

std::string draw_topology_svg(const Topology& topology) {
  return Drawing(topology).draw();
}

}  // namespace rondo
