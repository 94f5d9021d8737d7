// The variables that lci.h declares, and what sets them.
#include <lci.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "lib/layers/v1/ids.hpp"
#include "lib/layers/v1/settings.hpp"
#include "lib/layers/v1/storage.hpp"
#include "lib/layers/v1/world.hpp"

V1_STORAGE int LCI_NUM_PROCESSES = 0;
V1_STORAGE int LCI_RANK = -1;
V1_STORAGE int LCI_NUM_DEVICES = 0;
V1_STORAGE LCI_device_t LCI_UR_DEVICE = nullptr;
V1_STORAGE LCI_endpoint_t LCI_UR_ENDPOINT = nullptr;
V1_STORAGE LCI_comp_t LCI_UR_CQ = nullptr;

V1_STORAGE int LCI_MAX_ENDPOINTS = 128;
V1_STORAGE int LCI_MAX_TAG = v1::max_tag;
V1_STORAGE int LCI_MEDIUM_SIZE = -1;
V1_STORAGE int LCI_IOVEC_SIZE = 508;
V1_STORAGE int LCI_MAX_SYNC_LENGTH = INT_MAX;
V1_STORAGE int LCI_PACKET_SIZE = 12288;
V1_STORAGE int LCI_SERVER_NUM_PKTS = 8192;
V1_STORAGE int LCI_USE_DREG = 1;
V1_STORAGE int LCI_SERVER_MAX_SENDS = 64;
V1_STORAGE int LCI_SERVER_MAX_RECVS = 1024;
V1_STORAGE int LCI_SERVER_MAX_CQES = 65536;
V1_STORAGE int LCI_DEFAULT_QUEUE_LENGTH = 16384;
V1_STORAGE int LCI_MAX_QUEUE_LENGTH = 16384;
V1_STORAGE int LCI_DEFAULT_TABLE_LENGTH = 65536;
V1_STORAGE int LCI_MAX_TABLE_LENGTH = 65536;
V1_STORAGE int LCI_PACKET_RETURN_THRESHOLD = 1024;
V1_STORAGE int LCI_IBV_USE_ODP = 0;
V1_STORAGE int LCI_TOUCH_LBUFFER = 0;
V1_STORAGE int LCI_IBV_USE_PREFETCH = 0;
V1_STORAGE int LCI_SEND_SLOW_DOWN_USEC = 0;
V1_STORAGE int LCI_RECV_SLOW_DOWN_USEC = 0;
V1_STORAGE bool LCI_IBV_ENABLE_EVENT_POLLING_THREAD = false;
V1_STORAGE size_t LCI_MAX_SINGLE_MESSAGE_SIZE = size_t{1} << 47;

namespace v1 {

namespace {

// What the largest iovec has beside its lengths: room for a piggy-back buffer of some size.
constexpr int smallest_packet = 4096 + header_size;
// Each network sends a packet of this size as one message: a frame of the network `tcp` has at most 64 MiB.
constexpr int largest_packet = 32 << 20;

struct setting {
  const char* name;
  int& value;
  int least;
  int most;
};
[[noreturn]] void refuse(const char* name, const char* text, long least, long most) {
  throw lci::option_error(std::string(name) + "=" + text + " in the environment: it must be a whole number from " +
                          std::to_string(least) + " to " + std::to_string(most));
}

/// The number that the environment has, else `otherwise`.
int number_of(const char* name, int otherwise, int least, int most) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 0);
  if (*end != '\0' || errno != 0 || value < least || value > most) refuse(name, text, least, most);
  return static_cast<int>(value);
}

}  // namespace

void read_settings() {
  const setting settings[] = {
      {"LCI_MAX_ENDPOINTS", LCI_MAX_ENDPOINTS, 1, max_ids},
      {"LCI_PACKET_SIZE", LCI_PACKET_SIZE, smallest_packet, largest_packet},
      {"LCI_SERVER_NUM_PKTS", LCI_SERVER_NUM_PKTS, 16, 1 << 28},
      {"LCI_USE_DREG", LCI_USE_DREG, 0, 1},
      {"LCI_SERVER_MAX_SENDS", LCI_SERVER_MAX_SENDS, 1, 1 << 24},
      {"LCI_SERVER_MAX_RECVS", LCI_SERVER_MAX_RECVS, 1, 1 << 24},
      {"LCI_SERVER_MAX_CQES", LCI_SERVER_MAX_CQES, 1, 1 << 24},
      {"LCI_DEFAULT_QUEUE_LENGTH", LCI_DEFAULT_QUEUE_LENGTH, 1, INT_MAX},
      {"LCI_MAX_QUEUE_LENGTH", LCI_MAX_QUEUE_LENGTH, 1, INT_MAX},
      {"LCI_DEFAULT_TABLE_LENGTH", LCI_DEFAULT_TABLE_LENGTH, 1, INT_MAX},
      {"LCI_MAX_TABLE_LENGTH", LCI_MAX_TABLE_LENGTH, 1, INT_MAX},
      {"LCI_PACKET_RETURN_THRESHOLD", LCI_PACKET_RETURN_THRESHOLD, 0, INT_MAX},
      {"LCI_IBV_USE_ODP", LCI_IBV_USE_ODP, 0, INT_MAX},
      {"LCI_TOUCH_LBUFFER", LCI_TOUCH_LBUFFER, 0, INT_MAX},
      {"LCI_IBV_USE_PREFETCH", LCI_IBV_USE_PREFETCH, 0, INT_MAX},
      {"LCI_SEND_SLOW_DOWN_USEC", LCI_SEND_SLOW_DOWN_USEC, 0, INT_MAX},
      {"LCI_RECV_SLOW_DOWN_USEC", LCI_RECV_SLOW_DOWN_USEC, 0, INT_MAX},
  };
  for (const setting& s : settings) s.value = number_of(s.name, s.value, s.least, s.most);
  LCI_IBV_ENABLE_EVENT_POLLING_THREAD = number_of("LCI_IBV_ENABLE_EVENT_POLLING_THREAD", 0, 0, 1) != 0;
  detail::checks = number_of("LCI_V1_CHECK", 0, 0, 1) != 0;
  detail::polls_only.store(!detail::checks, std::memory_order_relaxed);
  detail::usual_tags = detail::checks ? 0 : max_tag + 1;
  if (std::getenv("LCI_DEFAULT_QUEUE_LENGTH") == nullptr) {
    LCI_DEFAULT_QUEUE_LENGTH = LCI_SERVER_NUM_PKTS < INT_MAX / 2 ? 2 * LCI_SERVER_NUM_PKTS : INT_MAX;
  }
  if (std::getenv("LCI_MAX_QUEUE_LENGTH") == nullptr) LCI_MAX_QUEUE_LENGTH = LCI_DEFAULT_QUEUE_LENGTH;
  LCI_MEDIUM_SIZE = LCI_PACKET_SIZE - header_size;
  const int fitting = (LCI_MEDIUM_SIZE - 24) / 8 / 3;  // the rest is for a piggy-back buffer
  LCI_IOVEC_SIZE = fitting < 508 ? fitting : 508;
}

}  // namespace v1
