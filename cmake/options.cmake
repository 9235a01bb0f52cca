# Warnings, sanitizers, and the one way to declare a module.
add_library(rondo_options INTERFACE)
set(warnings -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror)
target_compile_options(rondo_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${warnings};-Wpedantic;-fno-semantic-interposition>)
# What nvcc gives its host compiler isn't as its authors wrote it: line numbers in a style of GCC's own are pedantry's business.
list(JOIN warnings , host_warnings)
target_compile_options(rondo_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${host_warnings};-Werror=all-warnings;-fmad=false;--expt-relaxed-constexpr>)
# A product and a sum fused into one rounding have other bits, and whether they are is up to the instruction set: never, in kernels and
# cost model as in the tests' reference.
target_compile_options(rondo_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(rondo_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wno-restrict>)  # false alarms on string concatenation, GCC bug 105651
endif()
target_include_directories(rondo_options INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
target_link_libraries(rondo_options INTERFACE Threads::Threads)
if(RONDO_SANITIZE)
  target_compile_definitions(rondo_options INTERFACE RONDO_SANITIZED)
  target_compile_options(rondo_options INTERFACE -fsanitize=${RONDO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(rondo_options INTERFACE -fsanitize=${RONDO_SANITIZE})
  if(RONDO_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC warns that the sanitizer doesn't see fences. Ours order relaxed atomics alone, which are no races without them either.
    target_compile_options(rondo_options INTERFACE -Wno-tsan)
  endif()
endif()

# Places where tests end a process (src/base/crash_point.hpp): nothing of them is in what users get.
set(crash_points OFF)
if(RONDO_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(crash_points ON)
endif()
option(RONDO_CRASH_POINTS "Places where tests may end a process" ${crash_points})
if(RONDO_CRASH_POINTS)
  target_compile_definitions(rondo_options INTERFACE RONDO_CRASH_POINTS)
endif()

set(RONDO_MODULES "" CACHE INTERNAL "object libraries that make librondo")

# rondo_module(NAME FOLDER): all .cpp and .cu files of FOLDER (not of its sub-folders) as object library rondo_NAME.
# A folder may bring a deps.cmake that links what it needs from outside.
function(rondo_module name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp ${CMAKE_SOURCE_DIR}/${folder}/*.cu)
  if(NOT sources)
    return()
  endif()
  add_library(rondo_${name} OBJECT ${sources})
  target_link_libraries(rondo_${name} PUBLIC rondo_options)
  if(sources MATCHES "[.]cu(;|$)")
    set_target_properties(rondo_${name} PROPERTIES UNITY_BUILD OFF)  # later CMakes would put CUDA's files together, which take the longest, one by one
  endif()
  if(EXISTS ${CMAKE_SOURCE_DIR}/${folder}/deps.cmake)
    include(${CMAKE_SOURCE_DIR}/${folder}/deps.cmake)
  endif()
  set(RONDO_MODULES ${RONDO_MODULES} rondo_${name} CACHE INTERNAL "")
endfunction()
