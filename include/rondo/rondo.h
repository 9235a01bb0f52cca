/** @file
 * The C interface of Rondo: the calls and contracts of rondo/communicator.hpp. */
#ifndef RONDO_RONDO_H
#define RONDO_RONDO_H

#include <stddef.h>
#include <stdint.h>

/** @cond */
/* An enumerator may be any number in C, and so it must be in C++: one without meaning is refused, not undefined behaviour. */
#ifdef __cplusplus
#define RONDO_ENUM : int
extern "C" {
#else
#define RONDO_ENUM
#endif
/** @endcond */

/** @defgroup c_interface C interface
 * The calls and contracts of rondo::Communicator and rondo::Work, for C and for bindings of other languages.
 *
 * Functions return a rondo_status; rondo_last_error() has the calling thread's last failure in words. Arguments without sense (NULL,
 * numbers that no enumeration has, ranks that aren't there) give RONDO_INVALID_ARGUMENT and harm nothing. Results are written on
 * success alone. Handles and texts belong to the caller, who releases them with their _destroy function; NULL is fine there. Buffers
 * stay the caller's and must not be touched until the call (or its work) has ended.
 *
 * Threads: as rondo::Communicator says. rondo_abort() may come from any thread. */
/** @{ */

/** @name Versions and failures */
/** @{ */
#define RONDO_VERSION_MAJOR 0 /**< of this header; another one may be incompatible */
#define RONDO_VERSION_MINOR 1 /**< of this header; while the major one is 0 another one may be incompatible */
#define RONDO_VERSION_PATCH 0 /**< of this header */

/** What came of a call. The names are those of rondo::Errc. */
typedef enum RONDO_ENUM {
  RONDO_SUCCESS = 0,
  RONDO_INVALID_ARGUMENT = 1,   /**< the caller's input; the communicator stays usable */
  RONDO_UNSUPPORTED = 2,        /**< makes sense, but can't be served here; the communicator stays usable */
  RONDO_INVALID_PLAN = 3,       /**< a plan is malformed or was proved wrong; the communicator stays usable */
  RONDO_MISMATCH = 4,           /**< ranks disagree about the call; the communicator is broken from here on */
  RONDO_PEER_FAILED = 5,        /**< a rank died, left or failed; likewise */
  RONDO_DEADLINE_EXCEEDED = 6,  /**< a wait outlasted its deadline; likewise, but for rondo_work_wait_for() */
  RONDO_ABORTED = 7,            /**< rondo_abort(), here or on another rank; likewise */
  RONDO_OUT_OF_RESOURCES = 8,   /**< memory, threads, descriptors or another limit, which the text names */
  RONDO_IO = 9,                 /**< a file or a socket failed */
  RONDO_CORRUPTED = 10          /**< data changed on their way between ranks (rondo_options::integrity); the communicator is broken from here on */
} rondo_status;

/** The version of the library that runs: major * 10000 + minor * 100 + patch. */
int rondo_version(void);

/** The calling thread's last failure, one line; "" before any. Never NULL; valid until the thread's next failing call. */
const char* rondo_last_error(void);

/** The name of a status: "success", "mismatch", ...; "unknown" of other numbers. Never NULL. */
const char* rondo_status_name(rondo_status status);

/** Releases a text that a function of this interface has made. */
void rondo_text_destroy(char* text);
/** @} */

/** @name Types of elements and reductions */
/** @{ */

/** Element types: integers and floating types of so many bits; RONDO_BF16 is bfloat16. 16-bit floating types accumulate in 32 bits. */
typedef enum RONDO_ENUM {
  RONDO_I8,
  RONDO_U8,
  RONDO_I32,
  RONDO_U32,
  RONDO_I64,
  RONDO_U64,
  RONDO_F16,
  RONDO_BF16,
  RONDO_F32,
  RONDO_F64,
  RONDO_I16,
  RONDO_U16
} rondo_type;

/** Reductions. RONDO_AVG is the sum divided by the number of ranks (integers truncate towards zero); RONDO_PREMUL_SUM multiplies each
 * rank's input by that rank's factor first (see rondo_call). Those of bits (RONDO_BAND, ...) take integers alone. */
typedef enum RONDO_ENUM { RONDO_SUM, RONDO_PROD, RONDO_MIN, RONDO_MAX, RONDO_AVG, RONDO_PREMUL_SUM, RONDO_BAND, RONDO_BOR, RONDO_BXOR } rondo_op;

/** What a rondo_call does. */
typedef enum RONDO_ENUM {
  RONDO_ALL_REDUCE,
  RONDO_REDUCE,
  RONDO_BROADCAST,
  RONDO_REDUCE_SCATTER,
  RONDO_ALL_GATHER,
  RONDO_ALL_TO_ALL,
  RONDO_ALL_TO_ALL_V, /**< for rondo_plan_for() alone: a rondo_call has no blocks */
  RONDO_GATHER,
  RONDO_SCATTER,
  RONDO_SCAN,
  RONDO_BARRIER
} rondo_collective;
/** @} */

/** @name Handles */
/** @{ */
typedef struct rondo_communicator rondo_communicator; /**< one rank of a group */
typedef struct rondo_work rondo_work;                 /**< a started call */
/** @} */

/** @name Communicators */
/** @{ */

/* Structs that callers fill in begin with their size, so that programs of one version run with libraries of another. NCCL's ncclConfig_t
 * and Linux's clone3 grow so. UCC's mask of the fields that are set says no more where zero is a default, and an object with a
 * function for each field is as many functions for one struct. Fields fill their struct up to its end: in a gap there, which programs
 * leave as it is, no later field could tell whether it was set. */

/** How a communicator is made. Zero or NULL is each field's default: `rondo_options options = {.size = sizeof options};`.
 *
 * Later versions add fields at the end alone, whose zero means what was before. A field that the program sets and the library doesn't
 * know gives RONDO_UNSUPPORTED. */
typedef struct {
  size_t size;                       /**< sizeof(rondo_options) */
  double timeout_seconds;            /**< deadline of each operation; 0: RONDO_TIMEOUT of the environment, or 30 minutes; INFINITY: none */
  double bootstrap_timeout_seconds;  /**< deadline of creation; 0: 5 minutes */
  const char* algorithm;             /**< forced wherever it can serve; NULL: RONDO_ALGORITHM of the environment, or the cost model chooses */
  const char* transport;             /**< "shm", "ucx" or "tcp"; NULL: the first that can serve all pairs */
  uint64_t strict;                   /**< not 0: reductions whose bits depend on the inputs and the number of ranks alone, as
                                          rondo::CommunicatorOptions::strict says; 0: RONDO_STRICT of the environment, or not */
  uint64_t coalesce_bytes;           /**< all_reduces with fewer bytes that are started one after another run together, up to so many bytes, as
                                          rondo::CommunicatorOptions::coalesce_bytes says; 0: RONDO_COALESCE_BYTES of the environment, or none */
  double coalesce_seconds;           /**< how long one that nobody waits for is held back for others to come, at most 1; 0: RONDO_COALESCE_TIME of the
                                          environment, or not at all */
  uint64_t integrity;                /**< not 0: what passes between ranks has checksums, as rondo::CommunicatorOptions::integrity says; 0: RONDO_INTEGRITY of
                                          the environment, or not */
  int (*stays_away)(void* context, uint32_t rank); /**< of a rank in a process of its own: not 0 when that rank will never come, as
                                          rondo::CommunicatorOptions::stays_away says; NULL: nobody knows */
  void* context;                     /**< handed to it */
} rondo_options;

/** This process's rank of the job that the environment describes, as torchrun sets it (RANK, WORLD_SIZE, MASTER_PORT, ...).
 * `timeout_seconds`: deadline of each operation, 0 for the default. Blocks until all ranks are there.
 * Errors: RONDO_INVALID_ARGUMENT names the variable; RONDO_PEER_FAILED; RONDO_DEADLINE_EXCEEDED names the ranks that are missing. */
rondo_status rondo_create_from_environment(double timeout_seconds, rondo_communicator** communicator);

/** Rank `rank` of a job of `size` processes on this machine that share the text `job`. Blocks until all ranks are there. Errors: as
 * rondo_create_from_environment(). */
rondo_status rondo_create_local(uint32_t rank, uint32_t size, const char* job, double timeout_seconds, rondo_communicator** communicator);

/** A text of rondo_get_unique_id(), with a zero behind it. */
typedef struct {
  char text[128]; /**< printable characters alone */
} rondo_unique_id;

/** For ranks on any machines whose program has a way of its own to tell them something: rank 0's process makes an id, and all give it to
 * rondo_create_by_id(). As rondo::Communicator::unique_id(). Errors: RONDO_INVALID_ARGUMENT, RONDO_OUT_OF_RESOURCES. */
rondo_status rondo_get_unique_id(rondo_unique_id* id);

/** Rank `rank` of `size` that were given `id`. `options`: NULL for the defaults. Blocks until all ranks are there. Errors: as
 * rondo_create_from_environment_with_options(); RONDO_INVALID_ARGUMENT (not an id; not rank 0's own). */
rondo_status rondo_create_by_id(uint32_t rank, uint32_t size, const rondo_unique_id* id, const rondo_options* options, rondo_communicator** communicator);

/** `count` ranks in this process, for as many threads: communicators[r] is rank r's. Blocks for some milliseconds. */
rondo_status rondo_create_in_process(uint32_t count, double timeout_seconds, rondo_communicator** communicators);

/** rondo_create_from_environment() with all options; NULL: the defaults. Ranks that give different algorithms, transports, strictness, integrity or
 * coalesce_bytes get RONDO_MISMATCH. */
rondo_status rondo_create_from_environment_with_options(const rondo_options* options, rondo_communicator** communicator);

/** rondo_create_local() with all options; NULL: the defaults. Errors: as rondo_create_from_environment_with_options(). */
rondo_status rondo_create_local_with_options(uint32_t rank, uint32_t size, const char* job, const rondo_options* options,
                                             rondo_communicator** communicator);

/** rondo_create_in_process() with all options; NULL: the defaults. */
rondo_status rondo_create_in_process_with_options(uint32_t count, const rondo_options* options, rondo_communicator** communicators);

/** The color of ranks that get no communicator from rondo_split(). */
#define RONDO_NO_COLOR (-1)

/** A collective call on `communicator`: ranks of one color (0 and above) get a communicator of their own, ordered by key, then by
 * rank; with RONDO_NO_COLOR *child is NULL. The child is released by itself and may outlive its parent. Blocks as a call does.
 * Errors: as those of collectives; RONDO_INVALID_ARGUMENT (another negative color, within a group: no rank must go on);
 * RONDO_OUT_OF_RESOURCES on all ranks of the color, after which `communicator` stays usable. */
rondo_status rondo_split(rondo_communicator* communicator, int32_t color, int32_t key, rondo_communicator** child);

/** The same ranks once more, with an order of calls of its own. A collective call. Errors: as those of rondo_split(). */
rondo_status rondo_duplicate(rondo_communicator* communicator, rondo_communicator** copy);

/** What to do when a rank has died: *survivors is a communicator of the ranks that haven't, in their old order. A collective call of those that are
 * left, which blocks until each has come here, or has destroyed its communicator, or has died, for the bootstrap timeout at most. `communicator` is
 * over with it and stays to be destroyed. Errors, on all that are left: RONDO_DEADLINE_EXCEEDED names the ranks that did neither,
 * RONDO_OUT_OF_RESOURCES and the like, RONDO_PEER_FAILED; RONDO_INVALID_ARGUMENT (shrunk before). Where a network is cut in two each side goes on. */
rondo_status rondo_shrink(rondo_communicator* communicator, rondo_communicator** survivors);

/** *grown is a communicator of `size` ranks, more than here: those of `communicator`, which all call this and keep their numbers, and newcomers, which
 * call rondo_create_local() with the numbers behind them and the same `size` and `job`. Where ranks are, or newcomers will be, on other hosts `job` is the
 * text of an id that rank 0's process made, and newcomers call rondo_create_by_id(). Blocks until all are there, for the bootstrap timeout at
 * most. `communicator` isn't touched. Errors: as those two; RONDO_PEER_FAILED as soon as a rank of `communicator` has gone. */
rondo_status rondo_grow(rondo_communicator* communicator, uint32_t size, const char* job, rondo_communicator** grown);

/** Leaves the group. Work in flight is drained first, for 10 s or the deadline at most, then aborted. Works may be kept, and have ended. */
void rondo_destroy(rondo_communicator* communicator);

/** Memory of rondo_allocate(). */
typedef struct rondo_memory rondo_memory;

/** `bytes` of symmetric memory: this rank's own, zeroed, at the beginning of a page, and mapped by all ranks of `communicator` and of those
 * split from it. No rank waits for another. What collectives do with it, and what is wrong: rondo::Communicator::allocate(). It may outlive
 * the communicator. Errors: RONDO_OUT_OF_RESOURCES; those of collectives once `communicator` is broken. */
rondo_status rondo_allocate(rondo_communicator* communicator, uint64_t bytes, rondo_memory** memory);

/** Where it begins; NULL of NULL. Valid until rondo_memory_destroy(). */
void* rondo_memory_data(const rondo_memory* memory);

/** Frees it. No call may be using it. */
void rondo_memory_destroy(rondo_memory* memory);

/** This rank's number in the group. */
rondo_status rondo_rank(const rondo_communicator* communicator, uint32_t* rank);

/** How many ranks the group has. */
rondo_status rondo_size(const rondo_communicator* communicator, uint32_t* size);
/** Of a communicator that rondo_shrink(), rondo_split() or rondo_duplicate() made: ranks[r] is rank r's number in the one that it was made from; `ranks` has
 * room for rondo_size() of them. Error: RONDO_INVALID_ARGUMENT (it was made from none). */
rondo_status rondo_parent_ranks(const rondo_communicator* communicator, uint32_t* ranks);

/** All ranks' machines merged into one graph, as `rondo topo --format json` writes it. Release with rondo_text_destroy(). */
rondo_status rondo_topology(const rondo_communicator* communicator, char** json);

/** Which rank this is and whether it has failed, in a line, and its last operations, newest last, one line each: sequence number, call, plan, state,
 * time. Release with rondo_text_destroy(). */
rondo_status rondo_flight_record(const rondo_communicator* communicator, char** text);

/** The deadline of this rank's calls from here on, in seconds above 0 (INFINITY: none); those that were started before keep theirs. Any thread. */
rondo_status rondo_set_timeout(rondo_communicator* communicator, double seconds);

/** Whether the communicator still serves: RONDO_PEER_FAILED names a rank that died or failed, RONDO_ABORTED and others say what ended it before. Waits for no
 * rank; any thread. */
rondo_status rondo_check(rondo_communicator* communicator);

/** Ends every wait of this communicator, on every rank, with RONDO_ABORTED. Any thread; needs no peer. */
rondo_status rondo_abort(rondo_communicator* communicator);

/** From now on every step of this rank's calls is recorded with its times, up to `capacity` events of some 70 bytes: those beyond are counted.
 * Waits for no rank; any thread. Errors: RONDO_INVALID_ARGUMENT (it is traced already, or `capacity` is 0); RONDO_OUT_OF_RESOURCES. */
rondo_status rondo_start_trace(rondo_communicator* communicator, uint64_t capacity);

/** Ends that. *events is what this rank recorded, for rondo_trace_file(), which may run elsewhere; release it with rondo_text_destroy(). Waits
 * for no rank; any thread. Error: RONDO_INVALID_ARGUMENT (nothing was started). */
rondo_status rondo_stop_trace(rondo_communicator* communicator, char** events);

/** A file for ui.perfetto.dev or chrome://tracing, as rondo::trace_file(), of what `count` ranks recorded. Release it with rondo_text_destroy().
 * Error: RONDO_INVALID_ARGUMENT (a NULL). */
rondo_status rondo_trace_file(const char* const* events, uint32_t count, char** file);
/** @} */

/** @name Collectives
 * All ranks call the same, in the same order. `count` is elements of a block. In place: input == output, or where the two differ in
 * length the shorter one is this rank's block of the longer one. Each blocks until its result is there.
 * Errors: RONDO_INVALID_ARGUMENT (this rank's arguments), RONDO_MISMATCH (ranks disagree: names who called what), RONDO_PEER_FAILED
 * and RONDO_DEADLINE_EXCEEDED (name the rank), RONDO_ABORTED. After any but the first the communicator is broken: every later call
 * returns the same error; make a new one. */
/** @{ */

/** Every rank gets the combination of all ranks' inputs, element by element. */
rondo_status rondo_all_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op);

