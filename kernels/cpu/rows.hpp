// From how many bytes on lines that other cores hold are gone through in two rows side by side.
#pragma once

#include <cstdint>

namespace rondo::kernels {

/// StoreTraits::two_rows_from of this processor, which was asked once: asking takes a microsecond and more in a virtual machine.
std::uint64_t two_rows_from();

}  // namespace rondo::kernels
