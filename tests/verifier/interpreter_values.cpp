#include "verifier/interpreter_values.hpp"

#include <algorithm>

namespace rondo::test {
namespace {

constexpr std::size_t most_terms = 64;  // a value of more has long been wrong at four ranks; keeps doubling loops small
constexpr ValueId first_made = 2;

}  // namespace

Values::Values() : terms_(first_made) {}

ValueId Values::make(std::vector<Term> terms) {
  if (terms.empty() || terms.size() > most_terms) return junk;
  std::sort(terms.begin(), terms.end());
  const auto [at, fresh] = ids_.try_emplace(terms, static_cast<ValueId>(terms_.size()));
  if (fresh) terms_.push_back(std::move(terms));
  return at->second;
}

ValueId Values::combine(const std::vector<ValueId>& parts) {
  if (parts.size() == 1) return parts[0];
  std::vector<Term> all;
  for (const ValueId part : parts) {
    if (part < first_made) return junk;
    all.insert(all.end(), terms_[part].begin(), terms_[part].end());
  }
  return make(std::move(all));
}

ValueId Values::scale(ValueId value) {
  if (value < first_made) return value;
  std::vector<Term> terms = terms_[value];
  for (Term& term : terms) ++term.scaled;
  return make(std::move(terms));
}

ValueId Values::finish(ValueId value) {
  if (value < first_made) return value;
  std::vector<Term> terms = terms_[value];
  for (Term& term : terms) ++term.finished;
  return make(std::move(terms));
}

bool Values::fits(ValueId value, std::uint32_t chunk_in_block, std::uint32_t piece,
                  std::uint32_t chunks_per_block) const {
  if (value < first_made) return true;
  return std::all_of(terms_[value].begin(), terms_[value].end(), [&](const Term& term) {
    return term.chunk % chunks_per_block == chunk_in_block && term.piece == piece;
  });
}

}  // namespace rondo::test
