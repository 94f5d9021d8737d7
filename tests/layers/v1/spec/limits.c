/* Constants, types and their layout, compared with the specification and with the published headers. */
#include "tests/layers/v1/spec/spec.h"

struct constant {
  const char* name;
  long long value, expected;
};

void limits(void) {
  static const struct constant constants[] = {
      {"LCI_OK", LCI_OK, 0},
      {"LCI_ERR_RETRY", LCI_ERR_RETRY, 1},
      {"LCI_ERR_FATAL", LCI_ERR_FATAL, 2},
      {"LCI_ERR_RETRY_LOCK", LCI_ERR_RETRY_LOCK, 3},
      {"LCI_ERR_RETRY_NOMEM", LCI_ERR_RETRY_NOMEM, 4},
      {"LCI_ERR_FEATURE_NA", LCI_ERR_FEATURE_NA, 5},
      {"LCI_MATCH_RANKTAG", LCI_MATCH_RANKTAG, 0},
      {"LCI_MATCH_TAG", LCI_MATCH_TAG, 1},
      {"LCI_PORT_COMMAND", LCI_PORT_COMMAND, 0},
      {"LCI_PORT_MESSAGE", LCI_PORT_MESSAGE, 1},
      {"LCI_COMPLETION_NONE", LCI_COMPLETION_NONE, 0},
      {"LCI_COMPLETION_QUEUE", LCI_COMPLETION_QUEUE, 1},
      {"LCI_COMPLETION_HANDLER", LCI_COMPLETION_HANDLER, 2},
      {"LCI_COMPLETION_SYNC", LCI_COMPLETION_SYNC, 3},
      {"LCI_IMMEDIATE", LCI_IMMEDIATE, 0},
      {"LCI_MEDIUM", LCI_MEDIUM, 1},
      {"LCI_LONG", LCI_LONG, 2},
      {"LCI_IOVEC", LCI_IOVEC, 3},
      {"LCI_DEFAULT_COMP_REMOTE", LCI_DEFAULT_COMP_REMOTE, 0},
      {"LCI_RANK_ANY", LCI_RANK_ANY, -1},
      {"LCI_SHORT_SIZE", LCI_SHORT_SIZE, 32},
      {"sizeof(LCI_tag_t)", sizeof(LCI_tag_t), 4},
      {"sizeof(LCI_comp_t)", sizeof(LCI_comp_t), sizeof(void*)},
      {"sizeof(LCI_short_t)", sizeof(LCI_short_t), 32},
      {"sizeof(LCI_mbuffer_t)", sizeof(LCI_mbuffer_t), 16},
      {"sizeof(LCI_lbuffer_t)", sizeof(LCI_lbuffer_t), 24},
      {"sizeof(LCI_iovec_t)", sizeof(LCI_iovec_t), 32},
      {"sizeof(LCI_data_t)", sizeof(LCI_data_t), 32},
      {"sizeof(LCI_request_t)", sizeof(LCI_request_t), 56},
      {"LCI_mbuffer_t.length", offsetof(LCI_mbuffer_t, length), 8},
      {"LCI_lbuffer_t.segment", offsetof(LCI_lbuffer_t, segment), 0},
      {"LCI_lbuffer_t.address", offsetof(LCI_lbuffer_t, address), 8},
      {"LCI_lbuffer_t.length", offsetof(LCI_lbuffer_t, length), 16},
      {"LCI_iovec_t.piggy_back", offsetof(LCI_iovec_t, piggy_back), 0},
      {"LCI_iovec_t.lbuffers", offsetof(LCI_iovec_t, lbuffers), 16},
      {"LCI_iovec_t.count", offsetof(LCI_iovec_t, count), 24},
      {"LCI_request_t.flag", offsetof(LCI_request_t, flag), 0},
      {"LCI_request_t.rank", offsetof(LCI_request_t, rank), 4},
      {"LCI_request_t.tag", offsetof(LCI_request_t, tag), 8},
      {"LCI_request_t.type", offsetof(LCI_request_t, type), 12},
      {"LCI_request_t.data", offsetof(LCI_request_t, data), 16},
      {"LCI_request_t.user_context", offsetof(LCI_request_t, user_context), 48},
  };
  struct {
    char odd;
    LCI_short_t value;
  } placed;
  size_t i;
  for (i = 0; i < sizeof constants / sizeof *constants; ++i) {
    case_is("%s", constants[i].name);
    CHECK_EQ(constants[i].value, constants[i].expected);
  }
  case_is("types");
  CHECK(LCI_SEGMENT_ALL == NULL);
  /* Programs store numbers through its address. */
  CHECK_EQ(((uintptr_t)&placed.value) % 8, 0);
  CHECK(sizeof placed.value.val == LCI_SHORT_SIZE);
}
