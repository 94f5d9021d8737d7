// stdio streams. The C library's own streams make system calls that can't be replaced. So fopencookie() creates the
// streams of remote files, and replaces the standard streams while their descriptors are remote.
#include "streams.hpp"

#include <fcntl.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "calls.hpp"
#include "data.hpp"
#include "opening.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

int descriptor_in(void* cookie) { return static_cast<int>(reinterpret_cast<intptr_t>(cookie)); }

ssize_t cookie_read(void* c, char* to, size_t size) { return ::read(descriptor_in(c), to, size); }
ssize_t cookie_write(void* c, const char* from, size_t size) {
  const ssize_t n = ::write(descriptor_in(c), from, size);
  return n < 0 ? 0 : n;  // fopencookie() requires 0 for an error
}
int cookie_seek(void* c, off64_t* offset, int whence) {
  const off_t to = ::lseek(descriptor_in(c), *offset, whence);
  if (to < 0) return -1;
  *offset = to;
  return 0;
}
int cookie_close(void* c) { return ::close(descriptor_in(c)); }

/// The flags of open() for a mode of fopen(); -1 if the mode is invalid.
int flags_of(const char* mode) {
  int flags;
  switch (mode[0]) {
    case 'r':
      flags = O_RDONLY;
      break;
    case 'w':
      flags = O_WRONLY | O_CREAT | O_TRUNC;
      break;
    case 'a':
      flags = O_WRONLY | O_CREAT | O_APPEND;
      break;
    default:
      return -1;
  }
  for (const char* c = mode + 1; *c != '\0' && *c != ','; ++c) {
    if (*c == '+') flags = (flags & ~O_ACCMODE) | O_RDWR;
    if (*c == 'x') flags |= O_EXCL;
    if (*c == 'e') flags |= O_CLOEXEC;
  }
  return flags;
}

FILE* make_stream(int fd, const char* mode, bool closes) {
  const cookie_io_functions_t functions{cookie_read, cookie_write, cookie_seek, closes ? cookie_close : nullptr};
  FILE* f = fopencookie(reinterpret_cast<void*>(static_cast<intptr_t>(fd)), mode, functions);
  if (f != nullptr) f->_fileno = fd;  // only fileno() uses this member of a stream of fopencookie()
  return f;
}

struct standard_stream {
  FILE** variable;
  const char* mode;
  FILE* original;  // the C library's stream
  FILE* made;      // the stream while the descriptor is remote; reused, and freed by fclose() only
};

standard_stream* standard() {
  static standard_stream all[] = {
      {&stdin, "r", stdin, nullptr}, {&stdout, "w", stdout, nullptr}, {&stderr, "w", stderr, nullptr}};
  return all;
}

}  // namespace

FILE* stream_over(int fd, const char* mode) {
  FILE* f = make_stream(fd, mode, true);
  // glibc positions a stream opened with mode `a` at the end of the file at once, so ftell() returns the file's size.
  // Programs write a header if it returns 0.
  if (f != nullptr && mode[0] == 'a' && std::strchr(mode, '+') == nullptr) std::fseek(f, 0, SEEK_END);
  return f;
}

// Does not flush the old stream: a program that replaces a standard descriptor must flush its stream before.
void follow_standard_stream(int fd) {
  if (fd < 0 || fd > 2 || is_borrowed()) return;
  standard_stream& s = standard()[fd];
  const int error = errno;
  if (is_remote(fd)) {
    if (s.made == nullptr) s.made = make_stream(fd, s.mode, false);
    if (s.made == nullptr) return;
    if (fd == 2) setvbuf(s.made, nullptr, _IONBF, 0);
    if (*s.variable == s.original) *s.variable = s.made;
    redirect_cxx_streams(fd, s.original, s.made);
  } else if (s.made != nullptr) {
    if (*s.variable == s.made) *s.variable = s.original;
    redirect_cxx_streams(fd, s.made, s.original);
  }
  errno = error;
}

namespace {

/// fclose() of the stream that replaces a standard one. Nothing may refer to it then: the streams of C++ flush theirs
/// when the process exits. As with the C library, the original becomes a stream without a descriptor.
int close_standard_stream(int fd, standard_stream& s) {
  FILE* const closed = std::exchange(s.made, nullptr);
  redirect_cxx_streams(fd, closed, s.original);
  if (*s.variable == closed) *s.variable = s.original;
  s.original->_fileno = -1;
  const int flushed = IO_REAL(fclose)(closed);
  const int error = errno;
  const int result = is_remote(fd) ? ::close(fd) : 0;
  if (flushed == 0) return result;
  errno = error;
  return EOF;
}

/// Opens the file of a descriptor once more, as the C library's freopen() without a path.
int open_again(int fd, int flags) {
  return unless_no_memory([=] { return ::open(outer(file_of(fd)->path()).c_str(), flags & ~O_CREAT); }, result_of);
}

/// Sets a stream of this library, whose descriptor is of another file now, to its state after fopen(). The bits of
/// `_flags` are those that glibc's fopencookie() sets.
void begin_again(FILE* f, int flags) {
  constexpr int no_reads = 4, no_writes = 8, appends = 0x1000;
  __fpurge(f);
  f->_flags &= ~(no_reads | no_writes | appends);
  const int access = flags & O_ACCMODE;
  f->_flags |= access == O_RDONLY ? no_writes : access == O_WRONLY ? no_reads : 0;
  if ((flags & O_APPEND) != 0) f->_flags |= appends;
  std::clearerr(f);
  std::fseek(f, 0, (flags & O_APPEND) != 0 ? SEEK_END : SEEK_SET);
}

FILE* open_stream(const place& p, const char* mode) {
  const int flags = flags_of(mode);
  if (flags < 0 || std::strstr(mode, ",ccs=") != nullptr) {  // a stream of fopencookie() can't convert
    errno = EINVAL;
    return nullptr;
  }
  const int fd = open_remote(p, flags, 0666);
  if (fd < 0) return nullptr;
  FILE* f = stream_over(fd, mode);
  if (f == nullptr) ::close(fd);
  return f;
}

}  // namespace

}  // namespace io_shim

