// The test framework, whichever of its two generations the distribution has.
#pragma once
#ifdef RONDO_CATCH3
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