/** rondo_all_reduce() by RONDO_PREMUL_SUM: each rank's input is multiplied by that rank's `factor` first. */
rondo_status rondo_all_reduce_premul(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, double factor);

/** The root gets the combination of all ranks' inputs; elsewhere output may be NULL. */
rondo_status rondo_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op, uint32_t root);

/** Every rank gets the root's input; elsewhere input may be NULL. */
rondo_status rondo_broadcast(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root);

/** Rank r gets block r of the combination: writes count elements, reads count * size. */
rondo_status rondo_reduce_scatter(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op);

/** Every rank gets the inputs of all ranks, by rank: reads count elements, writes count * size. */
rondo_status rondo_all_gather(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type);

/** Block s of rank r's input becomes block r of rank s's output: reads and writes count * size elements. All ranks are in place, or none is. */
rondo_status rondo_all_to_all(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type);

/** Blocks of any lengths: rank r is sent sent_counts[r] elements from element sent_offsets[r] of input on, and received_counts[r]
 * elements from rank r go to element received_offsets[r] of output. Each array has an element for each rank and is copied; NULL
 * offsets: one block behind the other. What a rank sends must be as long as what the other expects, else both get RONDO_MISMATCH. Not
 * in place. */
rondo_status rondo_all_to_all_v(rondo_communicator* communicator, const void* input, const uint64_t* sent_counts, const uint64_t* sent_offsets, void* output,
                                const uint64_t* received_counts, const uint64_t* received_offsets, rondo_type type);

