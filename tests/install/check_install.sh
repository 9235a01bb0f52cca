#!/usr/bin/env bash
# Installs the build tree into a folder of its own and builds and runs two programs against it: C++ by find_package, C by pkg-config.
# check_install.sh BUILD SOURCE CXX CC [LINK FLAG]
set -euo pipefail
build=$(cd "$1" && pwd) source=$(cd "$2" && pwd) cxx=$3 cc=$4 link=${5:-}
prefix=$build/install-check/prefix
work=$build/install-check/work
rm -rf "$build/install-check"
mkdir -p "$work"

fail() { echo "check_install.sh: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; fail "cmake --install failed"; }
lib=$(dirname "$(find "$prefix" -name librondo.so | head -n 1)")
[ -e "$lib/librondo.so" ] || fail "librondo.so is not installed"
export LD_LIBRARY_PATH=$lib

# C++: the README's example
cmake -G Ninja -S "$source/tests/install/cpp" -B "$work/cpp" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$link" \
  -DRONDO_EXAMPLE="$source/examples/all_reduce.cpp" >"$work/cpp.log" || { cat "$work/cpp.log"; fail "find_package(rondo) failed"; }
cmake --build "$work/cpp" >>"$work/cpp.log" || { cat "$work/cpp.log"; fail "the C++ program doesn't build"; }
ldd "$work/cpp/consumer" >"$work/cpp.libraries"  # grep -q reads no further than the line it looks for, and a pipe would fail with its writer
grep -q "$lib/librondo.so" "$work/cpp.libraries" || fail "the C++ program doesn't use the installed librondo.so"
said=$("$work/cpp/consumer" | sort)
[ "$said" = $'rank 0: 2 4 6 ok\nrank 1: 2 4 6 ok' ] || fail "the C++ program said: $said"

# C: nothing but what pkg-config says
export PKG_CONFIG_PATH=$lib/pkgconfig
# shellcheck disable=SC2046
"$cc" -Wall -Wextra -Werror -std=c99 $link $(pkg-config --cflags rondo) "$source/tests/install/c/consumer.c" -o "$work/consumer" $(pkg-config --libs rondo) \
  || fail "the C program doesn't build"
said=$("$work/consumer" 2>"$work/c.err") || { cat "$work/c.err"; fail "the C program failed"; }
[ "$said" = "c: 1 2 3" ] || fail "the C program said: $said"

# NCCL's users: the folder of that interface is their NCCL_HOME.
home=$lib/rondo-nccl
"$cc" -Wall -Wextra -Werror -std=c11 $link "$source/tests/nccl/program.c" -I"$home/include" -L"$home/lib" -lnccl -Wl,-rpath-link,"$lib" -o "$work/nccl_program" \
  || fail "the program for NCCL doesn't build"
LD_LIBRARY_PATH=$home/lib:$lib RONDO_NCCL_HOST=1 RONDO_NET_INTERFACES=lo "$work/nccl_program" || fail "the program for NCCL failed"

# The programs find their library by themselves.
unset LD_LIBRARY_PATH
"$prefix/bin/rondo" --version
"$prefix/bin/rondo-bench" --version
