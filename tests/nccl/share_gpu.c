// Preloaded, gives all ranks of a program the first GPU, whichever each asks for: with it NVIDIA's nccl-tests run two ranks on a machine with one.
// Only calls that choose a device are caught. The next definition is CUDA's own, of the library that the program is linked with.
#define _GNU_SOURCE
#include <dlfcn.h>

typedef int (*choose)(int);
typedef int (*describe)(void*, int);

int cudaSetDevice(int device) {
  (void)device;
  return ((choose)dlsym(RTLD_NEXT, "cudaSetDevice"))(0);
}

int cudaGetDeviceProperties(void* properties, int device) {
  (void)device;
  return ((describe)dlsym(RTLD_NEXT, "cudaGetDeviceProperties"))(properties, 0);
}
