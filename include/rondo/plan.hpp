/// @defgroup plans Plans
/// The plan: what every rank does in one collective call, as a plain value. Everything that runs is one of these.
/// The meaning of each field is defined in docs/design/0001-plan-ir.md; this header is its spelling.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/result.hpp"
#include "rondo/short_list.hpp"
#include "rondo/types.hpp"

namespace rondo {
/// @addtogroup plans
/// @{

/// How scratch moves between ranks. `inlined`: scratch lives in flag cache lines, the payload arrives with the flag (one
/// piece, small chunks). `staged`: scratch lives in slots of the ranks' shared segments. `direct`: steps also touch
/// peers' inputs and outputs, which must be registered (or be given shadow copies, see insert_shadows).
enum class Protocol : std::uint8_t { inlined, staged, direct };

/// What an operand lies in. `input` is a rank's contribution and is never written. `output` receives results and may hold partial ones.
/// `scratch` is memory of the plan's own, `depth` slots deep, readable and writable by every rank. `link` is a FIFO
/// between two ranks: as a source it receives, as a destination it sends.
enum class Buffer : std::uint8_t { input, output, scratch, link };

inline constexpr std::uint32_t self = 0xffffffff;  ///< an operand's rank: the rank whose program this is

/// A range of chunks in a buffer, or one message on a link.
struct Operand {
  Buffer buffer = Buffer::input;  ///< which one
  std::uint32_t rank = self;   ///< whose buffer; for a link: the peer at its other end (never `self`)
  std::uint32_t index = 0;     ///< first chunk; for a link: the channel number
  std::uint32_t count = 1;     ///< chunks; for a link: chunks the message carries
  bool operator==(const Operand&) const = default;  ///< field by field
};

/// What a step does; see Step.
enum class StepKind : std::uint8_t { copy, reduce, signal, wait };

/// Not before step `step` of lane `lane` of this rank is done, for the same piece.
struct After {
  std::uint32_t lane = 0;  ///< by its place in the program
  std::uint32_t step = 0;  ///< by its place in the lane
  bool operator==(const After&) const = default;  ///< field by field
};

/// A word of shared memory by which several ranks settle who does a copy that any of them could do: of all steps that name it one is done for each piece, and
/// nobody may rely on which. As it runs it is whoever comes first; the others go on at once, and know by later signals alone that it is done.
struct Once {
  std::uint32_t rank = 0;   ///< whose word; that rank has such a step itself
  std::uint32_t index = 0;  ///< which of its words
  bool operator==(const Once&) const = default;  ///< field by field
};

using Operands = ShortList<Operand, 2>;  ///< of one side of a step
using Afters = ShortList<After, 2>;      ///< of one step

/// Waits until lane `lane` of rank `rank` has done its `signal`-th signal step (counted from 0 within the lane's body) for
/// piece i − lag, where i is the piece this wait runs for; nothing to wait for while i < lag. A wait with lag > 0 is a
/// credit: it guards the reuse of a slot.
struct WaitFor {
  std::uint32_t rank = 0;    ///< whose progress
  std::uint32_t lane = 0;    ///< of which lane of it
  std::uint32_t signal = 0;  ///< up to which signal step
  std::uint32_t lag = 0;     ///< how many pieces ago
  bool operator==(const WaitFor&) const = default;  ///< field by field
};

/// One step. `copy` has one source; `reduce` combines its sources in their order; both write the result to every
/// destination. All operands of a step carry the same number of chunks. `signal` raises its lane's progress, which any
/// rank may wait for, after all earlier steps of the lane. `finish` marks the reduction that completes a value (avg
/// divides there). `skew` delays a step: loop turn t runs the step for piece t − skew.
struct Step {
  StepKind kind = StepKind::copy;     ///< which of the four
  bool finish = false;                ///< the reduction that completes a value
  std::uint32_t skew = 0;             ///< loop turns that the step is late
  WaitFor wait;                       ///< for StepKind::wait
  Operands sources;                   ///< of copy (one) and reduce
  Operands destinations;              ///< of copy and reduce
  Afters after;                       ///< steps of this rank that come first
  std::optional<Once> once = std::nullopt;  ///< a copy that other ranks have, too, and one of them makes
  bool operator==(const Step&) const = default;  ///< field by field
};

/// An ordered list of steps, the body; it is repeated for each piece of the message.
struct Lane {
  std::vector<Step> steps;  ///< run in this order
  bool operator==(const Lane&) const = default;  ///< field by field
};

/// What one rank does.
struct Program {
  std::vector<Lane> lanes;  ///< independent of one another, but for waits and Step::after
  bool operator==(const Program&) const = default;  ///< field by field
};

/// One way the call could have been done, with what the cost model says of it.
struct Candidate {
  std::string algorithm;    ///< its name
  double predicted_ns = 0;  ///< of the cost model; 0 where it can't serve
  std::string note;         ///< why it lost, or "chosen"
  bool operator==(const Candidate&) const = default;  ///< field by field
};

/// What holds for the whole plan.
struct PlanHeader {
  std::string algorithm;                        ///< the name `--algorithm` takes, or the imported file's
  Collective collective = Collective::all_reduce;  ///< what the plan does
  Protocol protocol = Protocol::staged;         ///< how scratch moves
  std::uint32_t ranks = 1;                      ///< how many it is for
  std::uint32_t root = 0;                       ///< where is_rooted(collective)
  std::uint32_t chunks_per_block = 1;           ///< every block (see block_counts) is cut into this many chunks
  std::uint32_t scratch_chunks = 0;             ///< scratch of each rank, in chunks
  std::uint32_t depth = 2;                      ///< slots of each scratch chunk and of each link (≥ 1)
  std::uint32_t piece_bytes = 0;                ///< largest piece of a chunk run in one loop turn; 0: as the slots allow
  std::uint32_t alignment_bytes = 64;           ///< chunk boundaries are multiples of this in blocks that have a unit for each chunk
  std::uint64_t min_bytes = 0;                  ///< smallest message it is meant for
  std::uint64_t max_bytes = 0;                  ///< largest; 0: no limit
  bool out_of_place = true;                     ///< proved for separate input and output
  bool in_place = true;                         ///< proved for overlapping ones, as Alias describes
  std::vector<std::uint32_t> order;             ///< position → rank along rings and in groups; empty: by number; several rings: one order after the other
  std::vector<std::uint32_t> groups;            ///< ranks of groups that are near one another and follow one another in `order`, smallest first
  std::optional<DataType> wire = std::nullopt;  ///< scratch and links hold f16 or bf16 where inputs and outputs are f32, which sums round to on the way
  bool neutral = true;                          ///< programs may hold links or `after`; false: they don't, so lower() has nothing to do
  bool operator==(const PlanHeader&) const = default;  ///< field by field
};

/// Makes one rank's program from the header alone.
using Generator = Program (*)(const PlanHeader& header, std::uint32_t rank);

/// Makes programs on demand from more than a header, such as by lowering those of another plan. Immutable and thread-safe.
class ProgramSource {
 public:
  virtual ~ProgramSource() = default;
  virtual Program program(std::uint32_t rank) const = 0;  ///< rank `rank`'s, below the plan's number of ranks
};

/// A header and a program for each rank: made on demand (by a generator or a source), or a table (imported plans).
class Plan {
 public:
  Plan() = default;
  /// Programs made by `generator`, each time they are asked for.
  Plan(PlanHeader plan_header, Generator generator) : header(std::move(plan_header)), generator_(generator) {}
  /// Programs as they stand in `table`, by rank.
  Plan(PlanHeader plan_header, std::vector<Program> table) : header(std::move(plan_header)), table_(std::move(table)) {}
  /// Programs made by `source`, each time they are asked for.
  Plan(PlanHeader plan_header, std::shared_ptr<const ProgramSource> source)
      : header(std::move(plan_header)), source_(std::move(source)) {}

