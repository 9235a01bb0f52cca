#include "topology/fabrics.hpp"

#include <array>

#include "base/text.hpp"
#include "topology/fabric_builder.hpp"
#include "topology/identity.hpp"

namespace rondo {
namespace {

using Numbers = std::vector<std::uint64_t>;

/// One family: its name, how its numbers are written, and what they mean.
struct Family {
  std::string_view name;
  std::string_view form;          ///< of the whole description
  char before;                    ///< the numbers: '*' or ':'
  std::size_t least, most;        ///< how many there are; the count of boxes may be left out
  std::uint64_t smallest;         ///< each number
  std::uint64_t (*endpoints)(const Numbers&);
  Topology (*make)(const Numbers&);
};

std::uint32_t narrow(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

std::uint64_t product(const Numbers& numbers) {
  std::uint64_t all = 1;
  for (const std::uint64_t number : numbers) all = std::min<std::uint64_t>(all * number, std::uint64_t{1} << 40);
  return all;
}

template <std::uint64_t Each>
std::uint64_t times(const Numbers& numbers) {
  return product(numbers) * Each;
}

template <Topology (*Make)(std::uint32_t)>
Topology make_one(const Numbers& numbers) {
  return Make(narrow(numbers[0]));
}

template <bool Around>
Topology make_sizes(const Numbers& numbers) {
  return make_grid({numbers.begin(), numbers.end()}, Around);
}

Topology make_cube(const Numbers& numbers) { return make_grid(std::vector<std::uint32_t>(numbers[0], 2), false); }
Topology make_flies(const Numbers& numbers) { return make_dragonfly(narrow(numbers[0]), narrow(numbers[1]), narrow(numbers[2])); }

constexpr std::uint64_t too_many = std::uint64_t{1} << 40;
std::uint64_t of_cube(const Numbers& numbers) { return numbers[0] < 40 ? std::uint64_t{1} << numbers[0] : too_many; }
std::uint64_t of_fat_tree(const Numbers& numbers) {
  const std::uint64_t ports = numbers[0];
  return ports > 4096 ? too_many : ports * ports * ports / 4;
}

constexpr std::array families{
    Family{"dgx-a100", "dgx-a100*N", '*', 0, 1, 1, times<8>, make_one<make_dgx_a100>},
    Family{"dgx-h100", "dgx-h100*N", '*', 0, 1, 1, times<8>, make_one<make_dgx_h100>},
    Family{"dgx2", "dgx2*N", '*', 0, 1, 1, times<16>, make_one<make_dgx2>},
    Family{"ndv2", "ndv2*N", '*', 0, 1, 1, times<8>, make_one<make_ndv2>},
    Family{"pcie", "pcie*N", '*', 0, 1, 1, times<8>, make_one<make_pcie>},
    Family{"rail", "rail*N", '*', 0, 1, 1, times<8>, make_one<make_rail>},
    Family{"torus", "torus:AxBxC", ':', 1, 6, 2, product, make_sizes<true>},
    Family{"mesh", "mesh:AxB", ':', 1, 6, 2, product, make_sizes<false>},
    Family{"hypercube", "hypercube:DIMENSIONS", ':', 1, 1, 1, of_cube, make_cube},
    Family{"fat-tree", "fat-tree:PORTS", ':', 1, 1, 2, of_fat_tree, make_one<make_fat_tree>},
    Family{"dragonfly", "dragonfly:GROUPSxROUTERSxENDPOINTS", ':', 3, 3, 1, product, make_flies},
};

/// "8x8x8"; nothing where that is no list of whole numbers.
std::optional<Numbers> parse_numbers(std::string_view text) {
  Numbers numbers;
  while (true) {
    const std::size_t end = text.find('x');
    const auto number = parse_unsigned(text.substr(0, end));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    if (end == std::string_view::npos) return numbers;
    text.remove_prefix(end + 1);
  }
}

Error wrong(std::string_view description, const std::string& what) {
  return Error{Errc::invalid_argument, in_quotes(description) + ": " + what, 0, "make_fabric"};
}

Result<Topology> make(const Family& family, std::string_view description) {
  const std::string_view rest = description.substr(family.name.size());
  const std::string expected = "expected " + std::string(family.form) + " with whole numbers from " + std::to_string(family.smallest) + " up";
  std::optional<Numbers> numbers;
  if (rest.empty() && family.least == 0)
    numbers = Numbers{1};
  else if (!rest.empty() && rest[0] == family.before)
    numbers = parse_numbers(rest.substr(1));
  if (!numbers || numbers->size() < family.least || numbers->size() > family.most) return wrong(description, expected);
  for (const std::uint64_t number : *numbers)
    if (number < family.smallest) return wrong(description, expected);
  if (family.name == "fat-tree" && (*numbers)[0] % 2 != 0) return wrong(description, "expected an even number of ports");
  const std::uint64_t endpoints = family.endpoints(*numbers);
  if (endpoints > most_endpoints)
    return wrong(description, "more than " + std::to_string(most_endpoints) + " GPUs; expected that many at most");
  Topology topology = family.make(*numbers);
  for (std::string& host : topology.hosts) host = identity_of(host, description);
  return topology;
}

}  // namespace

std::string fabric_forms() {
  std::string all;
  for (const Family& family : families) all.append(all.empty() ? "" : ", ").append(family.form);
  return all;
}

std::optional<Result<Topology>> make_fabric(std::string_view description) {
  for (const Family& family : families)
    if (description.starts_with(family.name)) return make(family, description);
  return std::nullopt;
}

}  // namespace rondo
