// Strict reductions by other ways through the communicator: checksums, buffers that peers read, f64, lists of tensors. The bits stay those of the one tree.
#include <cstring>

#include "communicator/one_tree.hpp"
#include "rondo/planner.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace {

using namespace rondo;

enum class Memory : std::uint8_t { ordinary, symmetric };

template <class T>
constexpr DataType type_of = sizeof(T) == 8 ? DataType::f64 : DataType::f32;

/// A call's buffer, which may be memory that the peers have mapped.
template <class T>
class Data {
 public:
  Data(Communicator& communicator, Memory memory) {
    if (memory == Memory::ordinary) own_.resize(test::most_summed);
    else if (auto made = communicator.allocate(test::most_summed * sizeof(T))) shared_ = std::move(*made);
    else refused_ = to_string(made.error());
  }
  const std::string& refused() const { return refused_; }
  T* get() { return shared_ ? static_cast<T*>(shared_.get()) : own_.data(); }

 private:
  std::vector<T> own_;
  std::shared_ptr<void> shared_;
  std::string refused_;
};

template <class T>
std::string sums_along_the_tree(Communicator& communicator, Memory memory) {
  const std::uint32_t ranks = communicator.size(), rank = communicator.rank();
  std::vector<std::vector<T>> all;
  for (std::uint32_t each = 0; each < ranks; ++each) all.push_back(test::values_of<T>(each, test::most_summed));
  std::vector<T> sums(test::most_summed);
  for (std::uint64_t i = 0; i < test::most_summed; ++i) sums[i] = test::tree(all, 0, ranks, i);
  Data<T> input(communicator, memory), output(communicator, memory);
  if (!input.refused().empty()) return input.refused();
  std::memcpy(input.get(), all[rank].data(), test::most_summed * sizeof(T));
  const auto judge = [&](const char* what, const Result<void>& done, std::uint64_t from, std::uint64_t count) -> std::string {
    if (!done) return what + (": " + to_string(done.error()));
    return std::memcmp(output.get(), sums.data() + from, count * sizeof(T)) == 0 ? "" : std::string(what) + " of " + std::to_string(count) + " has other bits";
  };
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{1000}, std::uint64_t{20'011}, test::most_summed}) {
    auto done = communicator.all_reduce(input.get(), output.get(), count, type_of<T>);
    if (auto wrong = judge("all_reduce", done, 0, count); !wrong.empty()) return wrong;
    const std::uint64_t block = count / ranks;
    done = communicator.reduce_scatter(input.get(), output.get(), block, type_of<T>);
    if (auto wrong = judge("reduce_scatter", done, rank * block, block); !wrong.empty()) return wrong;
    const std::uint64_t third = count / 3;
    const std::array<Tensor, 2> tensors{Tensor{input.get(), output.get(), third}, Tensor{input.get() + third, output.get() + third, count - third}};
    done = communicator.all_reduce_fused({tensors, type_of<T>});
    if (auto wrong = judge("all_reduce_fused", done, 0, count); !wrong.empty()) return wrong;
  }
  return "";
}

CommunicatorOptions strict_with(bool integrity, std::string_view algorithm = "") {
  CommunicatorOptions options;
  options.strict = true;
  options.integrity = integrity;
  options.algorithm = algorithm;
  return options;
}

}  // namespace

TEST_CASE("strict sums of f64, with checksums or without, have the bits of the one tree") {
  const auto of_doubles = [](Communicator& communicator) { return sums_along_the_tree<double>(communicator, Memory::ordinary); };
  const auto of_floats = [](Communicator& communicator) { return sums_along_the_tree<float>(communicator, Memory::ordinary); };
  for (const char* algorithm : {"", "ring"})  // which isn't strict, so that another one has to be taken
    for (const bool integrity : {false, true})
      for (const std::uint32_t ranks : {2u, 5u}) {
        INFO(ranks << " ranks" << (integrity ? ", with checksums " : " ") << algorithm);
        CHECK(complaints(run_processes(ranks, of_doubles, strict_with(integrity, algorithm))) == "");
        if (integrity) CHECK(complaints(run_processes(ranks, of_floats, strict_with(integrity, algorithm))) == "");
      }
}

TEST_CASE("strict sums in symmetric memory have the bits of the one tree, by every algorithm that reads it") {
  const auto body = [](Communicator& communicator) -> std::string {
    if (auto wrong = sums_along_the_tree<float>(communicator, Memory::symmetric); !wrong.empty()) return wrong;
    return sums_along_the_tree<double>(communicator, Memory::symmetric);
  };
  for (const char* algorithm : {"", "ring", "direct_one_shot", "direct_two_shot"})
    for (const std::uint32_t ranks : {2u, 4u}) {
      INFO(ranks << " ranks, " << algorithm);
      CHECK(complaints(run_processes(ranks, body, strict_with(false, algorithm))) == "");
    }
}
