// Requests for locks. None blocks; a client that waits for a lock repeats its request.
#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

#include "execute.hpp"

namespace io_server {

int execute_on_locks(session& client, const received& r, reply& answer, outgoing& out) {
  const std::shared_ptr<open_file> file = client.find(r.head.handle);
  if (file == nullptr) return EBADF;
  // The file of such a descriptor may be a pipe, and lock_holder() would wait for its other end.
  if ((file->flags & O_PATH) != 0) return EBADF;
  const request& h = r.head;
  if (h.what == op::flock) return flock(file->fd.get(), static_cast<int>(h.a) | LOCK_NB) == 0 ? 0 : errno;
  const int access = file->flags & O_ACCMODE;
  const bool is_of_file = (h.a & of_open_file) != 0;
  const int64_t type = h.a & ~of_open_file;
  if (h.what == op::lock && ((type == F_RDLCK && access == O_WRONLY) || (type == F_WRLCK && access == O_RDONLY)))
    return EBADF;
  const auto holder = is_of_file ? nullptr : client.lock_holder(*file);
  if (!is_of_file && holder == nullptr) return errno;
  struct flock lock {};
  lock.l_type = static_cast<short>(type);
  lock.l_whence = SEEK_SET;
  lock.l_start = h.b;
  lock.l_len = h.c;
  if (fcntl(is_of_file ? file->fd.get() : holder->get(), h.what == op::lock ? F_OFD_SETLK : F_OFD_GETLK, &lock) != 0)
    return errno;
  answer.result = lock.l_type;
  const int64_t at[2] = {lock.l_start, lock.l_len};
  std::memcpy(out.data, at, sizeof at);
  out.size = sizeof at;
  return 0;
}

}  // namespace io_server
