#include "descriptors.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <unordered_map>

#include "never_destroyed.hpp"
#include "paths.hpp"
#include "real.hpp"

namespace io_shim {

struct shared_state {
  static constexpr uint64_t expected = 0x32656c69666f6900;
  uint64_t magic;
  uint64_t server;  ///< hash of its address
  pthread_mutex_t mutex;
  int64_t position;  ///< under mutex
  std::atomic<int> flags;
  std::atomic<bool> is_cwd;
  uint32_t device_major, device_minor;
  uint64_t inode;
  uint64_t number;  ///< of the open file at the server
  char path[4096];
};

namespace {

constexpr size_t state_size = 8192;
static_assert(sizeof(shared_state) <= state_size);
// The position of the anonymous file's descriptor. Code that bypasses this library reads end-of-file, or gets an error,
// but never reads or overwrites the state at the file's begin.
constexpr off_t out_of_reach = off_t{1} << 40;

uint64_t hash_of_server() { return std::hash<std::string_view>()(configured().server); }

void make_mutex(pthread_mutex_t& m) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&m, &a);
  pthread_mutexattr_destroy(&a);
}

struct table {
  static constexpr int bits = 1 << 16;
  std::mutex mutex;
  std::unordered_map<int, std::shared_ptr<remote_file>> files;  // under mutex
  // A bit for each low descriptor in `files`, so that calls for other descriptors cost one load. High ones are always
  // looked up.
  std::array<std::atomic<uint64_t>, bits / 64> known{};
};

table& descriptors() { return never_destroyed<table>(); }

int open_again(const shared_state& s, io_server::client& c, uint64_t* handle) {
  io_server::client::opened file;
  file.number = s.number;
  const int flags = s.flags.load() & ~(O_CREAT | O_EXCL | O_TRUNC);
  const int error = c.open(s.path, flags, 0, &file);
  if (error != 0) return error == ENOENT ? ESTALE : error;
  if (file.status.stx_ino != s.inode || file.status.stx_dev_major != s.device_major ||
      file.status.stx_dev_minor != s.device_minor) {
    c.close(file.handle);
    return ESTALE;
  }
  *handle = file.handle;
  return 0;
}

}  // namespace

