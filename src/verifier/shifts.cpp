#include "verifier/shifts.hpp"

#include "rondo/types.hpp"

namespace rondo::verifier {

Shifts::Shifts(const PlanHeader& header, ShiftGroup group, ShiftedNames names)
    : ranks_(header.ranks),
      group_(group),
      inputs_move_(names.chunks && !input_is_block(header.collective)),
      outputs_move_(names.chunks && !output_is_block(header.collective)),
      channels_move_(names.channels),
      unit_(header.collective == Collective::all_reduce ? 1 : header.chunks_per_block) {
  if (group == ShiftGroup::nested) size_ = header.groups.front();
  if (header.order.empty()) return;
  order_.assign(header.order.begin(), header.order.begin() + ranks_);
  place_.resize(ranks_);
  for (std::uint32_t place = 0; place < ranks_; ++place) place_[order_[place]] = place;
  start_ = place_[0];
}

std::uint32_t Shifts::element(std::uint32_t rank) const {
  const std::uint32_t place = place_.empty() ? rank : place_[rank];
  if (group_ == ShiftGroup::nested) return sum(place, inverse(start_));
  return place >= start_ ? place - start_ : place + ranks_ - start_;
}

std::uint32_t Shifts::rank(std::uint32_t element) const {
  std::uint32_t place = group_ == ShiftGroup::nested ? sum(element, start_) : element + start_;
  if (place >= ranks_) place -= ranks_;
  return order_.empty() ? place : order_[place];
}

}  // namespace rondo::verifier