/** The root gets the inputs of all ranks, by rank: count elements from each; elsewhere output may be NULL. */
rondo_status rondo_gather(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root);

/** Rank r gets block r, of count elements, of the root's input; elsewhere input may be NULL. */
rondo_status rondo_scatter(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root);

/** Rank r gets the combination of the inputs of ranks 0 to r. Takes any operation but RONDO_AVG. */
rondo_status rondo_scan(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op);

/** Waits until all ranks are in it. */
rondo_status rondo_barrier(rondo_communicator* communicator);
/** @} */

/** @name Calls as values */
/** @{ */

/* What a fixed list of arguments can't say, such as a reduction's factor, is said in one struct for every collective, whether it blocks,
 * is started, or is asked for its plan; UCC's ucc_coll_args_t is one. NCCL makes an operation of each factor, bound to a type and a
 * communicator, which must be released again. */

/** One collective call, as rondo::Call. Fields that the collective doesn't use may be 0. Grows as rondo_options does. */
typedef struct {
  size_t size;                  /**< sizeof(rondo_call) */
  rondo_collective collective;  /**< what to do */
  rondo_type type;              /**< of the elements */
  rondo_op op;                  /**< of reductions */
  uint32_t root;                /**< of broadcast, reduce, gather, scatter */
  const void* input;            /**< as the collective's function takes it */
  void* output;                 /**< as the collective's function takes it */
  uint64_t count;               /**< elements of a block */
  double factor;                /**< of RONDO_PREMUL_SUM: multiplies this rank's input (by its truncation, of integers) */
  const void* const* inputs;    /**< reduce_scatter, scatter: a pointer to each rank's block, in the place of `input`; as rondo::Call::inputs */
  void* const* outputs;         /**< all_gather, gather: likewise in the place of `output`. On GPU memory neither is served (RONDO_UNSUPPORTED) */
} rondo_call;

