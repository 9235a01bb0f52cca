#include "topology/hwloc_matrices.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace rondo::hwloc {
namespace {

constexpr unsigned kind_means_bandwidth = 8;  // HWLOC_DISTANCES_KIND_MEANS_BANDWIDTH
constexpr std::size_t most_elements = 4096;

// The words of all children called `name`, which hwloc wraps at ten or so a line.
std::vector<std::string> words_of(const pugi::xml_node& matrix, const char* name) {
  std::vector<std::string> words;
  for (const pugi::xml_node& part : matrix.children(name)) {
    std::istringstream text{part.child_value()};
    for (std::string word; text >> word;) words.push_back(word);
  }
  return words;
}

bool consistent(const Matrix& matrix) {
  const std::size_t n = matrix.elements.size();
  return n >= 2 && n <= most_elements && matrix.values.size() == n * n &&
         std::all_of(matrix.values.begin(), matrix.values.end(), [](double v) { return std::isfinite(v) && v >= 0; });
}

// <distances2> holds objects of one type, <distances2hetero> writes the type before each index.
Matrix read_matrix(const pugi::xml_node& node) {
  Matrix matrix;
  matrix.name = node.attribute("name").as_string();
  matrix.bandwidth = (node.attribute("kind").as_uint() & kind_means_bandwidth) != 0;
  const std::string type = node.attribute("type").as_string();
  const bool by_os_index = std::strcmp(node.attribute("indexing").as_string(), "os") == 0;
  for (const std::string& word : words_of(node, "indexes")) {
    const std::size_t colon = word.find(':');
    const bool typed = colon != std::string::npos;
    const std::string number = typed ? word.substr(colon + 1) : word;
    matrix.elements.push_back(
        {typed ? word.substr(0, colon) : type, std::strtoull(number.c_str(), nullptr, 10), by_os_index && !typed});
  }
  for (const std::string& word : words_of(node, "u64values"))
    matrix.values.push_back(static_cast<double>(std::strtoull(word.c_str(), nullptr, 10)));
  return matrix;
}

// hwloc 1 puts latencies inside the object whose memory nodes they are between, in the order of these.
void read_old_matrix(const pugi::xml_node& node, std::vector<Matrix>& matrices) {
  Matrix matrix;
  matrix.name = "NUMALatency";
  for (const pugi::xpath_node& memory : node.parent().select_nodes(".//object[@type='NUMANode']"))
    matrix.elements.push_back({"NUMANode", memory.node().attribute("os_index").as_ullong(), true});
  for (const pugi::xml_node& latency : node.children("latency"))
    matrix.values.push_back(latency.attribute("value").as_double());
  if (consistent(matrix)) matrices.push_back(std::move(matrix));
}

}  // namespace

std::vector<Matrix> read_matrices(const pugi::xml_node& topology) {
  std::vector<Matrix> matrices;
  for (const pugi::xml_node& node : topology.children()) {
    if (std::strcmp(node.name(), "distances2") != 0 && std::strcmp(node.name(), "distances2hetero") != 0) continue;
    Matrix matrix = read_matrix(node);
    if (consistent(matrix)) matrices.push_back(std::move(matrix));
  }
  for (const pugi::xpath_node& node : topology.select_nodes(".//object/distances"))
    read_old_matrix(node.node(), matrices);
  return matrices;
}

std::vector<MemoryFigure> read_memory_figures(const pugi::xml_node& topology) {
  std::vector<MemoryFigure> figures;
  for (const pugi::xml_node& attribute : topology.children("memattr")) {
    const std::string name = attribute.attribute("name").as_string();
    if (name != "Bandwidth" && name != "Latency") continue;
    for (const pugi::xml_node& value : attribute.children("memattr_value")) {
      const MemoryFigure figure{value.attribute("target_obj_gp_index").as_ullong(), name == "Bandwidth",
                                value.attribute("value").as_double()};
      const auto same = std::find_if(figures.begin(), figures.end(), [&](const MemoryFigure& other) {
        return other.gp_index == figure.gp_index && other.bandwidth == figure.bandwidth;
      });
      if (!(figure.value > 0) || !std::isfinite(figure.value)) continue;
      if (same == figures.end())
        figures.push_back(figure);
      else
        same->value = figure.bandwidth ? std::max(same->value, figure.value) : std::min(same->value, figure.value);
    }
  }
  return figures;
}

}  // namespace rondo::hwloc
