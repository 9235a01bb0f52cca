// Topologies: hwloc's XML and NCCL's, Rondo's JSON, synthetic strings.
#include "rondo/topology.hpp"

#include "fuzz.hpp"

using namespace rondo;

namespace {

constexpr std::size_t longest_description = 64;  // hwloc builds what it describes, be it a million processors

Result<Topology> read(std::string_view text) {
  if (text.starts_with('{')) return read_topology_json(text);
  if (text.starts_with('<')) return text.find("<system") != std::string_view::npos ? read_nccl_xml(text) : read_hwloc_xml(text);
  return read_synthetic(text);
}

bool describes_few(std::string_view text) {
  if (text.size() > longest_description || text.find('\0') != std::string_view::npos) return false;
  double processors = 1;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == ':' || text[i] == ' ' || i == 0) processors *= std::max(1.0, std::strtod(std::string(text.substr(i == 0 ? 0 : i + 1)).c_str(), nullptr));
  return processors <= 256;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  if (!text.starts_with('{') && !text.starts_with('<') && !describes_few(text)) return 0;
  const Result<Topology> topology = read(text);
  if (!topology) {
    fuzz::expect(!topology.error().detail.empty(), "an error without a word");
    return 0;
  }
  const std::string written = write_topology_json(*topology);
  const Result<Topology> again = read_topology_json(written);
  fuzz::expect(static_cast<bool>(again), "what was written can't be read: " + written);
  fuzz::expect(write_topology_json(*again) == written, "what was read again differs: " + written);
  (void)print_topology(*topology);
  (void)draw_topology_svg(*topology);
  const Topology placed = with_ranks(*topology, 3);
  if (placed.ranks.size() == 3) (void)placed.between(0, 2);
  return 0;
}
