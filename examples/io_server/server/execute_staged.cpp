// Writes to files from the session's memory, to which the client has copied the data.
#include <cerrno>
#include <cstring>
#include <exception>

#include "execute.hpp"
#include "file_data.hpp"

namespace io_server {

namespace {

int stage(session& client, outgoing& out) {
  try {
    const lci::rmr_t memory = client.staging().remote();
    std::memcpy(out.data, &memory, sizeof memory);
    out.size = sizeof memory;
    return 0;
  } catch (const std::exception&) {  // no memory: the client then writes without staging
    return ENOMEM;
  }
}

int write_staged(session& client, const open_file& file, const char* from, const request& h, reply& answer) {
  const bool appends = h.a < 0;
  if (appends && (file.flags & O_APPEND) == 0) return EINVAL;
  if (h.group == client.cut_group) return ECANCELED;
  const ssize_t n = write_part(file, from, static_cast<size_t>(h.b), h.a, appends);
  const int error = n < 0 ? errno : 0;
  if (n < h.b) client.cut_group = h.group;
  if (n < 0) return error;
  answer.result = n;
  answer.second = behind_part(file, h.a, n, appends);
  return 0;
}

}  // namespace

int execute_staged(session& client, const received& r, reply& answer, outgoing& out) {
  const request& h = r.head;
  if (h.what == op::stage) return stage(client, out);
  const std::shared_ptr<open_file> file = client.find(h.handle);
  if (file == nullptr) return EBADF;
  try {
    const char* const memory = client.staging().at(h.c, h.b);
    return memory == nullptr ? EINVAL : write_staged(client, *file, memory, h, answer);
  } catch (const std::exception&) {
    return ENOMEM;
  }
}

}  // namespace io_server
