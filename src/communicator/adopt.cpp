// Plans that the program brings along: proved, then run as written.
#include <functional>

#include "communicator/impl.hpp"
#include "rondo/verifier.hpp"

namespace rondo {
namespace {

Result<void> prove(const Plan& plan, const char* what) {
  const Proof proof = verify(plan);
  if (proof.proved()) return {};
  return Error{Errc::invalid_plan, "plan '" + plan.header.algorithm + "'" + what + " is wrong: " + to_string(proof.violations.front()), 0, "use_plan"};
}

}  // namespace

Result<void> Communicator::Impl::adopt_plan(Channel& channel, const Plan& plan, bool unverified) {
  if (plan.header.ranks != channel.context.size())
    return Error{Errc::invalid_argument, "plan '" + plan.header.algorithm + "' is for " + std::to_string(plan.header.ranks) + " ranks, the communicator has " +
                                             std::to_string(channel.context.size()), 0, "use_plan"};
  if (auto form = check_form(plan, unverified ? Form::runnable : Form::whole); !form) return form;
  if (!unverified)
    if (auto proved = prove(plan, ""); !proved) return proved;
  const bool message_links = channel.cache.source().message_links;
  Plan ready = lower(insert_shadows(plan), message_links);
  if (!unverified && !message_links)
    if (auto proved = prove(ready, ", lowered to mapped links,"); !proved) return proved;
  const TokenGuard guard(token_);
  channel.cache.use(std::move(ready), std::hash<std::string>{}(write_plan(plan)));
  return {};
}

}  // namespace rondo
