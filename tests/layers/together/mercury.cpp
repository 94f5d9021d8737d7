// Mercury: each rank is a server of the previous rank and a client of the next one. A call's arguments name memory that
// the server pulls; its result is the number of wrong bytes.
#include <mercury_bulk.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>
#include <na.h>

#include <lci/job.hpp>
#include <string>

#include "tests/layers/together/participant.hpp"

namespace together {

namespace {

constexpr unsigned salt = 5;

MERCURY_GEN_PROC(pull_in_t, ((hg_bulk_t)(memory))((hg_uint64_t)(bytes))((hg_int32_t)(from))((hg_int32_t)(round)))
MERCURY_GEN_PROC(pull_out_t, ((hg_int32_t)(wrong))((hg_int32_t)(round)))

int served = 0;  // calls that were answered

hg_return_t pull_and_check(hg_handle_t handle) {
  pull_in_t in;
  REQUIRE(HG_Handler_get_input(handle, &in) == HG_SUCCESS);
  const size_t n = in.bytes;
  pull_out_t out{0, in.round};
  if (n > 0) {
    hg_bulk_t local = HG_BULK_NULL;
    REQUIRE(HG_Bulk_handle_create(1, nullptr, &n, HG_BULK_READWRITE, &local) == HG_SUCCESS);
    hg_bulk_request_t request = HG_BULK_REQUEST_NULL;
    REQUIRE(HG_Bulk_transfer(HG_BULK_PULL, HG_Handler_get_addr(handle), in.memory, 0, local, 0, n, &request) ==
            HG_SUCCESS);
    hg_status_t status = HG_FALSE;
    REQUIRE(HG_Bulk_wait(request, 60000, &status) == HG_SUCCESS && status == HG_TRUE);
    void* memory = nullptr;
    size_t got = 0;
    REQUIRE(HG_Bulk_handle_access(local, 0, n, HG_BULK_READWRITE, 1, &memory, &got, nullptr) == HG_SUCCESS);
    REQUIRE(got == n);
    out.wrong = !is_filled(static_cast<const unsigned char*>(memory), n, salt, in.from, in.round);
    REQUIRE(HG_Bulk_handle_free(local) == HG_SUCCESS);
  }
  REQUIRE(HG_Handler_free_input(handle, &in) == HG_SUCCESS);
  REQUIRE(HG_Handler_start_output(handle, &out) == HG_SUCCESS);
  ++served;
  return HG_Handler_free(handle);
}

class mercury final : public participant {
 public:
  const char* name() const override { return "Mercury"; }

  void begin() override {
    static int times = 0;
    na_ = NA_Initialize("bmi+tcp", NA_TRUE);
    REQUIRE(na_ != nullptr);
    REQUIRE(HG_Init(na_) == HG_SUCCESS);
    id_ = MERCURY_REGISTER("pull_and_check", pull_in_t, pull_out_t, pull_and_check);
    served = 0;
    // Mercury has no ranks, so servers publish their names in the job's key-value store.
    const lci::detail::job_place place = lci::detail::join_job();
    rank = place.rank;
    size = place.size;
    const std::string key = "together-" + std::to_string(times++) + "-";
    lci::detail::put_in_job(key + std::to_string(rank), own_name());
    lci::detail::fence_of_job();
    const std::string name = lci::detail::get_from_job(key + std::to_string(next()), next());
    REQUIRE(NA_Addr_lookup_wait(na_, name.c_str(), &server_) == NA_SUCCESS);
    lci::detail::fence_of_job();
  }

  // No fence, since MPI_Finalize() may have ended the launcher's key-value store.
  void end() override {
    REQUIRE(NA_Addr_free(na_, server_) == NA_SUCCESS);
    REQUIRE(HG_Finalize() == HG_SUCCESS);
    REQUIRE(NA_Finalize(na_) == NA_SUCCESS);
  }

  void work(int rounds) override {
    const int served_before = served;
    for (int round = 0; round < rounds; ++round) {
      const size_t n = bytes_of(round);
      fill(memory_, n == 0 ? 1 : n, salt, rank, round);
      void* at = memory_.data();
      size_t size = memory_.size();
      pull_in_t in{HG_BULK_NULL, n, rank, round};
      REQUIRE(HG_Bulk_handle_create(1, &at, &size, HG_BULK_READ_ONLY, &in.memory) == HG_SUCCESS);
      pull_out_t out{-1, -1};
      hg_request_t request = HG_REQUEST_NULL;
      REQUIRE(HG_Forward(server_, id_, &in, &out, &request) == HG_SUCCESS);
      for (hg_status_t done = HG_FALSE; done == HG_FALSE;) {
        serve();
        REQUIRE(HG_Wait(request, 0, &done) == HG_SUCCESS);
      }
      REQUIRE(out.wrong == 0 && out.round == round);
      REQUIRE(HG_Request_free(request) == HG_SUCCESS);
      REQUIRE(HG_Bulk_handle_free(in.memory) == HG_SUCCESS);
    }
    while (served < served_before + rounds) serve();
  }

 private:
  static void serve() {
    hg_status_t status = HG_FALSE;
    REQUIRE(HG_Handler_process(0, &status) == HG_SUCCESS);
  }
  std::string own_name() const {
    char text[NA_MAX_ADDR_LEN];
    na_addr_t self = NA_ADDR_NULL;
    REQUIRE(NA_Addr_self(na_, &self) == NA_SUCCESS);
    REQUIRE(NA_Addr_to_string(na_, text, sizeof text, self) == NA_SUCCESS);
    REQUIRE(NA_Addr_free(na_, self) == NA_SUCCESS);
    return text;
  }

  na_class_t* na_ = nullptr;
  na_addr_t server_ = NA_ADDR_NULL;
  hg_id_t id_ = 0;
  std::vector<unsigned char> memory_;
};

}  // namespace

std::unique_ptr<participant> make_mercury() { return std::make_unique<mercury>(); }

}  // namespace together
