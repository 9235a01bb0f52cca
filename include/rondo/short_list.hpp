// A list that is short almost always: its first elements lie in the list itself, so that making one asks for no memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace rondo {
/// @addtogroup plans
/// @{

/// A std::vector of at most 2^32 − 1 plain values of which the first `Inside` need no allocation. Moving one is copying a few words.
/// Not thread-safe, as a vector isn't. Iterators are pointers, and end with the next change of length and with a move.
template <typename T, std::uint32_t Inside>
class ShortList {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> && Inside > 0);

 public:
  using value_type = T;              ///< as a vector has it
  using size_type = std::size_t;     ///< likewise
  using difference_type = std::ptrdiff_t;  ///< likewise
  using reference = T&;              ///< likewise
  using const_reference = const T&;  ///< likewise
  using iterator = T*;               ///< likewise
  using const_iterator = const T*;   ///< likewise

  ShortList() = default;
  ShortList(std::initializer_list<T> values) : ShortList(values.begin(), values.end()) {}  ///< as a vector has it
  /// `count` values of their own default.
  explicit ShortList(std::size_t count) {
    grow_to(count);
    for (; size_ < count; ++size_) data()[size_] = T{};
  }
  /// A copy of the values from `first` up to `last`.
  template <std::forward_iterator Iterator>
  ShortList(Iterator first, Iterator last) {
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    grow_to(count);
    std::copy(first, last, data());
    size_ = static_cast<std::uint32_t>(count);
  }
  ShortList(const ShortList& other) : ShortList(other.begin(), other.end()) {}  ///< as a vector has it
  ShortList(ShortList&& other) noexcept { take(other); }  ///< likewise; the other is empty then
  ShortList& operator=(const ShortList& other) {          ///< likewise
    if (this != &other) *this = ShortList(other);
    return *this;
  }
  ShortList& operator=(ShortList&& other) noexcept {  ///< likewise; the other is empty then
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ~ShortList() { release(); }

  std::size_t size() const { return size_; }  ///< as a vector has it
  bool empty() const { return size_ == 0; }   ///< likewise
  T* data() { return outside() ? place_.elsewhere : place_.inside; }              ///< likewise
  const T* data() const { return outside() ? place_.elsewhere : place_.inside; }  ///< likewise
  T* begin() { return data(); }                    ///< likewise
  T* end() { return data() + size_; }              ///< likewise
  const T* begin() const { return data(); }        ///< likewise
  const T* end() const { return data() + size_; }  ///< likewise
  T& operator[](std::size_t k) { return data()[k]; }              ///< likewise
  const T& operator[](std::size_t k) const { return data()[k]; }  ///< likewise
  T& front() { return data()[0]; }                      ///< likewise
  const T& front() const { return data()[0]; }          ///< likewise
  T& back() { return data()[size_ - 1]; }               ///< likewise
  const T& back() const { return data()[size_ - 1]; }   ///< likewise
  /// As a vector has it: std::out_of_range where there is no such element.
  const T& at(std::size_t k) const {
    if (k >= size_) throw std::out_of_range("ShortList::at");
    return data()[k];
  }

  void clear() { size_ = 0; }                       ///< as a vector has it
  void reserve(std::size_t count) { grow_to(count); }  ///< likewise
  void push_back(const T& value) {                  ///< likewise
    const T kept = value;  // may lie in this list
    if (size_ == capacity_) grow_to(2 * std::size_t{capacity_});
    data()[size_++] = kept;
  }
  void pop_back() { --size_; }                      ///< likewise
  /// As a vector has it, of a range outside of this list.
  template <std::forward_iterator Iterator>
  T* insert(const T* where, Iterator first, Iterator last) {
    const auto at = static_cast<std::size_t>(where - begin());
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    grow_to(size_ + count);
    std::copy_backward(begin() + at, end(), end() + count);
    std::copy(first, last, begin() + at);
    size_ += static_cast<std::uint32_t>(count);
    return begin() + at;
  }
  T* insert(const T* where, const T& value) {  ///< as a vector has it
    const T kept = value;
    return insert(where, &kept, &kept + 1);
  }
  T* erase(const T* first, const T* last) {  ///< likewise
    T* const at = begin() + (first - begin());
    std::copy(begin() + (last - begin()), end(), at);
    size_ -= static_cast<std::uint32_t>(last - first);
    return at;
  }
  T* erase(const T* where) { return erase(where, where + 1); }  ///< likewise

  /// Element by element.
  friend bool operator==(const ShortList& a, const ShortList& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  union Place {
    Place() : elsewhere(nullptr) {}
    T inside[Inside];
    T* elsewhere;
  };

  bool outside() const { return capacity_ > Inside; }

  void grow_to(std::size_t count) {
    if (count <= capacity_) return;
    T* const grown = new T[count];
    std::copy(begin(), end(), grown);
    release();
    place_.elsewhere = grown;
    capacity_ = static_cast<std::uint32_t>(count);
  }

  void release() {
    if (outside()) delete[] place_.elsewhere;
    capacity_ = Inside;
  }

  /// What the other had, which is empty then. This list holds no memory.
  void take(ShortList& other) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // all of the place is copied, whatever of it is in use
#endif
    std::memcpy(static_cast<void*>(&place_), &other.place_, sizeof place_);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, Inside);
  }

  Place place_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = Inside;
};

/// @}
}  // namespace rondo
