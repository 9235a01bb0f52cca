/* The C interface of Rondo. Same calls and contracts as rondo/communicator.hpp.
 *
 * Every function returns a rondo_status; rondo_last_error() has the calling thread's last failure in words. Handles belong to the
 * caller and are released with their _destroy function. Buffers stay the caller's and must not be touched until the call (or its
 * work) has ended. Unless said otherwise a communicator is used by one thread at a time; rondo_abort may come from any thread. */
#ifndef RONDO_RONDO_H
#define RONDO_RONDO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RONDO_VERSION_MAJOR 0
#define RONDO_VERSION_MINOR 1
#define RONDO_VERSION_PATCH 0

typedef struct rondo_communicator rondo_communicator;
typedef struct rondo_work rondo_work;

typedef enum {
  RONDO_SUCCESS = 0,
  RONDO_INVALID_ARGUMENT = 1,   /* the caller's input; the communicator stays usable */
  RONDO_UNSUPPORTED = 2,
  RONDO_INVALID_PLAN = 3,
  RONDO_MISMATCH = 4,           /* ranks disagree about the call; the communicator is broken from here on */
  RONDO_PEER_FAILED = 5,
  RONDO_DEADLINE_EXCEEDED = 6,
  RONDO_ABORTED = 7,
  RONDO_OUT_OF_RESOURCES = 8,
  RONDO_IO = 9
} rondo_status;

typedef enum { RONDO_I8, RONDO_U8, RONDO_I32, RONDO_U32, RONDO_I64, RONDO_U64, RONDO_F16, RONDO_BF16, RONDO_F32, RONDO_F64 } rondo_type;

typedef enum { RONDO_SUM, RONDO_PROD, RONDO_MIN, RONDO_MAX, RONDO_AVG, RONDO_PREMUL_SUM, RONDO_BAND, RONDO_BOR, RONDO_BXOR } rondo_op;

/* The version of the library that runs: major * 10000 + minor * 100 + patch. */
int rondo_version(void);

/* The calling thread's last failure, one line; "" before any. Valid until the thread's next failing call. Never NULL. */
const char* rondo_last_error(void);

/* The name of a status, e.g. "mismatch". Never NULL. */
const char* rondo_status_name(rondo_status status);

/* This process's rank of the job that the environment describes, as torchrun sets it (RANK, WORLD_SIZE, MASTER_PORT, ...).
 * timeout_seconds: deadline of each operation, 0 for the default. Blocks until all ranks are there. */
rondo_status rondo_create_from_environment(double timeout_seconds, rondo_communicator** communicator);

/* Rank `rank` of a job of `size` processes on this machine that share the text `job`. Blocks until all ranks are there. */
rondo_status rondo_create_local(uint32_t rank, uint32_t size, const char* job, double timeout_seconds, rondo_communicator** communicator);

/* `count` ranks in this process, for as many threads: communicators[r] is rank r's. */
rondo_status rondo_create_in_process(uint32_t count, double timeout_seconds, rondo_communicator** communicators);

/* Leaves the group. Work in flight is drained first. NULL is fine. */
void rondo_destroy(rondo_communicator* communicator);

rondo_status rondo_rank(const rondo_communicator* communicator, uint32_t* rank);
rondo_status rondo_size(const rondo_communicator* communicator, uint32_t* size);

/* Collectives. `count` is elements of a block: reduce_scatter writes count and reads count * size, all_gather the reverse.
 * In place: input == output (all_gather: input is this rank's block of the output; reduce_scatter: output is this rank's block
 * of the input). Each blocks until its result is there. */
rondo_status rondo_all_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op);
rondo_status rondo_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op, uint32_t root);
rondo_status rondo_broadcast(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root);
rondo_status rondo_reduce_scatter(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op);
rondo_status rondo_all_gather(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type);
rondo_status rondo_barrier(rondo_communicator* communicator);

/* all_reduce by premul_sum: each rank's input is multiplied by that rank's `factor` first. */
rondo_status rondo_all_reduce_premul(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, double factor);

/* Point to point; messages between two ranks keep their order. */
rondo_status rondo_send(rondo_communicator* communicator, const void* data, uint64_t count, rondo_type type, uint32_t to);
rondo_status rondo_recv(rondo_communicator* communicator, void* data, uint64_t count, rondo_type type, uint32_t from);

/* Starts an all-reduce and returns at once. The work must be waited for (or destroyed, which doesn't cancel it). */
rondo_status rondo_start_all_reduce(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, rondo_op op,
                                    rondo_work** work);
/* Starts a broadcast. */
rondo_status rondo_start_broadcast(rondo_communicator* communicator, const void* input, void* output, uint64_t count, rondo_type type, uint32_t root,
                                   rondo_work** work);
/* 1 when the work has ended, well or badly; never blocks. */
int rondo_work_done(const rondo_work* work);
/* Blocks until the work has ended and returns its status. */
rondo_status rondo_work_wait(rondo_work* work);
void rondo_work_destroy(rondo_work* work);

/* Calls between the two are collected and run together at the end, so that their order can't deadlock. */
rondo_status rondo_group_begin(rondo_communicator* communicator);
rondo_status rondo_group_end(rondo_communicator* communicator);

/* Ends every wait of this communicator, on every rank, with RONDO_ABORTED. Any thread. */
rondo_status rondo_abort(rondo_communicator* communicator);

#ifdef __cplusplus
}
#endif

#endif
