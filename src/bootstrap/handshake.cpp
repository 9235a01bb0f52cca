#include "bootstrap/handshake.hpp"

#include <sodium.h>

namespace rondo {
namespace {

static_assert(std::tuple_size_v<KeyProof> == crypto_auth_hmacsha256_BYTES);

constexpr char purpose[] = "rondo bootstrap";

class Hash {
 public:
  explicit Hash(const JobKey& key) { crypto_auth_hmacsha256_init(&state_, key.data(), JobKey::size()); }
  ~Hash() { sodium_memzero(&state_, sizeof state_); }

  void add(const void* data, std::size_t bytes) { crypto_auth_hmacsha256_update(&state_, static_cast<const unsigned char*>(data), bytes); }

  KeyProof proof() {
    KeyProof result;
    crypto_auth_hmacsha256_final(&state_, result.data());
    return result;
  }

 private:
  crypto_auth_hmacsha256_state state_;
};

}  // namespace

Nonce fresh_nonce() {
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());  // needs no sodium_init(): it asks the kernel
  return nonce;
}

std::string hex_of(const Nonce& nonce) {
  std::string digits(2 * nonce.size() + 1, '\0');
  sodium_bin2hex(digits.data(), digits.size(), nonce.data(), nonce.size());
  digits.pop_back();  // it ends them with a zero
  return digits;
}

KeyProof prove(const JobKey& key, Side side, const std::string& job, const Knock& knock, const Nonce& answer) {
  Hash hash(key);
  hash.add(purpose, sizeof purpose);
  hash.add(&side, sizeof side);
  const std::uint64_t length = job.size();
  hash.add(&length, sizeof length);
  hash.add(job.data(), job.size());
  hash.add(&knock, sizeof knock);
  hash.add(answer.data(), answer.size());
  return hash.proof();
}

JobKey combine(const JobKey& a, const JobKey& b) {
  Hash hash(a);
  hash.add(b.data(), JobKey::size());
  return JobKey(hash.proof());
}

bool is_same(const KeyProof& a, const KeyProof& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace rondo
