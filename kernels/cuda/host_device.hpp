// What differs between nvcc and a host compiler: the macros. What differs between a GPU and a host is in machine.hpp.
#pragma once

#ifdef __CUDACC__
#define RONDO_HD __host__ __device__    // compiled for both
#define RONDO_OUT_OF_LINE __noinline__  // once in a program, however many switches lead to it
#else
#define RONDO_HD
#define RONDO_OUT_OF_LINE __attribute__((noinline))
#endif

#ifdef __CUDA_ARCH__
#define RONDO_UNROLL _Pragma("unroll")    // before a loop over registers, which can't be indexed at run time
#define RONDO_ROLLED _Pragma("unroll 1")  // before a loop over memory that is unrolled as far as there are registers for it
#define RONDO_ON_GPU 1
#define RONDO_GPU_HAS_FP8 (__CUDA_ARCH__ >= 890)
#else
#define RONDO_UNROLL
#define RONDO_ROLLED
#define RONDO_ON_GPU 0
#endif