/** Runs a call as its function would. */
rondo_status rondo_run(rondo_communicator* communicator, const rondo_call* call);

/** One tensor of a rondo_bucket. In place: input == output. Arrays are made of it, so it never grows. */
typedef struct {
  const void* input; /**< this rank's contribution */
  void* output;      /**< gets the result */
  uint64_t count;    /**< elements; of none the pointers may be NULL */
} rondo_tensor;

#define RONDO_WIRE_F16 1  /**< rondo_bucket::wire: ranks read one another's contributions as f16 */
#define RONDO_WIRE_BF16 2 /**< the same as bf16 */

/** What rondo_all_reduce_fused() takes, as rondo::Bucket. Grows as rondo_options does. The list is copied when a call begins, its tensors
 * are not. */
typedef struct {
  size_t size;                 /**< sizeof(rondo_bucket) */
  const rondo_tensor* tensors; /**< one behind the other; NULL where there are none */
  uint64_t tensor_count;       /**< how many */
  rondo_type type;             /**< of their elements */
  rondo_op op;                 /**< what combines them */
  double factor;               /**< of RONDO_PREMUL_SUM: multiplies this rank's elements; else unused */
  uint64_t wire;               /**< RONDO_WIRE_F16 or RONDO_WIRE_BF16, as rondo::Bucket::wire; 0: none */
} rondo_bucket;

