# What Rondo is built with. It comes from the distribution or, where RONDO_DEPS_PREFIX is set, from a folder that tools/gpu-deps has filled with a
# distribution's packages, for machines without a package manager: no pkg-config is needed then. What has one becomes target PkgConfig::NAME both ways.
set(RONDO_DEPS_PREFIX "$ENV{RONDO_DEPS_PREFIX}" CACHE PATH "Folder made by tools/gpu-deps to take dependencies from; empty: the distribution's")
find_package(Threads REQUIRED)
if(RONDO_DEPS_PREFIX)
  cmake_path(ABSOLUTE_PATH RONDO_DEPS_PREFIX BASE_DIRECTORY ${CMAKE_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE deps)
  if(NOT EXISTS ${deps}/.complete)
    message(FATAL_ERROR "RONDO_DEPS_PREFIX: ${deps} isn't a folder that tools/gpu-deps has made")
  endif()
  file(GLOB deps_libraries ${deps}/lib/*-linux-gnu)
  cmake_path(GET deps_libraries FILENAME CMAKE_LIBRARY_ARCHITECTURE)  # where CMake's packages are looked for, too
  list(PREPEND CMAKE_PREFIX_PATH ${deps})
  include_directories(SYSTEM ${deps}/include ${deps}/include/${CMAKE_LIBRARY_ARCHITECTURE})  # for all, as the distribution's are
  # Programs find the libraries there, and those one another: the older kind of run-time path, unlike the newer, serves what libraries need.
  set(CMAKE_BUILD_RPATH ${deps_libraries})
  add_link_options(LINKER:--disable-new-dtags)
else()
  find_package(PkgConfig REQUIRED)
endif()

# rondo_c_library(NAME MODULE LIBRARY): target PkgConfig::NAME for what pkg-config calls MODULE and the linker LIBRARY.
function(rondo_c_library name module library)
  if(RONDO_DEPS_PREFIX)
    add_library(PkgConfig::${name} INTERFACE IMPORTED)
    target_link_libraries(PkgConfig::${name} INTERFACE ${deps_libraries}/lib${library}.so)
  else()
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
  endif()
endfunction()
rondo_c_library(hwloc hwloc hwloc)
rondo_c_library(hwy libhwy hwy)
rondo_c_library(pugixml pugixml pugixml)
rondo_c_library(sodium libsodium sodium)
if(RONDO_DEPS_PREFIX)
  target_compile_definitions(PkgConfig::hwy INTERFACE HWY_SHARED_DEFINE)  # as its pkg-config file says
endif()

# PMIx's headers alone: the library is loaded where a launcher speaks it.
if(RONDO_DEPS_PREFIX)
  file(GLOB pmix_INCLUDE_DIRS ${deps_libraries}/pmix*/include)
else()
  pkg_check_modules(pmix REQUIRED pmix)
endif()
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

# Of UCX, too, the headers alone: it is loaded where a rank first needs it.
set(RONDO_HAS_UCX OFF)
if(RONDO_UCX)
  if(NOT RONDO_DEPS_PREFIX)
    pkg_check_modules(ucx ucx)
  endif()
  if(ucx_FOUND)
    set(RONDO_HAS_UCX ON)
  else()
    message(STATUS "UCX's headers not found: building without the UCX transport")
  endif()
endif()
