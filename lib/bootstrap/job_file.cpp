#include "lib/bootstrap/job_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <system_error>
#include <thread>

#include "lci/errors.hpp"
#include "lib/base/memory.hpp"
#include "lib/bootstrap/limits.hpp"
#include "lib/bootstrap/meanwhile.hpp"

namespace lci::network {

namespace {

constexpr uint64_t job_file_magic = 0x316c696669636cull;  // "lcifil1"
constexpr off_t first_rank_byte = 1;                      // byte 0 is the lock of the contents
constexpr auto shortest_nap = std::chrono::microseconds(200);
constexpr auto longest_idle_nap = std::chrono::milliseconds(20);  // a rank that waits polls 50 times a second
constexpr int owner_only = 0600;

std::string system_text(const std::string& what, const std::string& path) {
  return what + " '" + path + "': " + std::strerror(errno);
}

/// The program may change its working directory before the file is removed.
std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.string();
}

/// Returns whether `path` still names the file that `fd` has open.
bool is_at(const std::string& path, int fd) {
  struct stat there {
  }, own{};
  return lstat(path.c_str(), &there) == 0 && fstat(fd, &own) == 0 && there.st_dev == own.st_dev &&
         there.st_ino == own.st_ino;
}

struct flock lock_of(short type, off_t byte) {
  struct flock l {};
  l.l_type = type;
  l.l_whence = SEEK_SET;
  l.l_start = byte;
  l.l_len = 1;
  return l;
}

/// Returns false if another process has the lock.
bool try_lock(int fd, off_t byte, const std::string& path) {
  struct flock l = lock_of(F_WRLCK, byte);
  while (fcntl(fd, F_SETLK, &l) != 0) {
    if (errno == EACCES || errno == EAGAIN) return false;
    if (errno != EINTR)
      throw bootstrap_error(system_text("can't lock", path) +
                            "; LCT_PMI_FILE_NAME may name a file in a folder that allows it");
  }
  return true;
}

void unlock(int fd, off_t byte) {
  struct flock l = lock_of(F_UNLCK, byte);
  fcntl(fd, F_SETLK, &l);
}

void read_at(int fd, void* to, size_t size, uint64_t at, const std::string& path) {
  auto* bytes = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = pread(fd, bytes, size, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw bootstrap_error(system_text("can't read", path));
    if (n == 0) throw bootstrap_error("'" + path + "' was truncated by another process");
    bytes += n;
    at += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
}

void write_at(int fd, const void* from, size_t size, uint64_t at, const std::string& path) {
  const auto* bytes = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t n = pwrite(fd, bytes, size, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw bootstrap_error(system_text("can't write", path));
    bytes += n;
    at += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
}

}  // namespace

/// The file's header. After it: for each rank the number of exchanges it has begun, then the data.
struct job_file::header {
  uint64_t magic = job_file_magic;
  uint64_t job[2] = {};
  uint32_t n_ranks = 0;
  uint32_t n_joined = 0;
  uint32_t n_left = 0;
  uint32_t aborted = 0;  // 1: aborted, with `code`
  uint32_t aborted_by = 0;
  int32_t code = 0;
  uint64_t end = 0;  // of the data

  uint64_t begin() const { return sizeof(header) + n_ranks * sizeof(uint32_t); }
};

/// Holds the lock of the contents. A process holds it only for one read or update of the contents.
class job_file::locked {
 public:
  explicit locked(const job_file& file) : file_(file) {
    file_.wait([&] { return try_lock(file_.fd_, 0, file_.path_); },
               [&] { return "another process keeps '" + file_.path_ + "' locked"; });
  }
  ~locked() { unlock(file_.fd_, 0); }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;

  header read() const {
    header h;
    read_at(file_.fd_, &h, sizeof h, 0, file_.path_);
    return h;
  }
  void write(const header& h) const { write_at(file_.fd_, &h, sizeof h, 0, file_.path_); }
  std::vector<uint32_t> rounds(const header& h) const {
    std::vector<uint32_t> all(h.n_ranks);
    read_at(file_.fd_, all.data(), all.size() * sizeof all[0], sizeof h, file_.path_);
    return all;
  }

 private:
  const job_file& file_;
};

job_file::job_file(const std::string& path, int n_ranks, double timeout)
    : path_(absolute(path)), n_ranks_(n_ranks), timeout_(timeout) {
  try {
    wait([&] { return try_join(); },
         [&] {
           return "'" + path_ + "' is of a job that is complete and still there (give each job a " +
                  "LCT_PMI_FILE_NAME of its own), which did not end";
         });
  } catch (...) {
    close(fd_);  // releases the locks
    throw;
  }
}

job_file::~job_file() {
  if (fd_ < 0) return;
  try {
    const locked lock(*this);
    header h = lock.read();
    if (h.job[0] == job_[0] && h.job[1] == job_[1]) {
      h.n_left += 1;
      lock.write(h);
      if (h.n_left == h.n_ranks && is_at(path_, fd_)) unlink(path_.c_str());
    }
  } catch (const std::exception&) {
    // The next job detects that all ranks are dead.
  }
  close(fd_);
}

void job_file::abandon() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void job_file::open() {
  if (fd_ >= 0) close(fd_);
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, owner_only);
  if (fd_ < 0)
    throw bootstrap_error(system_text("can't open", path_) +
                          "; LCT_PMI_FILE_NAME names a file in a folder that all ranks may write to");
}

bool job_file::alive(int rank) const {
  struct flock l = lock_of(F_WRLCK, first_rank_byte + rank);
  return rank == rank_ || (fcntl(fd_, F_GETLK, &l) == 0 && l.l_type != F_UNLCK);
}

// Returns false if the file's job is complete and has not ended.
bool job_file::try_join() {
  open();
  const locked lock(*this);
  struct stat now {};
  if (fstat(fd_, &now) != 0 || now.st_nlink == 0) return false;  // its job has just ended
  header h;
  bool fresh = now.st_size == 0;
  if (!fresh) {
    if (now.st_size < static_cast<off_t>(sizeof h) || (h = lock.read()).magic != job_file_magic || h.n_ranks == 0)
      throw bootstrap_error("'" + path_ + "' is there and not of LCI; LCT_PMI_FILE_NAME may name another file");
    fresh = true;
    for (uint32_t r = 0; r < h.n_joined && fresh; ++r) fresh = !alive(static_cast<int>(r));
  }
  if (fresh) {
    h = header();
    if (getrandom(h.job, sizeof h.job, 0) != sizeof h.job) throw bootstrap_error(system_text("getrandom for", path_));
    h.n_ranks = static_cast<uint32_t>(n_ranks_);
    h.end = h.begin();
    const std::vector<uint32_t> none(h.n_ranks, 0);
    if (ftruncate(fd_, 0) != 0) throw bootstrap_error(system_text("can't write", path_));
    try {
      lock.write(h);  // comes first: the next job takes over a file that this process leaves here without ranks
      write_at(fd_, none.data(), none.size() * sizeof none[0], sizeof h, path_);
    } catch (const bootstrap_error&) {
      [[maybe_unused]] const int emptied = ftruncate(fd_, 0);  // a part of a header would be taken for another's file
      throw;
    }
  } else if (h.n_joined == h.n_ranks) {
    return false;
  } else if (h.n_ranks != static_cast<uint32_t>(n_ranks_)) {
    throw bootstrap_error("LCT_PMI_FILE_NRANKS=" + std::to_string(n_ranks_) + ", but '" + path_ + "' is of a job of " +
                          std::to_string(h.n_ranks) + "; give each job a LCT_PMI_FILE_NAME of its own");
  }
  if (!try_lock(fd_, first_rank_byte + static_cast<off_t>(h.n_joined), path_)) return false;
  rank_ = static_cast<int>(h.n_joined++);
  std::memcpy(job_, h.job, sizeof job_);
  read_to_ = h.begin();
  lock.write(h);
  return true;
}

std::string job_file::job_id() const {
  char text[40];
  snprintf(text, sizeof text, "file_%016llx%016llx", static_cast<unsigned long long>(job_[0]),
           static_cast<unsigned long long>(job_[1]));
  return text;
}

void job_file::check(const header& h) const {
  if (h.magic != job_file_magic || h.job[0] != job_[0] || h.job[1] != job_[1])
    throw bootstrap_error("'" + path_ + "' now belongs to another job");
  if (h.aborted != 0)
    throw bootstrap_error("rank " + std::to_string(h.aborted_by) + " has ended the job with code " +
                          std::to_string(h.code));
}

std::vector<int> job_file::late(const std::vector<uint32_t>& rounds) const {
  std::vector<int> found;
  for (size_t r = 0; r < rounds.size(); ++r)
    if (rounds[r] < round_) found.push_back(static_cast<int>(r));
  return found;
}

std::string job_file::share(const std::string& data) {
  ++round_;
  {
    const locked lock(*this);
    header h = lock.read();
    check(h);
    write_at(fd_, data.data(), data.size(), h.end, path_);
    write_at(fd_, &round_, sizeof round_, sizeof h + static_cast<size_t>(rank_) * sizeof round_, path_);
    h.end += data.size();
    lock.write(h);
  }
  std::string all;
  std::vector<int> missing;
  const auto over = [&] {
    const locked lock(*this);
    const header h = lock.read();
    check(h);
    missing = late(lock.rounds(h));
    if (missing.empty()) {
      all.resize(h.end - read_to_);
      read_at(fd_, all.data(), all.size(), read_to_, path_);
      read_to_ = h.end;
      return true;
    }
    std::vector<int> dead;
    for (const int r : missing)
      if (static_cast<uint32_t>(r) < h.n_joined && !alive(r)) dead.push_back(r);
    if (!dead.empty()) throw bootstrap_error(list_ranks(dead) + " ended before the exchange");
    return false;
  };
  // Other ranks count on this one: the exchange can't be begun again.
  insist_on_memory([&] { wait(over, [&] { return list_ranks(missing) + " did not come to the exchange"; }); });
  return all;
}

void job_file::abort(int code) {
  const locked lock(*this);
  header h = lock.read();
  check(h);
  h.aborted = 1;
  h.code = code;
  h.aborted_by = static_cast<uint32_t>(rank_);
  lock.write(h);
}

void job_file::wait(const std::function<bool()>& over, const std::function<std::string()>& missing) const {
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::microseconds nap = shortest_nap;
  while (!over()) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    if (timeout_ > 0 && waited.count() > timeout_)
      throw bootstrap_error(missing() + " within " + seconds_text(timeout_) +
                            "; LCI_ATTR_BOOTSTRAP_TIMEOUT allows more");
    std::this_thread::sleep_for(work_meanwhile() ? std::min<std::chrono::microseconds>(nap, longest_nap) : nap);
    nap = std::min<std::chrono::microseconds>(2 * nap, longest_idle_nap);
  }
}

}  // namespace lci::network
