#include "transports/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/crash_point.hpp"
#include "base/descriptors.hpp"

namespace rondo {
namespace {

constexpr int required_seals = F_SEAL_SHRINK | F_SEAL_GROW;

Error system_error(Errc code, const std::string& detail, int number) { return Error{code, detail, number, "shm segment"}; }

Result<std::byte*> map_shared(int fd, std::uint64_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED)
    return system_error(Errc::out_of_resources, "cannot map " + std::to_string(bytes) + " bytes of shared memory (address space limit: ulimit -v)", errno);
  return static_cast<std::byte*>(data);
}

}  // namespace

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : fd_(std::move(other.fd_)), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  if (this != &other) {
    if (data_ != nullptr) munmap(data_, bytes_);
    fd_ = std::move(other.fd_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

SharedSegment::~SharedSegment() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Result<SharedSegment> SharedSegment::create(std::uint64_t bytes) {
  SharedSegment segment;
  segment.fd_.reset(memfd_create("rondo", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!segment.fd_) {
    if (errno == EMFILE || errno == ENFILE) return no_descriptor_left("make a shared segment with", errno, "shm segment");
    return system_error(Errc::out_of_resources, "memfd_create failed", errno);
  }
  crash_point("connect: segment made");
  if (ftruncate(segment.fd_.get(), static_cast<off_t>(bytes)) != 0)
    return system_error(Errc::out_of_resources, "cannot size a shared segment to " + std::to_string(bytes) + " bytes (limit: ulimit -f)", errno);
  crash_point("connect: segment sized");
  if (fcntl(segment.fd_.get(), F_ADD_SEALS, required_seals | F_SEAL_SEAL) != 0)
    return system_error(Errc::unsupported, "cannot seal a memfd", errno);
  crash_point("connect: segment sealed");
  auto data = map_shared(segment.fd_.get(), bytes);
  if (!data) return data.error();
  segment.data_ = *data;
  segment.bytes_ = bytes;
  return segment;
}

Result<SharedSegment> SharedSegment::map(int fd, std::uint64_t bytes) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return system_error(Errc::invalid_argument, "a peer's segment can't be examined", errno);
  if (static_cast<std::uint64_t>(status.st_size) != bytes)
    return system_error(Errc::invalid_argument, "a peer's segment has " + std::to_string(status.st_size) + " bytes, expected " + std::to_string(bytes), 0);
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & required_seals) != required_seals)
    return system_error(Errc::invalid_argument, "a peer's segment is not a memfd sealed against resizing", 0);
  crash_point("connect: a peer's segment examined");
  auto data = map_shared(fd, bytes);
  if (!data) return data.error();
  SharedSegment segment;
  segment.data_ = *data;
  segment.bytes_ = bytes;
  return segment;
}

void SharedSegment::give_back(std::uint64_t offset, std::uint64_t bytes) {
  const int modes = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (fallocate(fd_.get(), modes, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) std::memset(data_ + offset, 0, bytes);
}

Result<void> SharedSegment::commit(std::uint64_t offset, std::uint64_t bytes) {
  int failed = 0;
  do {
    failed = fallocate(fd_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed == 0) {
    crash_point("connect: memory committed");
    return {};
  }
  return system_error(Errc::out_of_resources, "no memory for " + std::to_string(bytes) + " bytes of shared staging", failed);
}

}  // namespace rondo
