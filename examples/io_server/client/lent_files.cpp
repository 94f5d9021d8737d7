#include "lent_files.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <utility>

namespace io_server {

namespace {

/// Weight of the previous mean in the mean time of a byte when a new time is added.
constexpr float inertia = 0.75F;
/// Limits of the server's part: it is measured in each read, and the client, which polls for the reply, copies as well.
constexpr float least_share = 0.05F, most_share = 0.6F;
/// Descriptors that a process borrows at most, with numbers that programs do not choose themselves.
constexpr int most_lent = 64, first_number = 512, end_of_numbers = 65536;

std::array<std::atomic<uint64_t>, end_of_numbers / 64> lent_numbers{};
std::atomic<int> n_lent{0};

constexpr uint64_t bit_of(int fd) { return uint64_t{1} << (fd % 64); }
std::atomic<uint64_t>& word_of(int fd) { return lent_numbers[static_cast<size_t>(fd) / 64]; }

/// A copy of a descriptor of another process, or none. The kernel demands the right to attach to that process.
descriptor copy_of(int64_t process, int64_t fd) {
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
  const descriptor named(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0)));
  if (!named) return descriptor();
  const descriptor copy(static_cast<int>(syscall(SYS_pidfd_getfd, named.get(), static_cast<int>(fd), 0)));
  return descriptor(copy ? fcntl(copy.get(), F_DUPFD_CLOEXEC, first_number) : -1);
#else
  (void)process, (void)fd;
  return descriptor();
#endif
}

/// Returns whether the copied descriptor is of the server's file: in a container, the server's number may be that of
/// another process.
bool is_same(int fd, const struct statx& expected, int access) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == expected.stx_ino &&
         status.st_dev == makedev(expected.stx_dev_major, expected.stx_dev_minor) &&
         (fcntl(fd, F_GETFL) & O_ACCMODE) == access;
}

size_t in_pieces(size_t size, float share) {
  const auto pieces = static_cast<size_t>(static_cast<float>(size / lent_files::piece) * share + 0.5F);
  return std::max<size_t>(pieces, 1) * lent_files::piece;
}

void note(std::atomic<float>& mean, size_t size, std::chrono::steady_clock::duration time) {
  const float now = std::chrono::duration<float, std::nano>(time).count() / static_cast<float>(size);
  const float before = mean.load(std::memory_order_relaxed);
  mean.store(before == 0 ? now : before * inertia + now * (1 - inertia), std::memory_order_relaxed);
}

/// Where a read ends: at the first place that could not be read.
struct end_of_read {
  size_t at;
  int error = 0;
  void note(size_t place, int why) {
    if (place >= at) return;
    at = place;
    error = why;
  }
};

