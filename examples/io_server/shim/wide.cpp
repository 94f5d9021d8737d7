// Wide characters on streams of remote files. The C library's functions refuse streams of fopencookie(), so these
// convert to and from bytes.
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <cwchar>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

bool is_remote_stream(FILE* f) { return is_remote(f->_fileno); }

wint_t refuse_character(FILE* f) {
  constexpr int error_seen = 0x20;  // glibc's _IO_ERR_SEEN: what ferror() tests
  f->_flags |= error_seen;
  errno = EILSEQ;
  return WEOF;
}

/// Reads the bytes of one character and converts them. The conversion starts anew for each character: glibc has no
/// locales whose encodings keep a shift state from one character to the next.
wint_t read_character(FILE* f) {
  mbstate_t state{};
  for (bool is_first = true;; is_first = false) {
    const int byte = getc_unlocked(f);
    if (byte == EOF) return is_first ? WEOF : refuse_character(f);
    const char c = static_cast<char>(byte);
    wchar_t w = L'\0';
    const size_t n = std::mbrtowc(&w, &c, 1, &state);
    if (n == static_cast<size_t>(-1)) return refuse_character(f);
    if (n != static_cast<size_t>(-2)) return static_cast<wint_t>(w);
  }
}

wint_t write_character(wchar_t w, FILE* f) {
  char bytes[MB_LEN_MAX];
  mbstate_t state{};
  const size_t n = std::wcrtomb(bytes, w, &state);
  if (n == static_cast<size_t>(-1)) return refuse_character(f);
  return fwrite_unlocked(bytes, 1, n, f) == n ? static_cast<wint_t>(w) : WEOF;
}

wchar_t* read_line(wchar_t* to, int room, FILE* f) {
  int n = 0;
  while (n < room - 1) {
    const wint_t w = read_character(f);
    if (w == WEOF) break;
    to[n++] = static_cast<wchar_t>(w);
    if (w == L'\n') break;
  }
  if (room <= 0 || n == 0 || ferror_unlocked(f) != 0) return nullptr;
  to[n] = L'\0';
  return to;
}

int write_text(const wchar_t* text, size_t size, FILE* f) {
  for (size_t i = 0; i < size; ++i)
    if (write_character(text[i], f) == WEOF) return -1;
  return 1;
}

int print(FILE* f, const wchar_t* format, va_list arguments) {
  constexpr size_t most = size_t{64} << 20;  // characters; vswprintf() does not say how many it needs
  try {
    for (std::vector<wchar_t> text(512); text.size() <= most; text.resize(4 * text.size())) {
      va_list copy;
      va_copy(copy, arguments);
      const int error = std::exchange(errno, 0);
      const int n = std::vswprintf(text.data(), text.size(), format, copy);
      va_end(copy);
      if (n < 0 && errno == EILSEQ) return -1;  // no room would do; like the C library, without an error of the stream
      errno = error;
      if (n < 0) continue;
      flockfile(f);
      const int result = write_text(text.data(), static_cast<size_t>(n), f);
      funlockfile(f);
      return result < 0 ? -1 : n;
    }
    errno = EOVERFLOW;
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  }
  return -1;
}

template <class F>
auto locked(FILE* f, F body) {
  flockfile(f);
  const auto result = body();
  funlockfile(f);
  return result;
}

}  // namespace

}  // namespace io_shim

using namespace io_shim;

IO_EXPORT wint_t fgetwc(FILE* f) {
  return is_remote_stream(f) ? locked(f, [=] { return read_character(f); }) : IO_REAL(fgetwc)(f);
}
IO_ALIAS(getwc, fgetwc);
IO_EXPORT wint_t fgetwc_unlocked(FILE* f) {
  return is_remote_stream(f) ? read_character(f) : IO_REAL(fgetwc_unlocked)(f);
}
IO_ALIAS(getwc_unlocked, fgetwc_unlocked);
IO_EXPORT wint_t getwchar() { return fgetwc(stdin); }
IO_EXPORT wint_t getwchar_unlocked() { return fgetwc_unlocked(stdin); }
IO_EXPORT wint_t ungetwc(wint_t w, FILE* f) {
  if (!is_remote_stream(f)) return IO_REAL(ungetwc)(w, f);
  if (w == WEOF) return WEOF;
  char bytes[MB_LEN_MAX];
  mbstate_t state{};
  size_t n = std::wcrtomb(bytes, static_cast<wchar_t>(w), &state);
  if (n == static_cast<size_t>(-1)) return WEOF;
  while (n > 0)
    if (std::ungetc(static_cast<unsigned char>(bytes[--n]), f) == EOF) return WEOF;
  return w;
}

