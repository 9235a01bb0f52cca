// Apart from run.cpp, so that what traced calls need changes nothing in the machine code of the others.
#include "executor/run_traced.hpp"

namespace rondo {

template TraceEvent BasicRun<true>::event_of(const ExecStep& step, std::uint64_t piece) const;
template void BasicRun<true>::record(const ExecStep& step, std::uint64_t piece, std::int64_t since, std::int64_t begin);
template void BasicRun<true>::record_outside(std::int64_t end);
template Progress BasicRun<true>::step_traced(const ExecStep& step, std::uint32_t lane, std::uint64_t turn, std::uint64_t piece, std::uint32_t spins);
template Progress BasicRun<true>::advance_traced(std::uint32_t spins, RunTrace& trace);

}  // namespace rondo