std::shared_ptr<remote_file> remote_file::inherit(int fd) {
  void* p = IO_REAL(mmap)(nullptr, state_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return nullptr;
  auto* state = static_cast<shared_state*>(p);
  if (state->magic != shared_state::expected || state->server != hash_of_server()) {
    munmap(p, state_size);
    errno = EBADF;
    return nullptr;
  }
  return std::shared_ptr<remote_file>(new remote_file(state));
}

int remote_file::create(const std::string& path, int flags, const io_server::client::opened& what,
                        io_server::client* owner, std::shared_ptr<remote_file>& file) {
  if (path.size() >= sizeof shared_state::path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  const unsigned how = MFD_ALLOW_SEALING | ((flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
  const int fd = memfd_create("lci_io_file", how);
  if (fd < 0) return -1;
  void* p = MAP_FAILED;
  if (IO_REAL(ftruncate)(fd, state_size) == 0 &&
      IO_REAL(fcntl)(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0 &&
      IO_REAL(lseek)(fd, out_of_reach, SEEK_SET) >= 0)
    p = IO_REAL(mmap)(nullptr, state_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) {
    const int error = errno;
    IO_REAL(close)(fd);
    errno = error;
    return -1;
  }
  auto* state = static_cast<shared_state*>(p);
  state->server = hash_of_server();
  make_mutex(state->mutex);
  state->position = 0;
  state->flags = flags & ~O_CLOEXEC;
  state->device_major = what.status.stx_dev_major;
  state->device_minor = what.status.stx_dev_minor;
  state->inode = what.status.stx_ino;
  state->number = what.number;
  std::memcpy(state->path, path.c_str(), path.size() + 1);
  state->magic = shared_state::expected;
  std::unique_ptr<remote_file> made(new (std::nothrow) remote_file(state));
  if (made == nullptr) munmap(p, state_size);
  try {
    if (made != nullptr) file = std::move(made);
  } catch (const std::bad_alloc&) {
  }
  if (file == nullptr) {
    IO_REAL(close)(fd);
    errno = ENOMEM;
    return -1;
  }
  file->client_ = owner;
  file->handle_ = what.handle;
  return fd;
}

remote_file::~remote_file() {
  if (client_ != nullptr) {  // if the connection is lost, this only closes what the server has lent
    const remote_call call;
    client_->close(handle_);
  }
  munmap(state_, state_size);
}

std::string remote_file::path() const { return state_->path; }
int remote_file::flags() const { return state_->flags.load(); }
void remote_file::set_flags(int flags) { state_->flags.store(flags); }
bool remote_file::is_cwd() const { return state_->is_cwd.load(); }
void remote_file::mark_as_cwd() { state_->is_cwd.store(true); }

int remote_file::use(io_server::client** client, uint64_t* handle) {
  std::lock_guard guard(mutex_);
  if (client_ == nullptr) {
    io_server::client* c = current_client();
    if (c == nullptr) return errno_of_connection();
    const int error = open_again(*state_, *c, &handle_);
    if (error != 0) return error;
    client_ = c;
  }
  if (client_->is_lost()) return EIO;
  *client = client_;
  *handle = handle_;
  return 0;
}

// If the mutex's owner has died, the state is consistent: at worst the owner has not advanced the position.
remote_file::position::position(remote_file& file) : state_(file.state_) {
  if (pthread_mutex_lock(&state_->mutex) == EOWNERDEAD) pthread_mutex_consistent(&state_->mutex);
}
remote_file::position::~position() { pthread_mutex_unlock(&state_->mutex); }
int64_t remote_file::position::get() const { return state_->position; }
void remote_file::position::set(int64_t to) { state_->position = to; }

bool is_remote(int fd) {
  if (fd < 0 || is_inside()) return false;
  table& t = descriptors();
  if (fd < table::bits) {
    const auto word = static_cast<size_t>(fd) / 64;
    return (t.known[word].load(std::memory_order_acquire) >> (fd % 64) & 1) != 0;
  }
  std::lock_guard guard(t.mutex);
  return t.files.count(fd) != 0;
}

std::shared_ptr<remote_file> file_of(int fd) {
  table& t = descriptors();
  std::lock_guard guard(t.mutex);
  const auto at = t.files.find(fd);
  return at == t.files.end() ? nullptr : at->second;
}

void set_file(int fd, std::shared_ptr<remote_file> file) {
  table& t = descriptors();
  std::shared_ptr<remote_file> former;  // declared before the guard, so closed after the mutex is released
  std::lock_guard guard(t.mutex);
  const bool is = file != nullptr;
  if (is) {
    auto& at = t.files[fd];
    former = std::move(at);
    at = std::move(file);
  } else if (const auto at = t.files.find(fd); at != t.files.end()) {
    former = std::move(at->second);
    t.files.erase(at);
  }
  if (fd >= table::bits) return;
  const uint64_t bit = uint64_t{1} << (fd % 64);
  auto& word = t.known[static_cast<size_t>(fd) / 64];
  if (is)
    word.fetch_or(bit, std::memory_order_release);
  else
    word.fetch_and(~bit, std::memory_order_release);
}

std::vector<int> remote_descriptors() {
  table& t = descriptors();
  std::lock_guard guard(t.mutex);
  std::vector<int> all;
  for (const auto& [fd, file] : t.files) all.push_back(fd);
  return all;
}

void forget_handles() {
  // The child has none of the parent's other threads. If one of them held the mutex at fork(), no thread will release
  // it.
  table& t = descriptors();
  new (&t.mutex) std::mutex;
  for (const auto& [fd, file] : t.files) file->forget_handle();
}

using_file::using_file(int fd) : file_(file_of(fd)), error_(EBADF) {
  if (file_ == nullptr) return;
  try {
    error_ = file_->use(&client_, &handle_);
  } catch (const std::exception&) {
    error_ = EIO;
  }
}

}  // namespace io_shim
