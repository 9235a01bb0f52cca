// Reading ranks from outside: their segments are memfds that /proc leads to.
#include "rondo/inspect.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>

#include "base/fd.hpp"
#include "base/process_state.hpp"
#include "communicator/flight_recorder.hpp"
#include "communicator/layouts.hpp"
#include "communicator/told.hpp"

namespace rondo {
namespace {

constexpr std::uint64_t most_lanes = 1024;
constexpr std::string_view segment_link = "/memfd:rondo (deleted)";

/// The entries of a folder that are numbers; none where it can't be read.
std::vector<std::int64_t> numbers_in(const std::string& folder) {
  std::vector<std::int64_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// A rank's segment, mapped to be read.
class Segment {
 public:
  explicit Segment(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status {};
    if (!fd_ || fstat(fd_.get(), &status) != 0 || status.st_size < static_cast<off_t>(area_page)) return;
    bytes_ = static_cast<std::uint64_t>(status.st_size);
    void* const data = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd_.get(), 0);
    if (data != MAP_FAILED) data_ = static_cast<const std::byte*>(data);
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() {
    if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), bytes_);
  }

  bool readable() const { return data_ != nullptr; }
  std::uint64_t bytes() const { return bytes_; }
  const std::byte* data() const { return data_; }

  /// Calls `look` with the offset of each page that is memory, among those where communicators' areas may begin.
  template <class Look>
  void each_page(Look look) const {
    const std::uint64_t end = std::min(bytes_, room_for_children * 2);
    for (off_t at = 0; static_cast<std::uint64_t>(at) < end;) {
      const off_t data = lseek(fd_.get(), at, SEEK_DATA);
      if (data < 0) return;
      const off_t hole = std::max(data + 1, lseek(fd_.get(), data, SEEK_HOLE));
      const auto first = static_cast<std::uint64_t>(data) / area_page * area_page;
      for (auto offset = first; offset + area_page <= end && offset < static_cast<std::uint64_t>(hole); offset += area_page)
        look(offset);
      at = hole;
    }
  }

 private:
  Fd fd_;
  std::uint64_t bytes_ = 0;
  const std::byte* data_ = nullptr;
};

/// Ranks with equal keys are of one communicator.
auto key_of(const SeenRank& rank) { return std::tuple(rank.family, rank.communicator, rank.first_of_group); }

/// A lane's signals in this call, by lane.
std::vector<std::uint64_t> signals_of(const std::byte* area, std::uint64_t lanes, std::uint64_t call) {
  const ContextLayout layout;
  std::vector<std::uint64_t> signals;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const std::uint64_t progress = reinterpret_cast<const LaneLine*>(area + layout.lane(lane))->progress.load(std::memory_order_acquire);
    signals.push_back(progress >> progress_call_shift == (call & (~std::uint64_t{0} >> progress_call_shift)) ? progress % max_signals : 0);
  }
  return signals;
}

std::string state_of(const StatusLine& status) {
  switch (static_cast<MemberState>(status.state.load(std::memory_order_acquire))) {
    case MemberState::running: return "running";
    case MemberState::left: return "left";
    case MemberState::aborted: return "aborted";
    case MemberState::failed: return "failed";
  }
  return "in no known state";
}

std::string last_words_of(const Segment& segment, const StatusLine& status) {
  const std::uint64_t length = std::min(status.failure.load(std::memory_order_relaxed) & 0xffffffff, last_words_bytes);
  return {reinterpret_cast<const char*>(segment.data() + segment.bytes() - last_words_bytes), length};
}

