#include "session.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <new>

#include "../protocol.hpp"

namespace io_server {

std::shared_ptr<open_file> shared_files::find(uint64_t number) const {
  std::lock_guard guard(mutex_);
  const auto at = all_.find(number);
  return at == all_.end() ? nullptr : at->second.lock();
}

std::shared_ptr<open_file> shared_files::add(uint64_t number, const std::shared_ptr<open_file>& file) {
  std::lock_guard guard(mutex_);
  auto& at = all_[number];
  if (auto other = at.lock()) return other;
  at = file;
  return file;
}

void shared_files::remove(uint64_t number) {
  std::lock_guard guard(mutex_);
  const auto at = all_.find(number);
  if (at != all_.end() && at->second.expired()) all_.erase(at);  // else a client has added another file meanwhile
}

open_file::~open_file() {
  if (among != nullptr) among->remove(number);
}

staging_memory::staging_memory() {
  void* const made =
      mmap(nullptr, staged_pieces * staged_piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<char*>(made);
  try {
    region_ = lci::register_memory(memory_, staged_pieces * staged_piece);
  } catch (...) {
    munmap(memory_, staged_pieces * staged_piece);
    throw;
  }
}

staging_memory::~staging_memory() {
  lci::deregister_memory(&region_);
  munmap(memory_, staged_pieces * staged_piece);
}

lci::rmr_t staging_memory::remote() const { return lci::get_rmr(region_); }

const char* staging_memory::at(int64_t place, int64_t size) const {
  constexpr auto room = static_cast<int64_t>(staged_pieces * staged_piece);
  return place < 0 || size < 0 || size > room || place > room - size ? nullptr : memory_ + place;
}

const staging_memory& session::staging() {
  std::lock_guard guard(mutex_);
  if (staging_ == nullptr) staging_ = std::make_unique<staging_memory>();
  return *staging_;
}

void write_order::turn::wait() {
  std::unique_lock lock(all_.mutex_);
  all_.changed_.wait(lock, [this] { return all_.ended_ == number_; });
}

write_order::turn::~turn() {
  wait();
  const std::lock_guard guard(all_.mutex_);
  ++all_.ended_;
  all_.changed_.notify_all();
}

uint64_t session::add(std::shared_ptr<open_file> file) {
  std::lock_guard guard(mutex_);
  if (ended_ || files_.size() >= most_files) return 0;
  files_.emplace(++last_, std::move(file));
  return last_;
}

std::shared_ptr<open_file> session::find(uint64_t handle) const {
  std::lock_guard guard(mutex_);
  const auto at = files_.find(handle);
  return at == files_.end() ? nullptr : at->second;
}

bool session::remove(uint64_t handle) {
  std::shared_ptr<open_file> file;              // declared before the guard, so closed after the mutex is released
  std::shared_ptr<const descriptor> its_locks;  // likewise
  std::lock_guard guard(mutex_);
  const auto at = files_.find(handle);
  if (at == files_.end()) return false;
  file = std::move(at->second);
  files_.erase(at);
  const auto locks = locks_.find(file->identity);
  if (locks != locks_.end()) {
    its_locks = std::move(locks->second);
    locks_.erase(locks);
  }
  return true;
}

void session::end() {
  std::lock_guard guard(mutex_);
  ended_ = true;
  locks_.clear();
  files_.clear();
}

std::shared_ptr<const descriptor> session::lock_holder(const open_file& file) {
  std::lock_guard guard(mutex_);
  if (ended_) {
    errno = EBADF;
    return nullptr;
  }
  auto& holder = locks_[file.identity];
  if (holder == nullptr) {
    char path[48];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", file.fd.get());
    descriptor fd(::open(path, O_RDWR | O_CLOEXEC));
    if (!fd) fd = descriptor(::open(path, (file.flags & O_ACCMODE) | O_CLOEXEC));
    if (!fd) return nullptr;
    holder = std::make_shared<const descriptor>(std::move(fd));
  }
  return holder;
}

uint64_t session_table::begin(int client) {
  auto made = std::make_shared<session>(shared_);
  uint64_t connection = 0;
  {
    std::lock_guard guard(mutex_);
    entry& at = all_[client];
    if (at.begun >= most_begun) return 0;
    ++at.begun;
    made.swap(at.its);
    connection = at.connection = ++last_connection_;
  }
  if (made != nullptr) made->end();  // the former session
  return connection;
}

std::shared_ptr<session> session_table::find(int client) const {
  std::lock_guard guard(mutex_);
  const auto at = all_.find(client);
  return at == all_.end() ? nullptr : at->second.its;
}

bool session_table::end(int client) {
  std::shared_ptr<session> former;
  {
    std::lock_guard guard(mutex_);
    const auto at = all_.find(client);
    if (at == all_.end()) return false;
    former = std::move(at->second.its);
    all_.erase(at);
  }
  former->end();
  return true;
}

bool session_table::end_connection(int client, uint64_t connection) {
  std::shared_ptr<session> former;
  {
    std::lock_guard guard(mutex_);
    const auto at = all_.find(client);
    if (at == all_.end() || at->second.connection != connection) return false;
    former = std::move(at->second.its);
    all_.erase(at);
  }
  former->end();
  return true;
}

std::vector<int> session_table::clients() const {
  std::lock_guard guard(mutex_);
  std::vector<int> ids;
  for (const auto& [client, at] : all_) ids.push_back(client);
  return ids;
}

size_t session_table::size() const {
  std::lock_guard guard(mutex_);
  return all_.size();
}

}  // namespace io_server
