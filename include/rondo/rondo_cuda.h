/** @file
 * The C interface of Rondo on GPUs: the calls and contracts of rondo/cuda.hpp and rondo/cuda_kernels.hpp. */
#ifndef RONDO_GPU_KERNELS_H
#define RONDO_GPU_KERNELS_H

#include "rondo/rondo.h"

/** @cond */
#ifdef __cplusplus
#define RONDO_ENUM : int
extern "C" {
#else
#define RONDO_ENUM
#endif
/** @endcond */

/** @addtogroup c_interface */
/** @{ */

/** @name Communicators on GPU memory */
/** @{ */
typedef struct rondo_cuda_communicator rondo_cuda_communicator; /**< one rank of a group whose buffers are in GPU memory */

/** How one is made, as rondo::CudaOptions. Zero or NULL is each field's default; equal on all ranks. Grows as rondo_options does. */
typedef struct rondo_cuda_options {
  size_t size;            /**< sizeof(rondo_cuda_options) */
  double timeout_seconds; /**< of each wait of a call's blocks; 0: 30 minutes; INFINITY: none */
  const char* algorithm;  /**< forced wherever it can serve; NULL: the cost model chooses */
  uint64_t blocks;        /**< thread blocks that a call may take, 512 at most; 0: what the GPU has for each of its ranks */
  uint64_t threads;       /**< of a block: a multiple of 32 from 64 to 256; 0: as measured */
  uint64_t piece_bytes;   /**< the longest piece of a message that a block moves at once; 0: as measured */
  uint64_t staging_bytes; /**< of this rank's GPU memory, for what passes between ranks that can't read one another's buffers; 0: 32 MiB */
} rondo_cuda_options;

/** The version of the CUDA runtime that is built in, such as "13.0"; "": built without CUDA. Never NULL. */
const char* rondo_cuda_version(void);

/** A `device` of rondo_cuda_create(): the GPU that the calling thread's calls go to. */
#define RONDO_CUDA_CURRENT (-1)

/** A collective call of all ranks of `host`, of which a duplicate is made: they get communicators, this rank's on GPU `device`, CUDA's number of it.
 * `options`: NULL for the defaults. Blocks as host's calls do. Errors, on all ranks: as rondo::CudaCommunicator::create(), RONDO_UNSUPPORTED of a build
 * without CUDA among them; on this rank alone, before any other hears of it: RONDO_INVALID_ARGUMENT (NULL, another negative device, a struct of the wrong
 * size, a time that is none). */
rondo_status rondo_cuda_create(rondo_communicator* host, int device, const rondo_cuda_options* options, rondo_cuda_communicator** communicator);

/** Enqueues a call on `stream`, a cudaStream_t of this rank's GPU, and returns; as rondo::CudaCommunicator::run(). */
rondo_status rondo_cuda_run(rondo_cuda_communicator* communicator, const rondo_call* call, void* stream);

/** The timeout of this rank's calls from here on, in seconds above 0 (INFINITY: none); as rondo::CudaCommunicator::set_timeout(). */
rondo_status rondo_cuda_set_timeout(rondo_cuda_communicator* communicator, double seconds);

/** Enqueues an all_reduce of a list of tensors on `stream`, one launch; as rondo::CudaCommunicator::all_reduce_fused(). Tensors of RONDO_F32, RONDO_F16 or
 * RONDO_BF16, in 900 places at most. */
rondo_status rondo_cuda_all_reduce_fused(rondo_cuda_communicator* communicator, const rondo_bucket* bucket, void* stream);

/** One end of a message between two ranks, or of one to oneself; as rondo::CudaMessage. */
typedef struct rondo_cuda_message {
  int sends;       /**< not 0: to `peer`; 0: it is received from there */
  void* memory;    /**< of this rank's GPU; read alone where it is sent */
  uint64_t count;  /**< elements; the same at both ends */
  rondo_type type; /**< likewise */
  uint32_t peer;   /**< the rank at the other end */
  void* stream;    /**< a cudaStream_t */
} rondo_cuda_message;

/** Enqueues this rank's ends of `count` messages, which run side by side; as rondo::CudaCommunicator::exchange(). The list is copied. */
rondo_status rondo_cuda_exchange(rondo_cuda_communicator* communicator, const rondo_cuda_message* messages, uint64_t count);

/** rondo_all_to_all_v() on GPU memory, enqueued on `stream`; as rondo::CudaCommunicator::all_to_all_v(). */
rondo_status rondo_cuda_all_to_all_v(rondo_cuda_communicator* communicator, const void* input, const uint64_t* sent_counts, const uint64_t* sent_offsets,
                                     void* output, const uint64_t* received_counts, const uint64_t* received_offsets, rondo_type type, void* stream);

/** What the calls so far have met on the GPU; never waits. As rondo::CudaCommunicator::check(). */
rondo_status rondo_cuda_check(const rondo_cuda_communicator* communicator);

/** Ends every wait of this rank's blocks, and the peers' for it. Any thread; needs no peer. */
rondo_status rondo_cuda_abort(rondo_cuda_communicator* communicator);

/** Leaves the group, and waits for the peers, 10 s at most. Its host may be released before. */
void rondo_cuda_destroy(rondo_cuda_communicator* communicator);

/** This rank's number in the group. */
rondo_status rondo_cuda_rank(const rondo_cuda_communicator* communicator, uint32_t* rank);

/** How many ranks the group has. */
rondo_status rondo_cuda_size(const rondo_cuda_communicator* communicator, uint32_t* size);

/** CUDA's number of this rank's GPU. */
rondo_status rondo_cuda_device(const rondo_cuda_communicator* communicator, int* device);
/** @} */

/** @name GPU kernels */
/** @{ */

/** As rondo::CudaFloat. */
typedef enum RONDO_ENUM {
  RONDO_CUDA_F16 = 0,  /**< IEEE binary16 */
  RONDO_CUDA_BF16 = 1, /**< the upper half of f32 */
  RONDO_CUDA_F32 = 2,  /**< IEEE binary32 */
  RONDO_CUDA_F64 = 3,  /**< IEEE binary64; not in lists */
  RONDO_CUDA_E4M3 = 4, /**< fp8 without infinities */
  RONDO_CUDA_E5M2 = 5  /**< fp8, the upper half of f16 */
} rondo_cuda_float;

/** As rondo::CudaLists. `size` is sizeof(rondo_cuda_lists). */
typedef struct rondo_cuda_lists {
  uint64_t size;                    /**< of this struct */
  const uint64_t* counts;           /**< elements of each tensor */
  const void* const* sources;       /**< source_count lists, one behind the other */
  void* const* destinations;        /**< destination_count lists, likewise */
  uint64_t tensor_count;            /**< of each list */
  uint32_t source_count;            /**< 1 to 8 */
  uint32_t destination_count;       /**< 1 to 8 */
  rondo_cuda_float source_type;     /**< of all sources */
  rondo_cuda_float destination_type;/**< of all destinations */
  float scale;                      /**< the sums are multiplied by it */
} rondo_cuda_lists;

/** rondo::cuda_combine_lists() on `stream`, a cudaStream_t. */
rondo_status rondo_cuda_combine_lists(const rondo_cuda_lists* lists, void* stream);

/** @} */
/** @} */

/** @cond */
#ifdef __cplusplus
}
#endif
#undef RONDO_ENUM
/** @endcond */

#endif