/// The rank whose area begins at `offset`, if one's does.
std::optional<SeenRank> rank_at(const Segment& segment, std::uint64_t offset, std::int64_t process) {
  const std::byte* const area = segment.data() + offset;
  const ContextLayout layout;
  const IdentityWords& identity = reinterpret_cast<const SleepLine*>(area + layout.sleep())->identity;
  if (identity.magic.load(std::memory_order_acquire) != identity_magic) return std::nullopt;  // pairs with introduce()
  const std::uint64_t rank = identity.rank.load(std::memory_order_relaxed), number = identity.number.load(std::memory_order_relaxed);
  const auto& status = *reinterpret_cast<const StatusLine*>(area + layout.status());
  SeenRank seen;
  seen.process = process;
  seen.hindrance = hindrance_of(process);
  seen.family = identity.family.load(std::memory_order_relaxed);
  seen.communicator = number & 0xffffffffffff;
  seen.first_of_group = number >> 48;
  seen.rank = static_cast<std::uint32_t>(rank);
  seen.size = static_cast<std::uint32_t>(rank >> 32);
  seen.state = state_of(status);
  if (seen.state == "failed" && offset == 0) seen.last_words = last_words_of(segment, status);
  seen.finished = status.done.load(std::memory_order_acquire);
  for (std::uint64_t parity = 0; parity < 2; ++parity) {
    const SeenRecord record = read_record(*reinterpret_cast<const CallRecord*>(area + layout.records() + parity * cache_line));
    if (record.sequence <= seen.call) continue;
    seen.call = record.sequence;
    seen.operation = describe(record.identity);
  }
  const std::uint64_t lanes = std::min<std::uint64_t>(identity.lanes.load(std::memory_order_relaxed), (segment.bytes() - offset - layout.lane(0)) / line_pair);
  seen.signals = signals_of(area, std::min(lanes, most_lanes), seen.call);
  if (seen.call > seen.finished)
    if (const auto wait = read_long_wait(status, seen.call)) seen.wait = SeenWait{wait->member, wait->signals, wait->lane, wait->own_lane, wait->own_step};
  return seen;
}

/// What a rank waited for may have come since, while it itself doesn't run.
void forget_waits_that_are_over(std::vector<SeenRank>& ranks) {
  for (SeenRank& rank : ranks) {
    if (!rank.wait) continue;
    const auto awaited = std::find_if(ranks.begin(), ranks.end(), [&](const SeenRank& other) {
      return key_of(other) == key_of(rank) && other.rank == rank.wait->rank;
    });
    if (awaited == ranks.end()) continue;
    const bool given = awaited->call == rank.call && rank.wait->lane < awaited->signals.size() && awaited->signals[rank.wait->lane] >= rank.wait->signals;
    if (given || awaited->call > rank.call) rank.wait.reset();
  }
}

struct Looked {
  std::vector<SeenRank> ranks;
  std::string hindrance;  ///< why nothing could be seen
};

Looked look_into(std::int64_t process) {
  Looked looked;
  const std::string folder = "/proc/" + std::to_string(process) + "/fd";
  if (access(folder.c_str(), R_OK) != 0)
    looked.hindrance = errno == ENOENT ? "there is no such process" : std::string("it can't be looked into: ") + std::strerror(errno);
  std::set<ino_t> seen;  // a descriptor may be there twice
  for (const std::int64_t number : numbers_in(folder)) {
    const std::string path = folder + "/" + std::to_string(number);
    char target[64];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0 || std::string_view(target, static_cast<std::size_t>(length)) != segment_link) continue;
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || !seen.insert(status.st_ino).second) continue;
    const Segment segment(path);
    if (!segment.readable()) {
      looked.hindrance = std::string("its memory can't be read: ") + std::strerror(errno);
      continue;
    }
    segment.each_page([&](std::uint64_t offset) {
      if (auto rank = rank_at(segment, offset, process)) looked.ranks.push_back(std::move(*rank));
    });
  }
  if (looked.ranks.empty() && looked.hindrance.empty()) looked.hindrance = "it has no communicator over shared memory";
  return looked;
}

}  // namespace

Result<std::vector<SeenRank>> inspect(const std::vector<std::int64_t>& processes) {
  std::set<std::uint64_t> families;
  for (const std::int64_t process : processes) {
    const Looked looked = look_into(process);
    if (looked.ranks.empty()) return Error{Errc::invalid_argument, "process " + std::to_string(process) + ": " + looked.hindrance, 0, "inspect"};
    for (const SeenRank& rank : looked.ranks) families.insert(rank.family);
  }
  std::vector<SeenRank> all;
  for (const std::int64_t process : numbers_in("/proc"))
    for (SeenRank& rank : look_into(process).ranks)
      if (processes.empty() || families.count(rank.family) != 0) all.push_back(std::move(rank));
  std::sort(all.begin(), all.end(), [](const SeenRank& a, const SeenRank& b) { return std::pair(key_of(a), a.rank) < std::pair(key_of(b), b.rank); });
  forget_waits_that_are_over(all);
  return all;
}

}  // namespace rondo
