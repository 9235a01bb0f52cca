// Places on this machine where jobs meet over TCP.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>

#include "bootstrap/network.hpp"

rondo::JobKey key_of(unsigned char byte);

sockaddr_in loopback(std::uint16_t port);

/// With a port that is free, and that the kernel gives to nobody else soon; and with key_of(7).
rondo::MeetingPlace fresh_place();

/// Meets and goes through a round there: a rank that does as it should. The text of its error, else "".
std::string meet_at(std::uint32_t rank, std::uint32_t size, const rondo::MeetingPlace& place, double seconds = 20,
                    std::uint32_t fan_out = rondo::usual_fan_out);
