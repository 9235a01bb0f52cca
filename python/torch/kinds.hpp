// What torch calls the operations.
#pragma once

#include <torch/csrc/distributed/c10d/Work.hpp>

namespace rondo_torch {

/// A kind of operation: torch's type of it, and its titles in torch's profiler, where programs look for a group's operations by the name of its backend:
/// of a group that says it is Gloo's, Gloo's own titles.
struct Kind {
  c10d::OpType type;
  const char* title;
  const char* title_for_gloo;
};

namespace kinds {
using c10d::OpType;
inline constexpr Kind all_reduce{OpType::ALLREDUCE, "rondo:all_reduce", "gloo:all_reduce"};
inline constexpr Kind all_reduce_coalesced{OpType::ALLREDUCE_COALESCED, "rondo:all_reduce", "gloo:all_reduce"};
inline constexpr Kind sparse_all_reduce{OpType::_ALLREDUCE_SPARSE, "rondo:sparse_all_reduce", "gloo:sparse_all_reduce"};
inline constexpr Kind reduce{OpType::REDUCE, "rondo:reduce", "gloo:reduce"};
inline constexpr Kind reduce_scatter{OpType::REDUCE_SCATTER, "rondo:reduce_scatter", "gloo:reduce_scatter"};
inline constexpr Kind reduce_scatter_tensor{OpType::_REDUCE_SCATTER_BASE, "rondo:reduce_scatter_tensor", "gloo:reduce_scatter_tensor"};
inline constexpr Kind broadcast{OpType::BROADCAST, "rondo:broadcast", "gloo:broadcast"};
inline constexpr Kind all_gather{OpType::ALLGATHER, "rondo:all_gather", "gloo:all_gather"};
inline constexpr Kind all_gather_coalesced{OpType::ALLGATHER_COALESCED, "rondo:all_gather", "gloo:all_gather"};
inline constexpr Kind all_gather_into_tensor{OpType::_ALLGATHER_BASE, "rondo:all_gather_into_tensor", "gloo:all_gather_into_tensor"};
inline constexpr Kind gather{OpType::GATHER, "rondo:gather", "gloo:gather"};
inline constexpr Kind scatter{OpType::SCATTER, "rondo:scatter", "gloo:scatter"};
inline constexpr Kind all_to_all_single{OpType::ALLTOALL_BASE, "rondo:all_to_all", "gloo:all_to_all"};
inline constexpr Kind all_to_all{OpType::ALLTOALL, "rondo:all_to_all", "gloo:all_to_all"};
inline constexpr Kind send{OpType::SEND, "rondo:send", "gloo:send"};
inline constexpr Kind recv{OpType::RECV, "rondo:recv", "gloo:recv"};
inline constexpr Kind recv_any_source{OpType::RECVANYSOURCE, "rondo:recvAnySource", "gloo:recvAnySource"};
inline constexpr Kind messages{OpType::COALESCED, "rondo:messages", "gloo:messages"};
inline constexpr Kind barrier{OpType::BARRIER, "rondo:barrier", "gloo:barrier"};
}  // namespace kinds

}  // namespace rondo_torch
