// Why a rank failed, as it says to those who see its state thereafter.
#pragma once

#include <cstdint>

#include "executor/slot_layout.hpp"
#include "rondo/result.hpp"
#include "rondo/transport.hpp"

namespace rondo {

/// Leaves them in the rank's segment and then, in `status`, that there are some: whoever sets its state after this publishes them. Without memory for one
/// page more there are none. Over message links nothing is done.
void leave_last_words(Transport& transport, std::uint32_t rank, StatusLine& status, const Error& error);

}  // namespace rondo
