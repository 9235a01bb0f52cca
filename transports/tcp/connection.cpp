#include "transports/tcp/connection.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace rondo::tcp {
namespace {

// A message lies in its buffer as it does in the stream, its payload aligned.
constexpr std::size_t payload_offset = 128;
constexpr std::size_t head_offset = payload_offset - sizeof(Head);
constexpr std::size_t most_parts = 16;       ///< of one write
constexpr std::uint32_t most_watches_in_vain = 4;  ///< for a call that the peer says it made
constexpr std::uint32_t most_reads = 8;      ///< in a row: other peers want their turn

Head& head_of(const Buffer& buffer) { return *reinterpret_cast<Head*>(buffer.data() + head_offset); }

Message view(const Buffer& buffer, std::uint64_t bytes) { return {head_of(buffer).header, buffer.data() + payload_offset, bytes}; }

bool would_block() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

void Connection::answered(LiveFd socket) {
  socket_ = std::move(socket);
  called_ = true;
  write();
}

bool Connection::take_call(LiveFd socket) {
  if (taken_ || (socket_ && !called_)) return false;
  taken_ = true;
  if (!socket_) {
    socket_ = std::move(socket);
  } else if (ended_) {  // a peer that called, and left, has dropped what it found of this rank's call
    begin_again(std::move(socket));
  } else if (lower_) {
    older_ = std::move(socket);
  } else {
    next_ = std::move(socket);
    move();
  }
  write();
  return true;
}

/// Ends what this rank says on its own socket, with the next one in mind.
void Connection::move() {
  for (const Head::Kind kind : {Head::Kind::moved, Head::Kind::crossed}) {
    Buffer frame = buffers_.take(payload_offset);
    if (!frame) {
      ended_ = true;
      return;
    }
    head_of(frame) = {0, kind, 0, {}};
    outgoing_.push_back({std::move(frame), sizeof(Head), nullptr, kind == Head::Kind::moved});
  }
}

/// The socket in use is over. A peer that left may have dropped this rank's call, and have said all on its own.
void Connection::end() {
  if (next_) begin_again(std::move(next_));
  else ended_ = true;
}

void Connection::go_deaf() {
  deaf_ = true;
  outgoing_.clear();
  written_ = 0;
}

/// By the peer's own call. Something may have been lost on the way to it, and it can't be told the rest.
void Connection::begin_again(LiveFd socket) {
  socket_ = std::move(socket);
  called_ = refused_ = ended_ = false;
  go_deaf();
  stage_begin_ = stage_end_ = 0;
  coming_to_ = nullptr;
}

Message Connection::send_slot(std::uint32_t channel, std::uint64_t bytes) {
  Sending& link = sending_[channel];
  if (ended_ || deaf_ || link.posted - link.released >= window) return {};
  if (link.slot && (std::uint64_t{1} << link.slot.size_class) < payload_offset + bytes) buffers_.give(std::move(link.slot));
  if (!link.slot) link.slot = buffers_.take(payload_offset + bytes);
  if (!link.slot) return {};
  link.bytes = bytes;
  return view(link.slot, bytes);
}

void Connection::post(std::uint32_t channel) {
  Sending& link = sending_[channel];
  Head& head = head_of(link.slot);
  head.channel = channel;
  head.kind = Head::Kind::message;
  head.bytes = link.bytes;
  ++link.posted;
  outgoing_.push_back({std::move(link.slot), sizeof(Head) + link.bytes, &link, false});
  write();
}

Message Connection::receive_slot(std::uint32_t channel) {
  Receiving& link = receiving_[channel];
  if (link.messages.empty()) read();
  if (link.messages.empty()) return {};
  return view(link.messages.front().buffer, link.messages.front().bytes);
}

void Connection::release(std::uint32_t channel) {
  Receiving& link = receiving_[channel];
  buffers_.give(std::move(link.messages.front().buffer));
  link.messages.pop_front();
  if (++link.released - link.told < window / 2) return;
  if (send_head({channel, Head::Kind::credit, link.released, {}})) link.told = link.released;  // else the next one says it
}

bool Connection::send_head(const Head& head) {
  Buffer frame = buffers_.take(payload_offset);
  if (!frame) return false;
  head_of(frame) = head;
  outgoing_.push_back({std::move(frame), sizeof(Head), nullptr, false});
  write();
  return true;
}

void Connection::watch() {
  if (socket_ && next_to_read() == nullptr && ++watches_in_vain_ == most_watches_in_vain) ended_ = true;
  if (ended_ || deaf_ || !socket_) return;
  if (undelivered() == 0) send_head({0, Head::Kind::heartbeat, 0, {}});
  else if (is_cut_off(socket_.get())) ended_ = true;
}

void Connection::excuse() {
  if (taken_ && !called_ && !has_spoken_ && outgoing_.empty()) send_head({0, Head::Kind::nobody, 0, {}});
}

bool Connection::idle(std::uint32_t channel) const {
  const auto link = sending_.find(channel);
  return link == sending_.end() || link->second.posted == link->second.written;
}

void Connection::write() {
  while (has_unwritten()) {
    std::array<iovec, most_parts> parts;
    std::size_t count = 0;
    for (const Outgoing& frame : outgoing_) {
      if (count == parts.size()) break;
      const std::size_t done = count == 0 ? written_ : 0;
      parts[count++] = {frame.buffer.data() + head_offset + done, frame.bytes - done};
      if (frame.moves) break;
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && would_block()) return;
    if (sent < 0) {
      if (next_) begin_again(std::move(next_));
      else go_deaf();
      return;
    }
    take_written(static_cast<std::size_t>(sent));
  }
}

void Connection::take_written(std::size_t bytes) {
  written_ += bytes;
  has_spoken_ = true;
  while (!outgoing_.empty() && written_ >= outgoing_.front().bytes) {
    Outgoing& frame = outgoing_.front();
    written_ -= frame.bytes;
    if (frame.link != nullptr) ++frame.link->written;
    if (frame.moves) socket_ = std::move(next_);
    buffers_.give(std::move(frame.buffer));
    outgoing_.pop_front();
  }
}

/// The socket that has what the peer said next; null: that is still to come in.
const LiveFd* Connection::next_to_read() const {
  if (older_) return &older_;
  return socket_ && (!crossed_ || left_older_) ? &socket_ : nullptr;
}

/// False while it isn't there whole. It comes beside the stage, since the older socket may have to be read before the rest of it.
bool Connection::read_first_head() {
  const ssize_t got = recv(socket_.get(), first_head_.data() + first_came_, first_head_.size() - first_came_, MSG_DONTWAIT);
  if (got < 0 && would_block()) return false;
  if (got <= 0) {
    ended_ = true;
    return false;
  }
  first_came_ += static_cast<std::size_t>(got);
  if (first_came_ < first_head_.size()) return false;
  std::memcpy(stage_.data(), first_head_.data(), first_head_.size());
  stage_begin_ = 0;
  stage_end_ = first_head_.size();
  parse();
  return true;
}

/// The rest of a payload goes to its place at once, what follows it to the stage.
void Connection::read() {
  for (std::uint32_t turn = 0; turn < most_reads && !ended_; ++turn) {
    const LiveFd* const from = next_to_read();
    if (from == nullptr) return;
    if (reads_first_head()) {
      if (!read_first_head()) return;
      continue;
    }
    std::array<iovec, 2> parts;
    int count = 0;
    const std::uint64_t missing = coming_to_ != nullptr ? coming_.bytes - came_ : 0;
    if (missing != 0) parts[count++] = {coming_.buffer.data() + payload_offset + came_, missing};
    if (stage_begin_ != 0) {
      std::memmove(stage_.data(), stage_.data() + stage_begin_, stage_end_ - stage_begin_);
      stage_end_ -= stage_begin_;
      stage_begin_ = 0;
    }
    parts[count++] = {stage_.data() + stage_end_, stage_.size() - stage_end_};
    const std::size_t wanted = missing + parts[count - 1].iov_len;
    const ssize_t got = readv(from->get(), parts.data(), count);
    if (got < 0 && would_block()) return;
    if (got <= 0) return end();
    const std::uint64_t to_payload = std::min(missing, static_cast<std::uint64_t>(got));
    came_ += to_payload;
    stage_end_ += static_cast<std::size_t>(got) - to_payload;
    if (coming_to_ != nullptr && came_ == coming_.bytes) deliver();
    parse();
    if (static_cast<std::size_t>(got) < wanted) return;  // there was no more
  }
}

/// Understands what is on the stage, as far as it goes.
void Connection::parse() {
  while (coming_to_ == nullptr && stage_end_ - stage_begin_ >= sizeof(Head)) {
    Head head;
    std::memcpy(&head, stage_.data() + stage_begin_, sizeof head);
    stage_begin_ += sizeof head;
    if (!begin(head)) return end();
    if (coming_to_ == nullptr) continue;
    const std::uint64_t here = std::min<std::uint64_t>(coming_.bytes, stage_end_ - stage_begin_);
    std::memcpy(coming_.buffer.data() + payload_offset, stage_.data() + stage_begin_, here);
    stage_begin_ += here;
    came_ = here;
    if (came_ == coming_.bytes) deliver();
  }
}

/// False when no peer that keeps to the rules says this, or there is no memory for it.
bool Connection::begin(const Head& head) {
  const bool first = reads_first_head();
  if (first) had_first_head_ = true;
  if (first && left_older_ && head.kind != Head::Kind::crossed) return false;
  switch (head.kind) {
    case Head::Kind::message: return begin_message(head);
    case Head::Kind::credit: return take_credit(head);
    case Head::Kind::heartbeat: return head.bytes == 0;
    case Head::Kind::crossed: return crossed_ = first && head.bytes == 0;
    case Head::Kind::moved: return head.bytes == 0 && leave_older();
    case Head::Kind::nobody: refused_ = called_; break;
  }
  return false;
}

bool Connection::take_credit(const Head& head) {
  const auto link = sending_.find(head.channel);
  if (link == sending_.end() || head.bytes > link->second.posted || head.bytes < link->second.released) return false;
  link->second.released = head.bytes;
  return true;
}

bool Connection::begin_message(const Head& head) {
  if (head.bytes > largest_message) return false;
  Receiving& link = receiving_[head.channel];
  if (link.received - link.told >= window) return false;
  coming_.buffer = buffers_.take(payload_offset + head.bytes);
  if (!coming_.buffer) return false;
  head_of(coming_.buffer) = head;
  coming_.bytes = head.bytes;
  coming_to_ = &link;
  came_ = 0;
  return true;
}

/// The peer goes on by this rank's call.
bool Connection::leave_older() {
  if (!older_ || stage_begin_ != stage_end_) return false;
  older_.reset();
  left_older_ = true;
  return true;
}

void Connection::deliver() {
  ++coming_to_->received;
  coming_to_->messages.push_back(std::move(coming_));
  coming_to_ = nullptr;
}

std::uint64_t Connection::undelivered() const {
  if (ended_ || deaf_) return 0;
  std::uint64_t bytes = socket_ ? unacknowledged(socket_.get()) : 0;
  for (const Outgoing& frame : outgoing_) bytes += frame.bytes;
  return bytes - written_;
}

}  // namespace rondo::tcp
