// Which instruction sets are compiled for. Include before any header of Highway, in every file that has one: where nothing is inlined, Highway's own functions
// are one for the whole program, and would choose for one file a set that only another was compiled for.
#pragma once

// x86: the baseline, SSE4, AVX2 and AVX-512; Arm: NEON. The newer AVX-512 sets bring nothing that these loops use
// (their bf16 conversions flush denormals), and vectors of unknown size (SVE, RVV) can't be kept in arrays. Highway
// orders its bits from best to least: "HWY_AVX3 - 1" are the x86 sets above AVX3, "HWY_NEON - 1" without x86's 15 bits
// those above NEON.
#define RONDO_NEVER_COMPILED ((HWY_AVX3 - 1) | HWY_SSSE3 | ((HWY_NEON - 1) & ~0x7FFFLL) | HWY_RVV)

// Arm: whoever has NEON has all that is compiled, so nothing is chosen at run time. Else Highway would compile its functions for the
// cryptographic extension, and GCC refuses to inline them into constructors that the compiler writes, which never get a target of their own.
#if defined(__aarch64__)
#define HWY_COMPILE_ONLY_STATIC
#define HWY_HAVE_RUNTIME_DISPATCH 0
#define TOOLCHAIN_MISS_SYS_AUXV_H  // how Highway 1.0 is told the same
#endif

// A sanitizer takes minutes for each set, and sees the same loops in each: two are enough, the baseline and a wider one.
#if defined(RONDO_SANITIZED)
#define HWY_DISABLED_TARGETS (RONDO_NEVER_COMPILED | HWY_SSE4 | HWY_AVX3)
#else
#define HWY_DISABLED_TARGETS RONDO_NEVER_COMPILED
#endif
