// Made-up fabrics: machines and networks of regular shape, by a short description such as "dgx-h100*16" or "torus:8x8x8".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/topology.hpp"

namespace rondo {

/// The fabric that a description names; nothing where it begins with no fabric's name. Errors (invalid_argument) say what would be accepted.
std::optional<Result<Topology>> make_fabric(std::string_view description);

/// "dgx-a100*N, ..., torus:AxB..., ...", for help texts and errors.
std::string fabric_forms();

/// `machines` boxes of a kind, one network between them.
Topology make_dgx_a100(std::uint32_t machines);
Topology make_dgx_h100(std::uint32_t machines);
Topology make_dgx2(std::uint32_t machines);
Topology make_ndv2(std::uint32_t machines);
Topology make_pcie(std::uint32_t machines);
/// DGX H100s whose k-th interfaces share a switch, a rail; a spine joins these.
Topology make_rail(std::uint32_t machines);

/// Endpoints with a router each, joined along every dimension; `around`: the last of a line to the first, too.
Topology make_grid(const std::vector<std::uint32_t>& sizes, bool around);

/// Three levels of switches of `ports` ports each, at full bandwidth: ports^3 / 4 endpoints.
Topology make_fat_tree(std::uint32_t ports);
/// `groups` groups of `routers` routers, all joined within a group, with `endpoints` endpoints each; one link between any two groups.
Topology make_dragonfly(std::uint32_t groups, std::uint32_t routers, std::uint32_t endpoints);

}  // namespace rondo
