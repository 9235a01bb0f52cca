// One thread a process that lets in who calls while none of its ranks waits in a call, and sleeps else.
#pragma once

#include <memory>

#include "rondo/result.hpp"

namespace rondo::tcp {

class Listener;

/// Has it look at the listener from now on, as long as that lives. Error out_of_resources: descriptors, or threads.
Result<void> keep_door_of(const std::shared_ptr<Listener>& listener);

}  // namespace rondo::tcp
