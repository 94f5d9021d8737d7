// The messages between clients and server: a request, followed by texts or data, and its reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <lci.hpp>

namespace io_server {

/// What begins each request. Changes with each change of this file.
constexpr uint32_t protocol_magic = 0x4c494f3b;
/// The server's handle for requests: it registers its queue before anything else.
constexpr lci::rcomp_t request_queue = 1;

/// Largest number of bytes of data in a message. More is transferred in bulk between the client's memory and the
/// server.
constexpr size_t most_inline = 4096;
/// Largest number of bytes that a request reads or writes. The client splits larger ones, so that one client does not
/// delay the others for long.
constexpr size_t most_bulk = size_t{8} << 20;
/// Sizes of the memory at the server for large writes of a client on the same host. The client copies a piece to this
/// memory while the server writes the previous one to the file.
constexpr size_t staged_piece = size_t{128} << 10;
constexpr size_t staged_pieces = 4;
/// A whole message fits in a packet.
constexpr size_t most_message = 7800;

/// A text that is a path is relative to the root; or to the folder that is open by `handle`, unless that is 0, also if
/// the folder has been moved.
enum class op : uint16_t {
  hello,      ///< begins a session, and ends an earlier session of the same peer id
  bye,        ///< ends the session
  open,       ///< text: path; a: flags, b: mode, c: the open file's number, 0: none. Result: handle; the reply's data:
              ///< struct statx, and for a folder its path without symbolic links, if it is known. A file that a client
              ///< has open by this number is shared with it, whatever the path.
  close,      ///< handle
  read,       ///< handle, a: offset, b: size, c: place in the client's memory
  write,      ///< handle, a: offset (-1: append), b: size; the reply's `second`: offset after the written bytes
  stat,       ///< text: path, a: whether to follow a symbolic link; data: struct statx
  fstat,      ///< handle; data: struct statx
  access,     ///< text: path, a: mode, b: whether to follow
  truncate,   ///< text: path, a: size
  ftruncate,  ///< handle, a: size
  unlink,     ///< text: path, a: 1: it must be a directory, 0: it must not
  rename,     ///< text, text2: paths; a: flags of renameat2(), b: handle of the folder of text2
  mkdir,      ///< text: path, a: mode
  symlink,    ///< text: target, text2: path; b: handle of the folder of text2
  readlink,   ///< text: path; data: the target
  link,       ///< text, text2: paths; a: whether to follow, b: handle of the folder of text2. Without text: the open
              ///< file of `handle` gets the name text2
  chmod,      ///< text: path (or handle), a: mode
  chown,      ///< text: path (or handle), a: user, b: group, c: whether to follow
  utimens,    ///< text: path (or handle), a, b: seconds since 1970 of the two times, c: see packed_times()
  fsync,      ///< handle, a: whether data suffice
  fallocate,  ///< handle, a: offset, b: size, c: mode
  lock,       ///< handle, a: type (F_RDLCK, F_WRLCK, F_UNLCK; + of_open_file), b: start, c: length; never waits
  testlock,   ///< the same. Result: type; data: int64_t start, length
  flock,      ///< handle, a: operation; never waits
  list,       ///< handle, a: position; data: records of getdents64()
  statfs,     ///< text: path; data: struct statfs
  stage,      ///< data: lci::rmr_t of the session's memory for staged writes
  write_staged,  ///< handle, a: offset, b: size, c: place in that memory, and `group`; results as of `write`
  lend,          ///< handle, a: whether to map the file, which may be open for reading and writing then. Result: the
                 ///< server's process; `second`: its descriptor of the file; data: struct statx
  seek,          ///< handle, a: offset, b: SEEK_DATA or SEEK_HOLE. Result: the offset of the data or the hole
  locate,        ///< handle of a folder; data: its present path without symbolic links. ENOENT: it has been removed.
};

/// Added to the type of a lock that belongs to the open file (F_OFD_SETLK), not to the client.
constexpr int64_t of_open_file = 0x100;

/// Packs the argument c of `utimens`. Bit 0: whether to follow a symbolic link. Bits 1 to 31 and from 32 on: tv_nsec of
/// the two times, which may be UTIME_NOW or UTIME_OMIT.
constexpr int64_t packed_times(bool follow, int64_t first, int64_t second) {
  return static_cast<int64_t>(follow) | first << 1 | second << 32;
}
constexpr bool times_follow(int64_t packed) { return (packed & 1) != 0; }
constexpr int64_t first_nanoseconds(int64_t packed) { return packed >> 1 & 0x7fffffff; }
constexpr int64_t second_nanoseconds(int64_t packed) { return packed >> 32; }

constexpr uint32_t no_processor = ~uint32_t{0};

struct request {
  uint32_t magic = protocol_magic;
  op what = op::hello;
  uint16_t text_size = 0, text2_size = 0;  ///< bytes of the texts after the request
  uint16_t data_size = 0;                  ///< bytes of data after the texts
  lci::rcomp_t reply_to = 0;               ///< the client's remote completion handle
  uint32_t number = 0;                     ///< returned in the reply
  uint32_t group = 0;  ///< staged writes: after a short write, the server does not execute the rest of its group
  uint32_t processor = no_processor;  ///< of a client on this host that goes on copying while the server does
  uint64_t handle = 0;                ///< 0: none
  int64_t a = 0, b = 0, c = 0;
  lci::rmr_t memory;  ///< the client's memory for bulk transfers; empty if the data is in the message
};

struct reply {
  uint32_t number = 0;
  int32_t error = 0;  ///< an errno
  int64_t result = 0, second = 0;
  uint32_t size = 0;  ///< bytes of data after the reply
  uint32_t unused = 0;
};

}  // namespace io_server