  /// Rank `rank`'s program; `rank` must be below header.ranks, and the plan complete.
  Program program(std::uint32_t rank) const {
    return generator_ ? generator_(header, rank) : source_ ? source_->program(rank) : table_.at(rank);
  }

  /// Whether there is exactly one program for each of header.ranks ranks.
  bool complete() const { return generator_ || source_ || table_.size() == header.ranks; }

  PlanHeader header;                  ///< what holds for all programs
  double predicted_ns = 0;            ///< of the planner's cost model; 0 when nobody predicted
  std::vector<Candidate> considered;  ///< all candidates, the chosen one among them

 private:
  Generator generator_ = nullptr;
  std::shared_ptr<const ProgramSource> source_;  // shared: copies of a plan are equal values over one immutable source
  std::vector<Program> table_;
};

std::uint32_t input_chunks(const PlanHeader& header);   ///< chunks in a rank's input buffer
std::uint32_t output_chunks(const PlanHeader& header);  ///< chunks in a rank's output buffer

bool has_input(Collective collective, std::uint32_t root, std::uint32_t rank);   ///< whether it gives this rank one (broadcast, scatter: the root alone)
bool has_output(Collective collective, std::uint32_t root, std::uint32_t rank);  ///< whether it gives this rank one (reduce, gather: the root alone)
inline bool has_input(const PlanHeader& header, std::uint32_t rank) { return has_input(header.collective, header.root, rank); }    ///< likewise
inline bool has_output(const PlanHeader& header, std::uint32_t rank) { return has_output(header.collective, header.root, rank); }  ///< likewise

/// A run of elements in a buffer.
struct ElementRange {
  std::uint64_t begin = 0;  ///< the first one
  std::uint64_t count = 0;  ///< how many
};

/// The one chunk formula: chunk `chunk` of a buffer whose blocks have `block_count` elements each. A block is dealt out in
/// units of alignment_bytes, or by elements when it has fewer units than chunks; the first chunks get one unit more, those beyond the elements are empty.
ElementRange chunk_range(const PlanHeader& header, std::uint64_t block_count, std::size_t element_bytes, std::uint32_t chunk);

/// What check_form() asks for. `runnable` is only what running a plan safely needs: one that someone broke on purpose may wait
/// for signals that never come and reduce a single source.
enum class Form : std::uint8_t { whole, runnable };

/// Checks the form (indices in range, operands that fit their step, waits that name signals that exist, ...): what a
/// file could get wrong before any question of meaning arises. Error: invalid_plan, naming rank, lane and step.
Result<void> check_form(const Plan& plan, Form form = Form::whole);

/// How ranks reach one another: all through memory that they share, those of one host so and others by messages, or all by messages.
enum class Reach : std::uint8_t { memory, hosts, messages };

/// Replaces links by scratch slots, signals and waits (a FIFO of header.depth slots), and `after` by waits on the rank's
/// own lanes: what mapped links run. Links that a message transport serves stay links (`keep_links`).
/// The result is again a plan and has the same meaning. Source: docs/design/0001-plan-ir.md.
Plan lower(const Plan& plan, bool keep_links = false);
/// The same where rank r is on host hosts[r]: links between hosts stay. As many hosts as ranks. Source: docs/design/0021-hosts.md.
Plan lower(const Plan& plan, const std::vector<std::uint32_t>& hosts);

/// Plans that touch peers' inputs or outputs get copies of these in scratch instead, filled before and emptied after.
/// Returns the plan unchanged when it touches none.
Plan insert_shadows(const Plan& plan);

/// Guards the reuse of scratch over pieces where the plan itself does not: whoever writes a scratch chunk first waits, with
/// lag = depth, for all lanes that touch it. Importers use it for formats that have no such notion.
Plan add_credits(const Plan& plan);

/// The readable JSON form.
std::string write_plan(const Plan& plan);
/// Reads what write_plan() writes: round trips are identities on header and programs. Error: invalid_plan names line or path of what is wrong.
Result<Plan> read_plan(std::string_view text);

std::string_view to_string(Protocol protocol);  ///< "inlined", ...
std::string_view to_string(Buffer buffer);      ///< "input", ...
std::string_view to_string(StepKind kind);      ///< "copy", ...

/// One step as a person reads it: "reduce input[0], scratch@1[0] -> output[0], scratch[1] (finish)".
std::string describe(const Step& step);

/// @}
}  // namespace rondo
