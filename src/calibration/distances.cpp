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

std::vector<LinkFigures> by_distance(std::vector<LinkFigures> measured) {
  std::sort(measured.begin(), measured.end(), nearer);
  std::vector<LinkFigures> links;
  for (auto begin = measured.cbegin(); begin != measured.cend();) {
    const auto end = std::find_if(begin, measured.cend(), [&](const LinkFigures& link) { return link.latency_ns >= apart * begin->latency_ns; });
    links.push_back(middle_of(begin, end));
    begin = end;
  }
  return links;
}

std::vector<LinkFigures> with_other_distances(std::vector<LinkFigures> links, const std::vector<LinkFigures>& earlier) {
  const std::vector<LinkFigures> now = links;
  for (const LinkFigures& other : earlier) {
    const auto same = [&](const LinkFigures& link) {
      return std::max(other.latency_ns, link.latency_ns) < apart * std::min(other.latency_ns, link.latency_ns);
    };
    if (std::none_of(now.begin(), now.end(), same)) links.push_back(other);
  }
  std::sort(links.begin(), links.end(), nearer);
  return links;
}

}  // namespace rondo::calibration
