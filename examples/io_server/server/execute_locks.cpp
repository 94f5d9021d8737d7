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
  const request& h = r.head;
  if (h.what == op::flock) return flock(file->fd.get(), static_cast<int>(h.a) | LOCK_NB) == 0 ? 0 : errno;
  const int access = file->flags & O_ACCMODE;
  if (h.what == op::lock && ((h.a == F_RDLCK && access == O_WRONLY) || (h.a == F_WRLCK && access == O_RDONLY)))
    return EBADF;
  const auto holder = client.lock_holder(*file);
  if (holder == nullptr) return errno;
  struct flock lock {};
  lock.l_type = static_cast<short>(h.a);
  lock.l_whence = SEEK_SET;
  lock.l_start = h.b;
  lock.l_len = h.c;
  if (fcntl(holder->get(), h.what == op::lock ? F_OFD_SETLK : F_OFD_GETLK, &lock) != 0) return errno;
  answer.result = lock.l_type;
  const int64_t at[2] = {lock.l_start, lock.l_len};
  std::memcpy(out.data, at, sizeof at);
  out.size = sizeof at;
  return 0;
}

}  // namespace io_server
