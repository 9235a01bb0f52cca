// Where sources and programs are, for the tests that read or run them: RONDO_SOURCE_DIR and RONDO_BINARY_DIR. In a header of its own, so that what doesn't
// include it compiles alike in all clones, and once.
#pragma once

#include <test_folders.hpp>  // written by CMake
