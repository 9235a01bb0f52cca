// What the ranks of the conformance suite do.
#pragma once

#include "parties.hpp"

std::string connects(Party& party);
std::string refuses_truncated_addresses(Party& party);

/// Mapped transports; "" on others.
std::string maps_zeroed_segments(Party& party);
std::string shows_atomic_writes(Party& party);

/// Message transports; "" on others.
std::string keeps_order(Party& party);
std::string holds_back_the_sender(Party& party);
std::string is_idle_only_when_all_has_left(Party& party);
std::string leaves_with_messages_nobody_takes(Party& party);

enum class Departure { killed, left };
/// Rank 1 goes, once connected or, when `after_traffic`, after talking some more; the others see it, and see nobody else go.
PartyBody sees_departure(Departure departure, bool after_traffic, double notice_seconds);
