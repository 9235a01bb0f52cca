#include "communicator.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "errors.hpp"
#include "rondo/formats.hpp"

namespace rondo_python {
namespace {

constexpr std::chrono::seconds longest_drain(10);

bool same_type(const Buffer& a, const Buffer& b) { return a.dtype.code == b.dtype.code && a.dtype.bits == b.dtype.bits; }

[[noreturn]] void refuse(const std::string& what) { throw nb::value_error(what.c_str()); }

std::vector<std::uint64_t> numbers_of(const std::vector<std::uint64_t>& elements, const Buffer& buffer, const char* name) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : elements) sum += count <= buffer.elements ? count : buffer.elements + 1;
  if (sum != buffer.elements)
    refuse(std::string(name) + " is " + buffer.shape + ", its counts add up to " + std::to_string(sum) + " elements; accepted: as many");
  std::vector<std::uint64_t> numbers = elements;
  for (std::uint64_t& count : numbers) count *= buffer.per_element;
  return numbers;
}

}  // namespace

Started::~Started() {
  const nb::gil_scoped_release without_lock;  // it may be the last that holds the communicator
  const rondo::Work left = std::exchange(work_, {});
}

Communicator::~Communicator() {
  const nb::gil_scoped_release without_lock;
  const auto deadline = std::chrono::steady_clock::now() + longest_drain;
  for (Kept& kept : in_flight_) (void)kept.work.wait_for(std::max<std::chrono::nanoseconds>(deadline - std::chrono::steady_clock::now(), {}));
  if (!std::all_of(in_flight_.begin(), in_flight_.end(), [](const Kept& kept) { return kept.work.done(); })) communicator_.abort();
  for (Kept& kept : in_flight_) {
    (void)kept.work.wait();
    kept.work = {};
  }
  const rondo::Communicator left = std::move(communicator_);
}

/// Needs the interpreter's lock. Arrays of calls that have ended meanwhile are let go.
Started Communicator::keep(rondo::Work work, Arrays arrays) {
  std::erase_if(in_flight_, [](const Kept& kept) { return kept.work.done(); });
  in_flight_.push_back({work, std::move(arrays)});
  return Started(std::move(work));
}

rondo::Call Communicator::call_of(const CallText& text, const std::optional<Input>& input, const std::optional<Output>& output) const {
  rondo::Call call;
  call.collective = checked(rondo::parse_collective(text.collective));
  call.op = checked(rondo::parse_reduce_op(text.op));
  call.root = text.root;
  call.scale = text.scale;
  const rondo::BlockCounts blocks = rondo::block_counts(call.collective, size());
  std::optional<Buffer> given, gets;
  if (input) given = buffer_of(*input, "array");
  if (output) gets = buffer_of(*output, "out");
  const auto& known = given ? given : gets;
  if (!known) return call;  // a barrier
  const std::uint64_t known_blocks = given ? blocks.input : blocks.output;
  if (known->elements % known_blocks != 0)
    refuse(std::string(given ? "array" : "out") + " is " + known->shape + "; accepted: as many elements for each of " + std::to_string(size()) + " ranks");
  const std::uint64_t elements = known->elements / known_blocks;
  if (given && gets) {
    if (!same_type(*given, *gets)) throw nb::type_error(("array is " + given->shape + ", out is " + gets->shape + "; accepted: one type").c_str());
    if (gets->elements != elements * blocks.output)
      refuse("array is " + given->shape + ", out is " + gets->shape + "; accepted: an out of " + std::to_string(elements * blocks.output) + " elements");
  }
  if (rondo::is_reduction(call.collective)) call.op = combining(*known, call.op);
  call.type = known->type;
  call.count = elements * known->per_element;
  call.input = given ? given->data : nullptr;
  call.output = gets ? gets->data : nullptr;
  return call;
}

void Communicator::run(const CallText& text, const std::optional<Input>& input, const std::optional<Output>& output) {
  const rondo::Call call = call_of(text, input, output);
  const nb::gil_scoped_release without_lock;
  check(communicator_.run(call));
}

Started Communicator::start(const CallText& text, const std::optional<Input>& input, const std::optional<Output>& output) {
  const rondo::Call call = call_of(text, input, output);
  Arrays arrays;
  if (input) arrays.inputs.push_back(*input);
  if (output) arrays.outputs.push_back(*output);
  return keep(communicator_.start(call), std::move(arrays));
}

Started Communicator::exchange(const Input& input, const Counts& sent, const Output& output, const Counts& received) {
  const Buffer given = buffer_of(input, "array"), gets = buffer_of(output, "out");
  if (!same_type(given, gets)) throw nb::type_error(("array is " + given.shape + ", out is " + gets.shape + "; accepted: one type").c_str());
  const Counts out = numbers_of(sent, given, "array"), in = numbers_of(received, gets, "out");
  return keep(communicator_.start_all_to_all_v(given.data, {out}, gets.data, {in}, given.type), {{input}, {output}});
}

