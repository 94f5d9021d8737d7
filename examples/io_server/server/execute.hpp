// Executes requests on the file system. What transfers data in bulk is in transfer.hpp.
#pragma once

#include <cstddef>
#include <string>

#include "../protocol.hpp"
#include "root.hpp"
#include "session.hpp"

namespace io_server {

/// A request as it arrived, its sizes checked.
struct received {
  request head;
  std::string text, text2;
  const char* data = nullptr;  ///< `head.data_size` bytes
};

/// Room for a reply's data; `size` is what is used.
struct outgoing {
  char* data = nullptr;
  size_t room = 0;
  size_t size = 0;
};

/// False: the message is none of this protocol.
bool take_request(const void* message, size_t size, received& r);

/// Everything but `hello`, `bye`, and reads and writes in bulk. Stores error, results and data. Thread-safe;
/// of staged writes the caller holds `client.writing`.
void execute(const root_folder& root, session& client, const received& r, reply& answer, outgoing& out);

/// Parts of it, by what they are about. Each returns an errno.
int execute_on_file(session& client, const received& r, reply& answer, outgoing& out);
int execute_staged(session& client, const received& r, reply& answer, outgoing& out);
int execute_on_path(const root_folder& root, const received& r, outgoing& out);
int execute_on_names(const root_folder& root, const received& r);
int execute_on_attributes(const root_folder& root, session& client, const received& r);
int execute_on_locks(session& client, const received& r, reply& answer, outgoing& out);

}  // namespace io_server
