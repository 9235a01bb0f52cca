#include "calibration/distances.hpp"

#include <algorithm>

#include "calibration/fields.hpp"

namespace rondo::calibration {
namespace {

using Iterator = std::vector<LinkFigures>::const_iterator;

bool nearer(const LinkFigures& a, const LinkFigures& b) { return a.latency_ns < b.latency_ns; }

LinkFigures middle_of(Iterator begin, Iterator end) {
  LinkFigures middle;
  for (const LinkField& field : link_fields) {
    std::vector<double> values;
    for (auto link = begin; link != end; ++link) values.push_back((*link).*field.value);
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), place, values.end());
    middle.*field.value = *place;
  }
  return middle;
}

}  // namespace

void take_links(CoreFigures& figures, std::vector<LinkFigures> measured) {
  std::sort(measured.begin(), measured.end(), nearer);
  const double shortest = measured.front().latency_ns, longest = measured.back().latency_ns;
  const auto near_end = std::find_if(measured.begin(), measured.end(), [&](const LinkFigures& link) { return link.latency_ns >= apart * shortest; });
  const auto far_begin = std::find_if(measured.begin(), measured.end(), [&](const LinkFigures& link) { return link.latency_ns > longest / apart; });
  figures.near = middle_of(measured.begin(), near_end);
  figures.far = near_end == measured.end() ? LinkFigures{} : middle_of(std::max(near_end, far_begin), measured.end());
}

void keep_other_distance(CoreFigures& figures, const CoreFigures& earlier) {
  if (figures.far.latency_ns > 0) return;
  const LinkFigures now = figures.near;
  for (const Distance& distance : distances) {
    const LinkFigures& other = earlier.*distance.figures;
    if (other.latency_ns <= 0 || std::max(other.latency_ns, now.latency_ns) < apart * std::min(other.latency_ns, now.latency_ns)) continue;
    figures.near = std::min(now, other, nearer);
    figures.far = std::max(now, other, nearer);
  }
}

}  // namespace rondo::calibration
