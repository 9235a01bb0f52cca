/// @defgroup results Results
/// Operating failures as values, spelled like std::expected (C++23).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace rondo {
/// @addtogroup results
/// @{

/// What kind of failure an Error is. The kind decides what a caller can do about it; the detail says what happened.
enum class Errc {
  invalid_argument,   ///< the caller's input is wrong; the detail names it and says what would be accepted
  unsupported,        ///< the request makes sense but can't be served here; the detail says why
  invalid_plan,       ///< a plan is malformed or was proved wrong
  mismatch,           ///< ranks disagree about the call they are in
  peer_failed,        ///< a peer died, left or failed; the detail names it
  deadline_exceeded,  ///< a wait outlasted its deadline
  aborted,            ///< abort() was called
  out_of_resources,   ///< memory, descriptors or another limit; the detail names the limit and the need
  io,                 ///< a file or a socket failed
  corrupted,          ///< data changed on their way between ranks (CommunicatorOptions::integrity); the detail says whose, and where
};

/// The name of an error kind as it is printed: "invalid_argument", ...
std::string_view to_string(Errc code);

/// A failure: its kind, one clear line for a person, the operating system's number (0 if none) and where it arose.
struct Error {
  Errc code = Errc::invalid_argument;  ///< its kind
  std::string detail;                  ///< one line for a person
  int native = 0;                      ///< errno; 0: none
  std::string where = {};              ///< part of the library, or rank
};

/// One line for a person: "kind: detail (where): errno's text".
std::string to_string(const Error& error);

/// A T or an Error. Reading the wrong side is a bug and asserts, in release too.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      ///< success
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  ///< failure

  bool has_value() const { return state_.index() == 0; }  ///< whether it is a T
  explicit operator bool() const { return has_value(); }  ///< the same

  T& value() & { return *std::get_if<0>(&checked(0)); }               ///< the T
  const T& value() const& { return *std::get_if<0>(&checked(0)); }    ///< the T
  T&& value() && { return std::move(*std::get_if<0>(&checked(0))); }  ///< the T
  T& operator*() & { return value(); }                                ///< the T
  const T& operator*() const& { return value(); }                     ///< the T
  T&& operator*() && { return std::move(*this).value(); }             ///< the T
  T* operator->() { return &value(); }                                ///< the T's members
  const T* operator->() const { return &value(); }                    ///< the T's members

  Error& error() { return *std::get_if<1>(&checked(1)); }              ///< the Error
  const Error& error() const { return *std::get_if<1>(&checked(1)); }  ///< the Error

 private:
  std::variant<T, Error>& checked(std::size_t index) {
    if (state_.index() != index) __builtin_trap();
    return state_;
  }
  const std::variant<T, Error>& checked(std::size_t index) const {
    if (state_.index() != index) __builtin_trap();
    return state_;
  }
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error. Success costs one flag.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() noexcept {}                               // not defaulted: {} would zero the Error's room first
  Result(Error error) : error_(std::move(error)) {}  ///< failure

  bool has_value() const { return !error_.has_value(); }  ///< whether it is success
  explicit operator bool() const { return has_value(); }  ///< the same
  /// Asserts success.
  void value() const {
    if (error_) __builtin_trap();
  }
  /// The Error.
  Error& error() {
    if (!error_) __builtin_trap();
    return *error_;
  }
  /// The Error.
  const Error& error() const {
    if (!error_) __builtin_trap();
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

/// @}
}  // namespace rondo
