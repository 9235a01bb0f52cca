/** @file
 * The C interface of Rondo's GPU kernels: the calls and contracts of rondo/cuda_kernels.hpp. */
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