using namespace io_shim;

IO_EXPORT FILE* fopen(const char* path, const char* mode) {
  const place p(path);
  return p.remote() ? open_stream(p, mode) : IO_REAL(fopen)(p.local(), mode);
}
IO_ALIAS(fopen64, fopen);

IO_EXPORT FILE* fdopen(int fd, const char* mode) noexcept {
  if (!is_remote(fd)) return IO_REAL(fdopen)(fd, mode);
  const int wanted = flags_of(mode), has = file_of(fd)->flags() & O_ACCMODE;
  if (wanted < 0 || (has != O_RDWR && has != (wanted & O_ACCMODE))) {
    errno = EINVAL;
    return nullptr;
  }
  return stream_over(fd, mode);
}

IO_EXPORT int fclose(FILE* stream) {
  for (int fd = 0; fd <= 2; ++fd)
    if (standard_stream& s = standard()[fd]; stream != nullptr && s.made == stream) return close_standard_stream(fd, s);
  return IO_REAL(fclose)(stream);
}

// freopen() must return the same object. So a stream of the C library can't become one of a remote file, except the
// standard ones. A stream of this library can be of any file.
IO_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  const int fd = fileno(stream);
  const bool was_remote = is_remote(fd);
  if (!was_remote && !place(path).remote()) return IO_REAL(freopen)(place(path).local(), mode, stream);
  const int flags = flags_of(mode);
  const bool is_standard = fd >= 0 && fd <= 2 && (stream == standard()[fd].original || stream == standard()[fd].made);
  if (flags < 0 || (path == nullptr && !was_remote) || (!is_standard && !was_remote)) {
    errno = EINVAL;
    return nullptr;
  }
  std::fflush(stream);
  const int now = path != nullptr ? ::open(path, flags, 0666) : open_again(fd, flags);
  const bool is_moved = now >= 0 && (now == fd || ::dup2(now, fd) == fd);
  const int error = errno;
  if (now >= 0 && now != fd) ::close(now);
  if (is_standard) return is_moved ? *standard()[fd].variable : nullptr;
  if (!is_moved) {
    ::fclose(stream);
    errno = error;
    return nullptr;
  }
  if ((flags & O_CLOEXEC) != 0) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  begin_again(stream, flags);
  return stream;
}
IO_ALIAS(freopen64, freopen);

IO_EXPORT int vdprintf(int fd, const char* format, va_list arguments) {
  if (!is_remote(fd)) return IO_REAL(vdprintf)(fd, format, arguments);
  char* text = nullptr;
  const int size = vasprintf(&text, format, arguments);
  int done = 0;
  while (done < size) {
    const ssize_t n = ::write(fd, text + done, static_cast<size_t>(size - done));
    if (n < 0) break;
    done += static_cast<int>(n);
  }
  if (size >= 0) std::free(text);
  return done == size ? size : -1;
}
IO_EXPORT int __vdprintf_chk(int fd, int, const char* format, va_list arguments) {
  return vdprintf(fd, format, arguments);
}
#define IO_DPRINTF                                    \
  va_list arguments;                                  \
  va_start(arguments, format);                        \
  const int result = vdprintf(fd, format, arguments); \
  va_end(arguments);                                  \
  return result
IO_EXPORT int dprintf(int fd, const char* format, ...) { IO_DPRINTF; }
IO_EXPORT int __dprintf_chk(int fd, int, const char* format, ...) { IO_DPRINTF; }

IO_EXPORT int mkostemps(char* pattern, int suffix, int flags) {
  const place p(pattern);
  if (!p.remote()) return IO_REAL(mkostemps)(pattern, suffix, flags);
  const size_t length = std::strlen(pattern);
  if (suffix < 0 || length < static_cast<size_t>(suffix) + 6) return result_of(EINVAL);
  char* const at = pattern + length - static_cast<size_t>(suffix) - 6;
  if (std::memcmp(at, "XXXXXX", 6) != 0) return result_of(EINVAL);
  static constexpr char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  for (int attempt = 0; attempt < 1000; ++attempt) {
    for (int i = 0; i < 6; ++i) at[i] = letters[arc4random_uniform(sizeof letters - 1)];
    const int fd = open_remote(place(pattern), (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return result_of(EEXIST);
}
IO_ALIAS(mkostemps64, mkostemps);
IO_EXPORT int mkstemp(char* pattern) { return mkostemps(pattern, 0, 0); }
IO_ALIAS(mkstemp64, mkstemp);
IO_EXPORT int mkostemp(char* pattern, int flags) { return mkostemps(pattern, 0, flags); }
IO_ALIAS(mkostemp64, mkostemp);
IO_EXPORT int mkstemps(char* pattern, int suffix) { return mkostemps(pattern, suffix, 0); }
IO_ALIAS(mkstemps64, mkstemps);
