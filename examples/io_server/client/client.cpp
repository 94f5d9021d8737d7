#include "client.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

namespace io_server {

namespace {

request about(op what, uint64_t handle = 0, int64_t a = 0, int64_t b = 0, int64_t c = 0) {
  request r;
  r.what = what;
  r.handle = handle;
  r.a = a;
  r.b = b;
  r.c = c;
  return r;
}

/// Returns the reply's error; EIO if a successful reply lacks the `size` bytes of data that it must have.
int checked(const answer& a, size_t size) { return a.error == 0 && a.size != size ? EIO : a.error; }

/// Sends a request whose data the server transfers to or from this memory.
answer call_in_bulk(connection& c, request r, const void* memory, size_t size) {
  const connection::registered registered(c, memory, size);
  r.memory = registered.remote();
  return c.call(r);
}

}  // namespace

int client::open(const location& at, int flags, mode_t mode, opened* file) {
  const request r = about(op::open, at.folder, flags, static_cast<int64_t>(mode), static_cast<int64_t>(file->number));
  struct {
    struct statx status;
    char path[sizeof file->path];
  } got;
  const answer a = connection_.call(r, at.path, {}, nullptr, &got, sizeof got);
  if (a.error != 0) return a.error;
  const size_t length = a.size - sizeof got.status;
  if (a.size < sizeof got.status || length >= sizeof got.path) return EIO;
  file->handle = static_cast<uint64_t>(a.result);
  file->status = got.status;
  std::memcpy(file->path, got.path, length);
  file->path[length] = '\0';
  return 0;
}

int client::close(uint64_t handle) {
  lent_.give_back(handle);
  return connection_.call(about(op::close, handle)).error;
}

int client::read(uint64_t handle, void* to, size_t size, int64_t offset, size_t* done) {
  *done = 0;
  if (size >= lent_files::least && offset <= std::numeric_limits<int64_t>::max() - static_cast<int64_t>(size))
    if (const auto file = lent_.of(handle, staging_)) return lent_.read(*file, handle, to, size, offset, done);
  do {
    char* const next = static_cast<char*>(to) + *done;
    const size_t part = std::min(size - *done, most_bulk);
    request r = about(op::read, handle, offset + static_cast<int64_t>(*done), static_cast<int64_t>(part));
    answer a;
    if (part <= most_inline) {
      a = connection_.call(r, {}, {}, nullptr, next, part);
      if (a.error == 0 && static_cast<size_t>(a.result) != a.size) a.error = EIO;
    } else {
      a = call_in_bulk(connection_, r, next, part);
    }
    if (a.error != 0) return a.error;
    if (a.result < 0 || static_cast<size_t>(a.result) > part) return EIO;
    *done += static_cast<size_t>(a.result);
    if (static_cast<size_t>(a.result) < part) return 0;
  } while (*done < size);
  return 0;
}

int client::write(uint64_t handle, const void* from, size_t size, int64_t offset, size_t* done, int64_t* behind) {
  // What is appended in one call must stay together, so it is not divided.
  if (size > most_inline && (offset >= 0 || size <= staged_piece))
    if (const auto held = staging_.try_begin()) return staging_.write(handle, from, size, offset, done, behind);
  *done = 0;
  do {
    const char* const next = static_cast<const char*>(from) + *done;
    const size_t part = std::min(size - *done, most_bulk);
    const int64_t at = offset < 0 ? -1 : offset + static_cast<int64_t>(*done);
    request r = about(op::write, handle, at, static_cast<int64_t>(part));
    answer a;
    if (part <= most_inline) {
      r.data_size = static_cast<uint16_t>(part);
      a = connection_.call(r, {}, {}, next);
    } else {
      a = call_in_bulk(connection_, r, next, part);
    }
    if (a.error != 0) return a.error;
    if (a.result < 0 || static_cast<size_t>(a.result) > part) return EIO;
    *done += static_cast<size_t>(a.result);
    if (behind != nullptr) *behind = a.second;
    if (static_cast<size_t>(a.result) < part) return 0;
  } while (*done < size);
  return 0;
}

int client::seek(uint64_t handle, int64_t offset, int whence, int64_t* found) {
  const answer a = connection_.call(about(op::seek, handle, offset, whence));
  if (a.error == 0) *found = a.result;
  return a.error;
}

int client::stat(const location& at, bool follow, struct statx* status) {
  const request r = about(op::stat, at.folder, follow);
  return checked(connection_.call(r, at.path, {}, nullptr, status, sizeof *status), sizeof *status);
}

int client::stat(uint64_t handle, struct statx* status) {
  const request r = about(op::fstat, handle);
  return checked(connection_.call(r, {}, {}, nullptr, status, sizeof *status), sizeof *status);
}

int client::statfs(const location& at, struct statfs* status) {
  const request r = about(op::statfs, at.folder);
  return checked(connection_.call(r, at.path, {}, nullptr, status, sizeof *status), sizeof *status);
}

int client::readlink(const location& at, char* to, size_t room, size_t* size) {
  const answer a = connection_.call(about(op::readlink, at.folder), at.path, {}, nullptr, to, room);
  *size = a.size;
  return a.error;
}

int client::list(uint64_t handle, int64_t position, void* to, size_t room, size_t* size) {
  const request r = about(op::list, handle, position, static_cast<int64_t>(room));
  const answer a = connection_.call(r, {}, {}, nullptr, to, room);
  *size = a.size;
  return a.error == 0 && static_cast<size_t>(a.result) != a.size ? EIO : a.error;
}

int client::locate(uint64_t folder, std::string* path) {
  char text[PATH_MAX];
  const answer a = connection_.call(about(op::locate, folder), {}, {}, nullptr, text, sizeof text);
  if (a.error == 0) path->assign(text, a.size);
  return a.error == 0 && (a.size == 0 || text[0] != '/') ? EIO : a.error;
}

int client::call(op what, const location& at, int64_t a, int64_t b, int64_t c) {
  return connection_.call(about(what, at.folder, a, b, c), at.path).error;
}

int client::call(op what, const location& at, const location& at2, int64_t a) {
  return connection_.call(about(what, at.folder, a, static_cast<int64_t>(at2.folder)), at.path, at2.path).error;
}

int client::call(op what, uint64_t handle, int64_t a, int64_t b, int64_t c) {
  return connection_.call(about(what, handle, a, b, c)).error;
}

int client::test_lock(uint64_t handle, int64_t wanted, int* type, int64_t at[2]) {
  const request r = about(op::testlock, handle, wanted, at[0], at[1]);
  const answer a = connection_.call(r, {}, {}, nullptr, at, 2 * sizeof at[0]);
  *type = static_cast<int>(a.result);
  return checked(a, 2 * sizeof at[0]);
}

}  // namespace io_server