IO_EXPORT wchar_t* fgetws(wchar_t* to, int room, FILE* f) {
  return is_remote_stream(f) ? locked(f, [=] { return read_line(to, room, f); }) : IO_REAL(fgetws)(to, room, f);
}
IO_EXPORT wchar_t* fgetws_unlocked(wchar_t* to, int room, FILE* f) {
  return is_remote_stream(f) ? read_line(to, room, f) : IO_REAL(fgetws_unlocked)(to, room, f);
}
IO_EXPORT wchar_t* __fgetws_chk(wchar_t* to, size_t size, int room, FILE* f) {
  if (room > 0 && static_cast<size_t>(room) > size) __builtin_trap();
  return fgetws(to, room, f);
}
IO_EXPORT wchar_t* __fgetws_unlocked_chk(wchar_t* to, size_t size, int room, FILE* f) {
  if (room > 0 && static_cast<size_t>(room) > size) __builtin_trap();
  return fgetws_unlocked(to, room, f);
}

IO_EXPORT wint_t fputwc(wchar_t w, FILE* f) {
  return is_remote_stream(f) ? locked(f, [=] { return write_character(w, f); }) : IO_REAL(fputwc)(w, f);
}
IO_ALIAS(putwc, fputwc);
IO_EXPORT wint_t fputwc_unlocked(wchar_t w, FILE* f) {
  return is_remote_stream(f) ? write_character(w, f) : IO_REAL(fputwc_unlocked)(w, f);
}
IO_ALIAS(putwc_unlocked, fputwc_unlocked);
IO_EXPORT wint_t putwchar(wchar_t w) { return fputwc(w, stdout); }
IO_EXPORT wint_t putwchar_unlocked(wchar_t w) { return fputwc_unlocked(w, stdout); }
IO_EXPORT int fputws(const wchar_t* text, FILE* f) {
  if (!is_remote_stream(f)) return IO_REAL(fputws)(text, f);
  return locked(f, [=] { return write_text(text, std::wcslen(text), f); });
}
IO_EXPORT int fputws_unlocked(const wchar_t* text, FILE* f) {
  return is_remote_stream(f) ? write_text(text, std::wcslen(text), f) : IO_REAL(fputws_unlocked)(text, f);
}

IO_EXPORT int vfwprintf(FILE* f, const wchar_t* format, va_list arguments) {
  return is_remote_stream(f) ? print(f, format, arguments) : IO_REAL(vfwprintf)(f, format, arguments);
}
IO_EXPORT int vwprintf(const wchar_t* format, va_list arguments) { return vfwprintf(stdout, format, arguments); }
// The checked forms also refuse formats with %n in writable memory, which those without the check do not need.
IO_EXPORT int __vfwprintf_chk(FILE* f, int, const wchar_t* format, va_list arguments) {
  return vfwprintf(f, format, arguments);
}
IO_EXPORT int __vwprintf_chk(int, const wchar_t* format, va_list arguments) {
  return vfwprintf(stdout, format, arguments);
}

#define IO_PRINT(stream, format)                           \
  va_list arguments;                                       \
  va_start(arguments, format);                             \
  const int result = vfwprintf(stream, format, arguments); \
  va_end(arguments);                                       \
  return result
IO_EXPORT int fwprintf(FILE* f, const wchar_t* format, ...) { IO_PRINT(f, format); }
IO_EXPORT int wprintf(const wchar_t* format, ...) { IO_PRINT(stdout, format); }
IO_EXPORT int __fwprintf_chk(FILE* f, int, const wchar_t* format, ...) { IO_PRINT(f, format); }
IO_EXPORT int __wprintf_chk(int, const wchar_t* format, ...) { IO_PRINT(stdout, format); }
