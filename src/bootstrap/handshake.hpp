// How a rank and rank 0 show one another, over a network, that they hold the key of the same job, before either believes the other anything.
// The rank sends a Knock, rank 0 answers with a Challenge, the rank sends its KeyProof. Both proofs are HMAC-SHA256 (RFC 2104) with the job's key over
// who proves, the job's name, the whole Knock and rank 0's nonce; so none fits another job, rank, size, version, side or meeting.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "bootstrap/hello.hpp"
#include "bootstrap/job_key.hpp"

namespace rondo {

inline constexpr char network_magic[8] = {'r', 'o', 'n', 'd', 'o', 'n', 'e', '1'};

using Nonce = std::array<unsigned char, 32>;
using KeyProof = std::array<unsigned char, 32>;

/// What a rank says first. Its hello has network_magic. Sizes and places keep for ever, as the hello's do.
struct Knock {
  Hello hello;
  Nonce nonce;
};
static_assert(sizeof(Knock) == 288);

/// Rank 0's answer.
struct Challenge {
  Nonce nonce;
  KeyProof proof;
};
static_assert(sizeof(Challenge) == 64);

enum class Side : unsigned char { first, other };  ///< rank 0, or the rank that knocked

/// Unpredictable. Never the same twice.
Nonce fresh_nonce();

/// In hexadecimal digits.
std::string hex_of(const Nonce& nonce);

KeyProof prove(const JobKey& key, Side side, const std::string& job, const Knock& knock, const Nonce& answer);

/// A key that takes both to know.
JobKey combine(const JobKey& a, const JobKey& b);

/// In a time that doesn't depend on the bytes.
bool is_same(const KeyProof& a, const KeyProof& b);

}  // namespace rondo
