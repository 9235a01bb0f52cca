#include "rondo/communicator.hpp"

namespace rondo {

int version() { return 100; }

}  // namespace rondo
