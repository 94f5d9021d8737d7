// Executes requests on the file system, except bulk transfers, which are in transfer.hpp.
#pragma once

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>

#include "../protocol.hpp"
#include "root.hpp"
#include "session.hpp"

namespace io_server {

/// A received request whose sizes have been checked. Refers to the message.
struct received {
  request head;
  std::string text, text2;
  std::shared_ptr<open_file> folder, folder2;  ///< to which the texts are relative; null: the root
  const char* data = nullptr;                  ///< `head.data_size` bytes
};

/// The buffer for a reply's data, of which `size` bytes are used.
struct outgoing {
  char* data = nullptr;
  size_t room = 0;
  size_t size = 0;
};

/// Parses a message. Returns false if it is not of this protocol.
bool take_request(const void* message, size_t size, received& r);

/// Executes all requests except `hello`, `bye`, and reads and writes in bulk. Stores error, results and data.
/// Thread-safe. For staged writes the caller must hold `client.writing`.
void execute(const root_folder& root, session& client, received& r, reply& answer, outgoing& out);

/// The descriptor of a received request's folder.
inline int descriptor_of(const std::shared_ptr<open_file>& folder) { return folder == nullptr ? -1 : folder->fd.get(); }

/// The errno of a system call that has returned `result`, or 0 if it has not failed.
inline int errno_of(int result) { return result == 0 ? 0 : errno; }

/// Parts of execute(), by topic. Each returns 0 or an errno.
int execute_on_file(session& client, const received& r, reply& answer, outgoing& out);
int execute_staged(session& client, const received& r, reply& answer, outgoing& out);
int execute_on_path(const root_folder& root, const received& r, outgoing& out);
int execute_on_names(const root_folder& root, const received& r);
int execute_on_attributes(const root_folder& root, session& client, const received& r);
int execute_on_locks(session& client, const received& r, reply& answer, outgoing& out);

}  // namespace io_server