/// Reads until `size` bytes are there, or an end or error that `end` notes.
void read_own(int fd, char* to, size_t place, size_t size, int64_t offset, end_of_read& end) {
  for (size_t got = 0; got < size;) {
    const ssize_t n = pread(fd, to + place + got, size - got, offset + static_cast<int64_t>(place + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return end.note(place + got, n < 0 ? errno : 0);
    got += static_cast<size_t>(n);
  }
}

}  // namespace

lent_descriptor::lent_descriptor(descriptor fd) : fd_(std::move(fd)) {
  n_lent.fetch_add(1, std::memory_order_relaxed);
  word_of(get()).fetch_or(bit_of(get()), std::memory_order_release);
}

lent_descriptor::~lent_descriptor() {
  word_of(get()).fetch_and(~bit_of(get()), std::memory_order_release);
  n_lent.fetch_sub(1, std::memory_order_relaxed);
}

float lent_descriptor::share() const {
  const float own = own_.load(std::memory_order_relaxed), server = server_.load(std::memory_order_relaxed);
  return own == 0 || server == 0 ? 1.0F / 3 : std::clamp(own / (own + server), least_share, most_share);
}
void lent_descriptor::note_own(size_t size, std::chrono::nanoseconds time) { note(own_, size, time); }
void lent_descriptor::note_server(size_t size, std::chrono::nanoseconds time) { note(server_, size, time); }

bool lent_descriptor::is_one(int fd) {
  if (fd < first_number || fd >= end_of_numbers) return false;
  return (word_of(fd).load(std::memory_order_acquire) & bit_of(fd)) != 0;
}

void lent_descriptor::close_all() {
  for (size_t i = 0; i < lent_numbers.size(); ++i)
    for (uint64_t bits = lent_numbers[i].exchange(0, std::memory_order_relaxed); bits != 0; bits &= bits - 1)
      ::close(static_cast<int>(i) * 64 + __builtin_ctzll(bits));
  n_lent.store(0, std::memory_order_relaxed);
}

descriptor lent_files::take_copy(uint64_t handle, int access, bool to_map) {
  request r;
  r.what = op::lend;
  r.handle = handle;
  r.a = to_map ? 1 : 0;
  struct statx status {};
  const answer a = connection_.call(r, {}, {}, nullptr, &status, sizeof status);
  if (a.error != 0 || a.size != sizeof status) return descriptor();
  descriptor copy = copy_of(a.result, a.second);
  return copy && is_same(copy.get(), status, access) ? std::move(copy) : descriptor();
}

descriptor lent_files::to_map(uint64_t handle, int access, staging& near) {
  return near.is_near() ? take_copy(handle, access, true) : descriptor();
}

std::shared_ptr<lent_descriptor> lent_files::borrow(uint64_t handle) {
  if (n_lent.load(std::memory_order_relaxed) >= most_lent) return nullptr;
  descriptor copy = take_copy(handle, O_RDONLY, false);
  if (!copy || copy.get() >= end_of_numbers) return nullptr;
  return std::make_shared<lent_descriptor>(std::move(copy));
}

std::shared_ptr<lent_descriptor> lent_files::of(uint64_t handle, staging& near) {
  {
    std::lock_guard guard(mutex_);
    const auto at = files_.find(handle);
    if (at != files_.end()) return at->second;
  }
  auto lent = near.is_near() ? borrow(handle) : nullptr;
  std::lock_guard guard(mutex_);
  return files_.emplace(handle, std::move(lent)).first->second;
}

void lent_files::give_back(uint64_t handle) {
  std::shared_ptr<lent_descriptor> last;  // declared before the guard, so closed after the mutex is released
  std::lock_guard guard(mutex_);
  const auto at = files_.find(handle);
  if (at == files_.end()) return;
  last = std::move(at->second);
  files_.erase(at);
}

int lent_files::read(lent_descriptor& file, uint64_t handle, void* to, size_t size, int64_t offset, size_t* done) {
  using clock = std::chrono::steady_clock;
  const connection::registered registered(connection_, to, size);
  std::unique_ptr<connection::slot> call;
  size_t next = 0, own = 0, asked_at = 0, asked = 0;
  clock::time_point asked_when;
  const auto begin = clock::now();
  end_of_read end{size};
  const auto ask = [&](size_t part) {
    asked_at = next;
    asked = std::min(part, most_bulk);
    request r;
    r.what = op::read;
    r.handle = handle;
    r.a = offset + static_cast<int64_t>(next);
    r.b = static_cast<int64_t>(asked);
    r.c = static_cast<int64_t>(next);
    r.memory = registered.remote();
    r.processor = static_cast<uint32_t>(sched_getcpu());
    asked_when = clock::now();
    call = connection_.begin(r);
    if (call == nullptr) end.note(asked_at, EIO);
    next += asked;
  };
  const auto take_answer = [&] {
    const answer a = connection_.end(std::move(call));
    if (a.error != 0 || a.result < 0 || static_cast<size_t>(a.result) > asked)
      end.note(asked_at, a.error != 0 ? a.error : EIO);
    else if (static_cast<size_t>(a.result) < asked)
      end.note(asked_at + static_cast<size_t>(a.result), 0);
    else if (asked_at == 0)
      file.note_server(asked, clock::now() - asked_when);
  };
  // Each read asks the server for its first part, so that it fails with EIO if the server has ended.
  ask(in_pieces(size, file.share()));
  while (next < end.at) {
    if (call != nullptr && connection_.is_over(*call)) take_answer();
    const size_t left = size - next;
    const size_t part = in_pieces(left, file.share());
    if (call == nullptr && end.at == size && part >= 2 * piece) {
      ask(part);
      continue;
    }
    const size_t mine = std::min(piece, left);
    read_own(file.get(), static_cast<char*>(to), next, mine, offset, end);
    next += mine;
    own += mine;
  }
  if (own != 0) file.note_own(own, clock::now() - begin);
  if (call != nullptr) take_answer();
  *done = end.at;
  return end.error;
}

}  // namespace io_server