/** One all_reduce of many tensors, read and written where they lie. Ranks agree on the sum of the counts alone:
 * rondo::Communicator::all_reduce_fused(). Errors: as those of collectives; RONDO_INVALID_ARGUMENT names the tensor. */
rondo_status rondo_all_reduce_fused(rondo_communicator* communicator, const rondo_bucket* bucket);
/** @} */

/** @name Point to point
 * Messages between two ranks keep their order. They are outside the collectives' order: a rank may send while others are in a
 * collective. Small sends return before the receiver comes; large ones wait for it. Errors: as those of collectives. */
/** @{ */

/** Sends `count` elements to rank `to`. Blocks until `data` may change. */
rondo_status rondo_send(rondo_communicator* communicator, const void* data, uint64_t count, rondo_type type, uint32_t to);

/** Receives the next message of rank `from`, which must be as long. Blocks until it is there. */
rondo_status rondo_recv(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t from);

/** Receives from whichever rank sends first, and says which in *source; see rondo::Communicator::recv_any. Not within a group. */
rondo_status rondo_recv_any(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t* source);
/** @} */

/** @name Started calls
 * Each does what the function of its name without `start` does, but returns at once; a progress thread runs it, or whoever waits for
 * it. The work tells how it ended, and must be released; that doesn't cancel the call. What is known at once is the function's status,
 * and then there is no work: an argument without sense, or RONDO_OUT_OF_RESOURCES when this process may not have that thread. What
 * takes the call's plan to be judged (pointers, an operation that isn't defined on the type) is told by rondo_work_wait(). */
