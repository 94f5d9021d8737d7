// The streams of C++: std::cout and its relatives call the functions of stdio with a pointer that they copy from the
// variable `stdout` when they are initialized. That is before this library's start if the program uses a library that
// has streams of C++.
#include <ext/stdio_sync_filebuf.h>

#include <cstdio>
#include <iostream>

#include "streams.hpp"

namespace io_shim {

namespace {

/// Has no effect after sync_with_stdio(false): then the stream calls read() and write().
template <class C>
void redirect(std::basic_ios<C>& stream, FILE* from, FILE* to) {
  using buffer = __gnu_cxx::stdio_sync_filebuf<C>;
  auto* const b = dynamic_cast<buffer*>(stream.rdbuf());
  if (b != nullptr && b->file() == from) *b = buffer(to);
}

}  // namespace

void redirect_cxx_streams(int fd, FILE* from, FILE* to) {
  switch (fd) {
    case 0:
      redirect(std::cin, from, to);
      redirect(std::wcin, from, to);
      break;
    case 1:
      redirect(std::cout, from, to);
      redirect(std::wcout, from, to);
      break;
    default:
      redirect(std::cerr, from, to);
      redirect(std::wcerr, from, to);
  }
}

void flush_cxx_streams() {
  const auto flush = [](auto& stream) {
    try {
      stream.flush();
    } catch (...) {  // the program has let the stream throw
    }
  };
  flush(std::cout);
  flush(std::cerr);
  flush(std::clog);
  flush(std::wcout);
  flush(std::wcerr);
  flush(std::wclog);
}

}  // namespace io_shim
