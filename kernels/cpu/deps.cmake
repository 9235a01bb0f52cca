set_target_properties(rondo_kernels_cpu PROPERTIES UNITY_BUILD OFF)  # each file compiles itself once for each instruction set
target_link_libraries(rondo_kernels_cpu PUBLIC PkgConfig::hwy)
# GCC keeps a block of vectors in registers only where it unrolls the loops over it: at -O2 the kernels take twice as long.
# Under a sanitizer that takes minutes for each file and buys nothing.
if(NOT RONDO_SANITIZE)
  target_compile_options(rondo_kernels_cpu PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>)
endif()
