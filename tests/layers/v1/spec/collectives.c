/* LCIX_*, experimental in the public versions: each operation, with each kind of completion. */
#include "tests/layers/v1/spec/spec.h"

enum { OPERATION, KIND, LENGTH, ROOT, AXES };
enum { BARRIER, BCASTM, BCASTL, ALLREDUCEM, ALLREDUCEL, OPERATIONS };
static const char* const names[] = {"barrier", "bcastm", "bcastl", "allreducem", "allreducel"};

static PER_RANK struct box boxes[KINDS];
static PER_RANK char* buffer;
static PER_RANK LCI_endpoint_t endpoint;
static PER_RANK unsigned number;

static void add(void* to, const void* from, size_t length) {
  uint32_t* sums = to;
  const uint32_t* values = from;
  size_t i;
  for (i = 0; i < length / sizeof *sums; ++i) sums[i] += values[i];
}
static uint32_t value_of(int rank, size_t i) { return (uint32_t)rank * 1000003u + (uint32_t)i * 7u + number; }

static size_t length_of(int value, int is_long) {
  const size_t lengths[] = {4, 1000, (size_t)LCI_MEDIUM_SIZE / 4 * 4, 400000};
  return is_long || value < 3 ? lengths[value] : 400;
}

static void run_case(struct worker* unused, const int* v) {
  const int operation = v[OPERATION];
  const int is_long = operation == BCASTL || operation == ALLREDUCEL;
  const int is_reduction = operation == ALLREDUCEM || operation == ALLREDUCEL;
  const int is_bcast = operation == BCASTM || operation == BCASTL;
  const size_t length = length_of(v[LENGTH], is_long);
  const LCI_tag_t tag = (LCI_tag_t)(v[KIND] * 100 + v[LENGTH]);
  LCI_comp_t comp = v[KIND] == BY_NOTHING ? NULL : boxes[v[KIND]].comp;
  LCIX_collective_t collective = NULL;
  LCI_lbuffer_t lbuffer;
  LCI_mbuffer_t mbuffer;
  LCI_error_t code = LCI_OK;
  struct patience patience = {0, 0};
  uint32_t* numbers = (uint32_t*)(void*)buffer;
  size_t i;
  (void)unused;
  if (!is_bcast && v[ROOT]) return;
  if (operation == BARRIER && v[LENGTH]) return;
  ++number;
  case_is("LCIX %s of %zu bytes, root %d, completed by %s", names[operation], length, v[ROOT], kind_names[v[KIND]]);
  mbuffer = medium_of(buffer, length);
  lbuffer = long_of(LCI_SEGMENT_ALL, buffer, length);
  for (i = 0; i < length / 4; ++i) numbers[i] = value_of(LCI_RANK, i);
  if (operation == BARRIER) code = LCIX_barrier(endpoint, tag, comp, &boxes, &collective);
  if (operation == BCASTM) code = LCIX_bcastm(endpoint, mbuffer, v[ROOT], tag, comp, &boxes, &collective);
  if (operation == BCASTL) code = LCIX_bcastl(endpoint, lbuffer, v[ROOT], tag, comp, &boxes, &collective);
  if (operation == ALLREDUCEM) code = LCIX_allreducem(endpoint, mbuffer, add, tag, comp, &boxes, &collective);
  if (operation == ALLREDUCEL) code = LCIX_allreducel(endpoint, lbuffer, add, tag, comp, &boxes, &collective);
  CHECK_EQ(code, LCI_OK);
  if (collective) {
    while ((code = LCIX_coll_progress(&collective)) == LCI_ERR_RETRY)
      step(&patience, LCI_UR_DEVICE, "a collective operation");
    CHECK_EQ(code, LCI_OK);
  }
  CHECK(collective == NULL);
  if (comp) {
    LCI_request_t request;
    box_wait(&boxes[v[KIND]], LCI_UR_DEVICE, &request, 0);
    check_request(&request, LCI_RANK, tag, &boxes);
    if (operation == BCASTM || operation == ALLREDUCEM) {
      CHECK_EQ(request.type, LCI_MEDIUM);
      CHECK(request.data.mbuffer.address == buffer);
      CHECK_EQ(request.data.mbuffer.length, length);
    }
    if (is_long) {
      CHECK_EQ(request.type, LCI_LONG);
      CHECK(request.data.lbuffer.address == buffer);
      CHECK_EQ(request.data.lbuffer.length, length);
    }
  }
  for (i = 0; i < length / 4; ++i) {
    uint32_t expected = is_bcast ? value_of(v[ROOT], i) : value_of(LCI_RANK, i);
    int r;
    if (is_reduction)
      for (r = 0, expected = 0; r < LCI_NUM_PROCESSES; ++r) expected += value_of(r, i);
    if (numbers[i] != expected) {
      CHECK_EQ(numbers[i], expected);
      break;
    }
  }
}

void collectives(void) {
  const struct axis axes[AXES] = {
      {"operation", OPERATIONS}, {"completion", KINDS + 1}, {"length", 4}, {"root", LCI_NUM_PROCESSES}};
  int kind;
  buffer = malloc(400000);
  if (!buffer) give_up("memory");
  for (kind = 0; kind < KINDS; ++kind) box_open(&boxes[kind], LCI_UR_DEVICE, kind);
  endpoint = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, NULL);
  each_case(axes, AXES, 100, NULL, run_case);
  CHECK_OK(LCI_barrier());
  settle(LCI_UR_DEVICE);
  for (kind = 0; kind < KINDS; ++kind) box_close(&boxes[kind]);
  CHECK_OK(LCI_endpoint_free(&endpoint));
  free(buffer);
}
