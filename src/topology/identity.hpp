// Identities of machines that exist as texts alone.
#pragma once

#include <string>
#include <string_view>

namespace rondo {

/// Equal texts of one form get equal identities, so that two readings of one file are one host.
std::string identity_of(std::string_view form, std::string_view text);

}  // namespace rondo
