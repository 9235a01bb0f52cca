// What comes of a meeting: a bootstrap whose rounds go over the sockets by which the ranks met.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/correspondence.hpp"

namespace rondo {

/// Over a network no descriptors pass, and the connections become lifelines.
std::unique_ptr<Bootstrap> make_met_bootstrap(std::unique_ptr<Correspondence> correspondence);

}  // namespace rondo
