// Runs the library of message_passing.hpp: random sizes, tags and layouts round a ring, receives from any source at
// node 0, and a column of a matrix that arrives as a row. Each process checks what it gets.
//
//   lcirun -n 4 message_passing
#include "message_passing.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>

namespace mp = message_passing;

namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

unsigned char value(size_t i, int tag, int from) {
  return static_cast<unsigned char>(i * 5 + static_cast<size_t>(tag * 3 + from));
}

/// Several messages to the next process, received in the opposite order of their tags.
void ring(mp::library& messages, int me, int n) {
  std::mt19937 random(7);  // the same sizes at all processes
  for (int round = 0; round < 50; ++round) {
    constexpr int in_flight = 4;
    mp::library::request sends[in_flight], receives[in_flight];
    std::vector<unsigned char> out[in_flight], in[in_flight];
    for (int tag = 0; tag < in_flight; ++tag) {
      const size_t size = random() % (tag % 2 == 0 ? 2000 : 300000);
      out[tag].resize(size);
      in[tag].resize(size);
      for (size_t i = 0; i < size; ++i) out[tag][i] = value(i, tag, me);
      messages.isend(sends[tag], out[tag].data(), size, CCS_DATA8, (me + 1) % n, tag);
    }
    for (int tag = in_flight - 1; tag >= 0; --tag)
      messages.irecv(receives[tag], in[tag].data(), in[tag].size(), CCS_DATA8, (me + n - 1) % n, tag);
    for (int tag = 0; tag < in_flight; ++tag) {
      const mp::envelope got = messages.wait(receives[tag]);
      require(got.tag == tag && got.bytes == in[tag].size(), "an envelope");
      for (size_t i = 0; i < in[tag].size(); ++i)
        require(in[tag][i] == value(i, tag, (me + n - 1) % n), "the data of a message");
      messages.wait(sends[tag]);
    }
  }
}

/// Every process sends to node 0, which receives in the order of arrival. The others wait until node 0 has all
/// messages, as its receives would also match what they send afterwards.
void any_source(mp::library& messages, int me, int n) {
  constexpr int each = 100, all_received = 999;
  if (me != 0) {
    for (int i = 0; i < each; ++i) messages.send(&i, sizeof i, CCS_DATA8, 0, 1000 + me);
    messages.recv(nullptr, 0, CCS_DATA8, 0, all_received);
    return;
  }
  std::vector<int> next(static_cast<size_t>(n), 0);
  for (int i = 0; i < each * (n - 1); ++i) {
    int number = -1;
    const mp::envelope got = messages.recv(&number, sizeof number, CCS_DATA8, mp::any_source, mp::any_tag);
    require(got.tag == 1000 + got.source, "the tag of a message from any source");
    require(number == next[static_cast<size_t>(got.source)]++, "the order of messages of one source");
  }
  for (int i = 1; i < n; ++i) messages.send(nullptr, 0, CCS_DATA8, i, all_received);
}

/// A column of a matrix of doubles, short and long, becomes a row.
void column(mp::library& messages, int me, int n) {
  for (const int rows : {10, 5000}) {
    constexpr int columns = 3;
    CCS_datadesc_t desc = CCS_DATA_NULL;
    require(CCS_datadesc_create_vector(rows, 1, columns * 8, CCS_DATA64, &desc) == CCS_SUCCESS, "a description");
    std::vector<double> matrix(static_cast<size_t>(rows) * columns), row(static_cast<size_t>(rows));
    for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<double>(i) + 0.5 * me;
    mp::library::request sent;
    messages.isend(sent, matrix.data() + 1, 1, desc, (me + 1) % n, 5);
    messages.recv(row.data(), row.size(), CCS_DATA64, (me + n - 1) % n, 5);
    messages.wait(sent);
    for (size_t i = 0; i < row.size(); ++i)
      require(row[i] == static_cast<double>(i * columns + 1) + 0.5 * ((me + n - 1) % n), "a column");
    CCS_datadesc_free(&desc);
  }
}

}  // namespace

int main() {
  if (CCS_init() != CCS_SUCCESS) return 1;
  CCS_node_t rank = 0, size = 1;
  CCS_get_rank(&rank);
  CCS_get_size(&size);
  const int me = static_cast<int>(rank), n = static_cast<int>(size);
  {
    mp::library messages;
    ring(messages, me, n);
    any_source(messages, me, n);
    column(messages, me, n);
  }
  std::printf("node %d of %d: right\n", me, n);
  return CCS_finalize() == CCS_SUCCESS ? 0 : 1;
}