Started Communicator::reduce_list(const std::vector<std::pair<Input, Output>>& tensors, const std::string& op, double scale, const std::string& wire) {
  rondo::Bucket bucket;
  std::vector<rondo::Tensor> list;
  bucket.op = checked(rondo::parse_reduce_op(op));
  bucket.scale = scale;
  if (!wire.empty()) bucket.wire = checked(rondo::parse_data_type(wire));
  std::optional<Buffer> first;
  for (const auto& [input, output] : tensors) {
    const Buffer given = buffer_of(input, "an array"), gets = buffer_of(output, "one of outs");
    if (!first) first = given;
    if (!same_type(given, gets) || !same_type(given, *first) || given.elements != gets.elements)
      refuse("a list with " + first->shape + ", " + given.shape + " and, among outs, " + gets.shape + "; accepted: one type, and outs like their arrays");
    list.push_back({given.data, gets.data, given.elements * given.per_element});
  }
  if (first) {
    bucket.type = first->type;
    bucket.op = combining(*first, bucket.op);
  }
  bucket.tensors = list;
  Arrays arrays;
  for (const auto& [input, output] : tensors) {
    arrays.inputs.push_back(input);
    arrays.outputs.push_back(output);
  }
  return keep(communicator_.start_all_reduce_fused(bucket), std::move(arrays));
}

void Communicator::send(const Input& data, std::uint32_t to) {
  const Buffer message = buffer_of(data, "array");
  const nb::gil_scoped_release without_lock;
  check(communicator_.send(message.data, message.elements * message.per_element, message.type, to));
}

Started Communicator::start_send(const Input& data, std::uint32_t to) {
  const Buffer message = buffer_of(data, "array");
  return keep(communicator_.start_send(message.data, message.elements * message.per_element, message.type, to), {{data}, {}});
}

std::uint32_t Communicator::recv(const Output& data, std::optional<std::uint32_t> from) {
  const Buffer message = buffer_of(data, "out");
  const std::uint64_t count = message.elements * message.per_element;
  const nb::gil_scoped_release without_lock;
  if (!from) return checked(communicator_.recv_any(message.data, count, message.type));
  check(communicator_.recv(message.data, count, message.type, *from));
  return *from;
}

Started Communicator::start_recv(const Output& data, std::optional<std::uint32_t> from) {
  const Buffer message = buffer_of(data, "out");
  const std::uint64_t count = message.elements * message.per_element;
  return keep(from ? communicator_.start_recv(message.data, count, message.type, *from) : communicator_.start_recv_any(message.data, count, message.type),
              {{}, {data}});
}

std::unique_ptr<Communicator> Communicator::split(std::int32_t color, std::int32_t key) {
  const nb::gil_scoped_release without_lock;
  auto child = checked(communicator_.split(color, key));
  return child ? std::make_unique<Communicator>(std::move(*child)) : nullptr;
}

std::unique_ptr<Communicator> Communicator::duplicate() {
  const nb::gil_scoped_release without_lock;
  return std::make_unique<Communicator>(checked(communicator_.duplicate()));
}

std::unique_ptr<Communicator> Communicator::shrink() {
  const nb::gil_scoped_release without_lock;
  return std::make_unique<Communicator>(checked(communicator_.shrink()));
}

std::unique_ptr<Communicator> Communicator::grow(std::uint32_t size, const std::string& job) {
  const nb::gil_scoped_release without_lock;
  return std::make_unique<Communicator>(checked(communicator_.grow(size, job)));
}

std::shared_ptr<void> Communicator::allocate(std::uint64_t bytes) { return checked(communicator_.allocate(bytes)); }

std::string Communicator::plan_for(const CallText& text, const std::optional<Input>& input, const std::optional<Output>& output) {
  return rondo::write_plan(checked(communicator_.plan_for(call_of(text, input, output))));
}

void Communicator::use_plan(const rondo::Plan& plan, bool unverified) {
  check(communicator_.use_plan(plan, unverified));
}

void Started::wait(std::optional<double> seconds) {
  if (seconds && !(*seconds >= 0)) refuse("a timeout of " + std::to_string(*seconds) + " s; accepted: 0 and above, or None");
  const nb::gil_scoped_release without_lock;
  constexpr double longest = 1e9;  // seconds that 64 bits of nanoseconds hold
  if (!seconds || *seconds > longest) check(work_.wait());
  else check(work_.wait_for(std::chrono::nanoseconds(static_cast<std::int64_t>(*seconds * 1e9))));
}

}  // namespace rondo_python
