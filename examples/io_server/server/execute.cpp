#include "execute.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace io_server {

bool take_request(const void* message, size_t size, received& r) {
  if (size < sizeof r.head) return false;
  std::memcpy(&r.head, message, sizeof r.head);
  const request& h = r.head;
  if (h.magic != protocol_magic) return false;
  if (size != sizeof h + h.text_size + h.text2_size + h.data_size) return false;
  const char* at = static_cast<const char*>(message) + sizeof h;
  r.text.assign(at, h.text_size);
  r.text2.assign(at + h.text_size, h.text2_size);
  r.data = at + h.text_size + h.text2_size;
  // System calls would ignore the rest of a path after a 0 byte.
  return r.text.find('\0') == std::string::npos && r.text2.find('\0') == std::string::npos;
}

namespace {

int open_file_of(const root_folder& root, session& client, const received& r, reply& answer, outgoing& out) {
  // Opening a pipe or a device may block, so open with O_NONBLOCK, and accept only files and folders.
  int flags = static_cast<int>(r.head.a);
  // As open(), which ignores all other flags beside O_PATH. openat2() would refuse them.
  if ((flags & O_PATH) != 0) flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW;
  constexpr int forwarded = O_ACCMODE | O_APPEND | O_CREAT | O_DIRECTORY | O_EXCL | O_NOATIME | O_NOFOLLOW | O_TRUNC |
                            O_SYNC | O_DSYNC | O_PATH | O_TMPFILE;
  const auto number = static_cast<uint64_t>(r.head.c);
  std::shared_ptr<open_file> file = number != 0 ? client.shared()->find(number) : nullptr;
  const bool is_new = file == nullptr;
  if (is_new) {
    file = std::make_shared<open_file>();
    file->fd = root.open(r.text, (flags & forwarded) | ((flags & O_PATH) != 0 ? 0 : O_NONBLOCK),
                         static_cast<mode_t>(r.head.b), descriptor_of(r.folder));
  }
  if (!file->fd) return errno;
  struct statx status {};
  if (statx(file->fd.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) != 0) return errno;
  if (!S_ISREG(status.stx_mode) && !S_ISDIR(status.stx_mode) && (flags & O_PATH) == 0) return ENXIO;
  std::string path;
  if (S_ISDIR(status.stx_mode)) path = root.path_of(file->fd.get());
  if (is_new) {
    file->flags = flags;
    file->identity = {makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino};
    file->number = number;
    if (number != 0) {
      file->among = client.shared();
      file = file->among->add(number, file);
    }
  }
  const uint64_t handle = client.add(std::move(file));
  if (handle == 0) return EMFILE;
  answer.result = static_cast<int64_t>(handle);
  std::memcpy(out.data, &status, sizeof status);
  out.size = sizeof status;
  if (path.size() <= out.room - out.size) {
    std::memcpy(out.data + out.size, path.data(), path.size());
    out.size += path.size();
  }
  return 0;
}

/// Finds the folders to which the texts are relative. Returns 0, or EBADF if one is not open.
int find_folders(const session& client, received& r) {
  const request& h = r.head;
  const bool has_two = h.what == op::rename || h.what == op::link || h.what == op::symlink;
  const bool is_of_file = h.what == op::link;  // its text may be empty
  if (h.handle != 0 && (is_of_file || !r.text.empty()) && h.what != op::symlink &&
      (r.folder = client.find(h.handle)) == nullptr)
    return EBADF;
  if (has_two && h.b != 0 && !r.text2.empty() && (r.folder2 = client.find(static_cast<uint64_t>(h.b))) == nullptr)
    return EBADF;
  return 0;
}

int locate(const root_folder& root, const session& client, const received& r, outgoing& out) {
  const std::shared_ptr<open_file> folder = client.find(r.head.handle);
  if (folder == nullptr) return EBADF;
  const std::string path = root.path_of(folder->fd.get());
  if (path.empty() || path.size() > out.room) return ENOENT;
  std::memcpy(out.data, path.data(), path.size());
  out.size = path.size();
  return 0;
}

}  // namespace

void execute(const root_folder& root, session& client, received& r, reply& answer, outgoing& out) {
  answer.error = find_folders(client, r);
  if (answer.error != 0) return;
  switch (r.head.what) {
    case op::open:
      answer.error = open_file_of(root, client, r, answer, out);
      break;
    case op::close:
      answer.error = client.remove(r.head.handle) ? 0 : EBADF;
      break;
    case op::read:
    case op::write:
    case op::fstat:
    case op::ftruncate:
    case op::fsync:
    case op::fallocate:
    case op::list:
    case op::lend:
    case op::seek:
      answer.error = execute_on_file(client, r, answer, out);
      break;
    case op::stage:
    case op::write_staged:
      answer.error = execute_staged(client, r, answer, out);
      break;
    case op::stat:
    case op::access:
    case op::truncate:
    case op::readlink:
    case op::statfs:
      answer.error = execute_on_path(root, r, out);
      break;
    case op::unlink:
    case op::rename:
    case op::mkdir:
    case op::symlink:
    case op::link:
      answer.error = execute_on_names(root, r);
      break;
    case op::chmod:
    case op::chown:
    case op::utimens:
      answer.error = execute_on_attributes(root, client, r);
      break;
    case op::lock:
    case op::testlock:
    case op::flock:
      answer.error = execute_on_locks(client, r, answer, out);
      break;
    case op::locate:
      answer.error = locate(root, client, r, out);
      break;
    default:
      answer.error = ENOSYS;
  }
}

}  // namespace io_server