/** @{ */

/** Starts any collective; `call` is copied, not its buffers. */
rondo_status rondo_start(rondo_communicator* communicator, const rondo_call* call, rondo_work** work);
/** Starts a rondo_all_reduce(). */
rondo_status rondo_start_all_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op,
                                    rondo_work** work);
/** Starts a rondo_all_reduce_fused(). */
rondo_status rondo_start_all_reduce_fused(rondo_communicator* communicator, const rondo_bucket* bucket, rondo_work** work);
/** Starts a rondo_reduce(). */
rondo_status rondo_start_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op, uint32_t root,
                                rondo_work** work);
/** Starts a rondo_broadcast(). */
rondo_status rondo_start_broadcast(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root,
                                   rondo_work** work);
/** Starts a rondo_reduce_scatter(). */
rondo_status rondo_start_reduce_scatter(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op,
                                        rondo_work** work);
/** Starts a rondo_all_gather(). */
rondo_status rondo_start_all_gather(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_work** work);
/** Starts a rondo_all_to_all(). */
rondo_status rondo_start_all_to_all(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_work** work);
/** Starts a rondo_all_to_all_v(). */
rondo_status rondo_start_all_to_all_v(rondo_communicator* communicator, const void* input, const uint64_t* sent_counts, const uint64_t* sent_offsets,
                                      void* output, const uint64_t* received_counts, const uint64_t* received_offsets, rondo_type type,
                                      rondo_work** work);
/** Starts a rondo_gather(). */
rondo_status rondo_start_gather(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root,
                                rondo_work** work);
/** Starts a rondo_scatter(). */
rondo_status rondo_start_scatter(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root,
                                 rondo_work** work);
/** Starts a rondo_scan(). */
rondo_status rondo_start_scan(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op,
                              rondo_work** work);
