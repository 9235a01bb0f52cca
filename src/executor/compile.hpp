// Plan → Executable, for one rank, one count and one type.
#pragma once

#include "executor/executable.hpp"
#include "executor/slot_layout.hpp"
#include "rondo/result.hpp"
#include "rondo/types.hpp"

namespace rondo {

/// What a plan is compiled for. `count` is elements per block.
struct CompileRequest {
  std::uint32_t rank = 0;
  std::uint64_t count = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  ContextLayout layout;
  std::uint64_t stream_above_bytes = ~std::uint64_t{0};  ///< outputs larger than this are written past the caches
  bool slots_past_caches = false;                        ///< and so are slots, whose readers are far
  std::uint64_t cached_bytes = ~std::uint64_t{0};        ///< outputs larger than this aren't in the caches when they are written
  bool copies_beat_stores = false;                       ///< StoreTraits of the processor that will run it
  bool claims_pay = false;                               ///< likewise
  bool pulls_beat_copies = false;                        ///< likewise
  bool pulls_near = false;                               ///< likewise, and
  bool pulls_directly = false;                           ///< out of peers' memory as out of slots
  std::uint64_t ring_bytes = 0;  ///< slots of a half are taken in turn: the machine's figure for as many bytes, where there are so many. Equal on all ranks
  std::uint64_t plan_hash = 0;
  bool proved = false;          ///< the plan is right, and who ends with what all ranks gave knows so that all have entered (heard.hpp)
  Reach reach = Reach::memory;  ///< beyond it the plan has links that stay links, which a message transport serves
  bool direct = false;         ///< peers' buffers can be read, as plans of protocol direct do
  bool shares_out = true;      ///< direct: copies that several ranks could make (Step::once) go to whoever comes first; else to the owner of their word
  bool agrees = false;         ///< direct, but a rank may pass buffers that can't be read: all find out before they do anything
  bool checked = false;        ///< what passes between ranks has checksums (0016-integrity.md); then neither inlined nor direct
  bool fetches = false;        ///< but by the kernel alone (base/kernel_copy.hpp), and inputs alone
  std::uint64_t rendezvous_from = 0;  ///< all_to_all_v: blocks of so many bytes and more the kernel copies (rendezvous.hpp); 0: none. Equal on all ranks
};

/// Compiles `plan` (neutral or lowered). Linear in the rank's steps. Pure.
/// Errors: unsupported (needs more staging, lanes or inline lines than the layout has; says how much), invalid_plan.
Result<Executable> compile(const Plan& plan, const CompileRequest& request);

}  // namespace rondo
