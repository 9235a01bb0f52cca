#include "timeline.hpp"

#include <cstdio>
#include <fstream>
#include <vector>

namespace {

using rondo::DataType;
using rondo::Result;

/// What a rank says of its events before it sends them.
struct Numbers {
  std::uint64_t text_bytes = 0;
  std::uint64_t events = 0;
  std::uint64_t dropped = 0;
};
constexpr std::uint64_t number_count = sizeof(Numbers) / sizeof(std::uint64_t);

Result<void> send(rondo::Communicator& communicator, const Numbers& numbers, const std::string& text) {
  if (auto sent = communicator.send(&numbers, number_count, DataType::u64, 0); !sent) return sent;
  return communicator.send(text.data(), text.size(), DataType::u8, 0);
}

Result<std::string> receive(rondo::Communicator& communicator, Numbers& numbers, std::uint32_t from) {
  if (auto received = communicator.recv(&numbers, number_count, DataType::u64, from); !received) return received.error();
  std::string text(numbers.text_bytes, ' ');
  if (auto received = communicator.recv(text.data(), text.size(), DataType::u8, from); !received) return received.error();
  return text;
}

}  // namespace

Result<void> write_timeline(rondo::Communicator& communicator, const Options& options, const rondo::Trace& trace) {
  std::vector<std::string> texts{rondo::trace_events(trace)};
  const Numbers own{texts.front().size(), trace.events.size(), trace.dropped};
  if (communicator.rank() != 0) return send(communicator, own, texts.front());
  std::vector<Numbers> numbers(communicator.size(), own);
  std::uint64_t events = own.events;
  for (std::uint32_t rank = 1; rank < communicator.size(); ++rank) {
    auto text = receive(communicator, numbers[rank], rank);
    if (!text) return text.error();
    texts.push_back(std::move(*text));
    events += numbers[rank].events;
  }
  std::ofstream file(options.trace_file);
  file << rondo::trace_file(texts) << std::flush;
  if (!file) return rondo::Error{rondo::Errc::io, "cannot write " + options.trace_file};
  std::printf("# Timeline             : %llu events of %u ranks in %s; open it at https://ui.perfetto.dev\n", static_cast<unsigned long long>(events),
              communicator.size(), options.trace_file.c_str());
  for (std::uint32_t rank = 0; rank < communicator.size(); ++rank)
    if (numbers[rank].dropped != 0)
      std::printf("# Timeline             : %llu more events of rank %u were dropped: there is room for %llu in a call\n",
                  static_cast<unsigned long long>(numbers[rank].dropped), rank, static_cast<unsigned long long>(timeline_events));
  return {};
}