/** Starts a rondo_barrier(). */
rondo_status rondo_start_barrier(rondo_communicator* communicator, rondo_work** work);
/** Starts a rondo_send(). */
rondo_status rondo_start_send(rondo_communicator* communicator, const void* data, uint64_t count, rondo_type type, uint32_t to, rondo_work** work);
/** Starts a rondo_recv(). */
rondo_status rondo_start_recv(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t from, rondo_work** work);
/** Starts a rondo_recv_any(), within a group too; rondo_work_source() says whose message it was. */
rondo_status rondo_start_recv_any(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, rondo_work** work);
/** Starts a rondo_send() whose receive must have the same tag, else both ranks get RONDO_MISMATCH, the sender perhaps in its next call. A tag doesn't
 * choose among messages, which keep their order; calls that name none have the tag 0. */
rondo_status rondo_start_send_tagged(rondo_communicator* communicator, const void* data, uint64_t count, rondo_type type, uint32_t to, uint32_t tag,
                                     rondo_work** work);
/** Starts a rondo_recv() of a message with this tag. */
rondo_status rondo_start_recv_tagged(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t from, uint32_t tag,
                                     rondo_work** work);
/** Starts a rondo_recv_any() of a message with this tag. */
rondo_status rondo_start_recv_any_tagged(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t tag, rondo_work** work);

/** 1 when the work has ended, well or badly, or is NULL; never blocks. */
int rondo_work_done(const rondo_work* work);

/** Blocks until the work has ended, helping it along, and returns its status. May be called again. */
rondo_status rondo_work_wait(rondo_work* work);

/** rondo_work_wait() for at most so many seconds (0: one look; INFINITY is fine). RONDO_DEADLINE_EXCEEDED: the call goes on. */
rondo_status rondo_work_wait_for(rondo_work* work, double seconds);

/** `tell(context)` is called once, when the work has ended: at once where it has, else by the thread that sees it end, the progress thread or one that waits
 * for some call of the communicator. rondo_work_wait() may return before. There it may start calls, look at works and wait for those. A
 * second one for the same work takes the first one's place. */
rondo_status rondo_work_on_end(rondo_work* work, void (*tell)(void* context), void* context);

/** What rondo_work_source() says where there is no rank. */
#define RONDO_NO_RANK UINT32_MAX

/** The rank that a started receive got its message from; RONDO_NO_RANK before its end, and of other calls. Never blocks. */
rondo_status rondo_work_source(const rondo_work* work, uint32_t* source);

/** Releases a work. Its call goes on, and its buffers stay in use until it ends. */
void rondo_work_destroy(rondo_work* work);
/** @} */

/** @name Groups */
/** @{ */

/** From now on this thread's calls on `communicator` are collected; they return at once. Groups nest, also those of different communicators. */
rondo_status rondo_group_begin(rondo_communicator* communicator);

/** The last one on this thread, of whatever communicator, runs all that was collected, so that the order of calls, and of communicators, can't deadlock,
 * and returns the first error; those before it return at once. Error: RONDO_INVALID_ARGUMENT (nothing was begun here). */
rondo_status rondo_group_end(rondo_communicator* communicator);
/** @} */

/** @name Plans */
/** @{ */

/** The plan that a call would run, with the candidates that lost, in Rondo's JSON form (docs/design/0001-plan-ir.md), which
 * rondo_use_plan() reads. Buffers of `call` may be NULL. Release with rondo_text_destroy().
 * Errors: RONDO_INVALID_ARGUMENT; RONDO_UNSUPPORTED (no algorithm can serve the call). */
rondo_status rondo_plan_for(const rondo_communicator* communicator, const rondo_call* call, char** json);

/** From now on calls of the collective that the file's plan is for run this plan (all ranks must do the same). The file is Rondo JSON,
 * MSCCL XML or MSCCL++ JSON. It is proved first, unless `unverified` isn't 0.
 * Errors: RONDO_IO; RONDO_INVALID_PLAN with the first thing that is wrong; RONDO_UNSUPPORTED; RONDO_INVALID_ARGUMENT (a plan for another
 * number of ranks, or while started calls are under way). */
rondo_status rondo_use_plan(rondo_communicator* communicator, const char* path, int unverified);
/** @} */

/** @} */

#ifdef __cplusplus
}
#endif
#undef RONDO_ENUM

#endif
