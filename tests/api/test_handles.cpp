// Uses of handles and of names of enumerations, without a runtime.
#include <catch2/catch.hpp>
#include <string>
#include <unordered_set>

#include <lci.hpp>

namespace {

struct silent_comp : lci::comp_impl_t {
  void signal(lci::status_t) override {}
};

}  // namespace

TEST_CASE("an empty handle has no object, and the error names it") {
  CHECK(lci::device_t().is_empty());
  CHECK(lci::device_t() == lci::device_t(nullptr));
  CHECK_THROWS_AS(lci::device_t().get_impl(), lci::invalid_argument_error);
  CHECK_THROWS_WITH(lci::device_t().get_impl(), Catch::Contains("device_t"));
  CHECK_THROWS_AS(lci::runtime_t().get_attr_max_tag(), lci::invalid_argument_error);
}

TEST_CASE("constants of handles are empty") {
  CHECK(lci::COMP_NULL.is_empty());
  CHECK(lci::COMP_NULL == lci::COMP_NULL_EXPECT_DONE);
  CHECK(lci::COMP_NULL_RETRY.is_empty());
  CHECK(lci::COMP_NULL_RETRY != lci::COMP_NULL);
  CHECK(lci::COMP_NULL_RETRY == lci::COMP_NULL_EXPECT_DONE_OR_RETRY);
  CHECK(lci::COMP_NULL != lci::COMP_NULL_RETRY);
  CHECK_THROWS_AS(lci::COMP_NULL_RETRY.get_impl(), lci::invalid_argument_error);
  CHECK_THROWS_AS(lci::COMP_NULL_RETRY.get_attr_comp_type(), lci::invalid_argument_error);
  CHECK(lci::MR_HOST.is_empty());
  CHECK(lci::MR_DEVICE.is_empty());
  CHECK(lci::MR_UNKNOWN.is_empty());
  CHECK(lci::MR_HOST == lci::mr_t());
  CHECK(lci::MR_DEVICE != lci::MR_UNKNOWN);
  CHECK(lci::GRAPH_START != lci::GRAPH_END);
}

TEST_CASE("an object of the program can be a completion object") {
  silent_comp object;
  object.attr.am_in_place = true;
  object.attr.user_context = &object;
  const lci::comp_t comp(&object);
  CHECK(comp.get_impl() == &object);
  CHECK(comp.get_attr_comp_type() == lci::attr_comp_type_t::custom);
  CHECK(comp.get_attr_am_in_place());
  CHECK(comp.get_attr().am_in_place);
  CHECK(comp.get_attr_user_context() == &object);
  CHECK(comp.get_attr_name() == std::string("unnamed"));
  lci::comp_t other;
  other.set_impl(&object);
  CHECK(other == comp);
}

TEST_CASE("a handle converts to an untyped pointer and back") {
  silent_comp object;
  void* untyped = lci::comp_t(&object).get_impl();
  CHECK(lci::comp_t(static_cast<lci::comp_impl_t*>(untyped)).get_impl() == &object);
}

TEST_CASE("handles can be keys of hash tables") {
  silent_comp a, b;
  std::unordered_set<lci::comp_t> set{&a, &b, &a, nullptr};
  CHECK(set.size() == 3);
  CHECK(set.count(lci::comp_t(&b)) == 1);
}

TEST_CASE("values of enumerations have names") {
  CHECK(to_string(lci::attr_backend_t::shm) == "shm");
  CHECK(to_string(lci::direction_t::OUT) == "OUT");
  CHECK(to_string(lci::matching_policy_t::rank_tag) == "rank_tag");
  CHECK(to_string(lci::comp_semantic_t::remote) == "remote");
  CHECK(to_string(lci::errorcode_t::retry_lock) == "retry_lock");
  CHECK(to_string(lci::attr_cq_type_t::lcrq) == "lcrq");
  CHECK(lci::attr_backend_to_string(lci::attr_backend_t::sim) == std::string("sim"));
  CHECK(to_string(static_cast<lci::attr_backend_t>(99)) == "unknown");
  CHECK(lci::get_errorcode_str(lci::errorcode_t::posted) == std::string("posted"));
}

TEST_CASE("attributes out of range are refused at allocation, and the error names them") {
  // Completion objects need no runtime.
  CHECK_THROWS_WITH(lci::alloc_sync_x().threshold(0)(),
                    Catch::Contains("alloc_sync") && Catch::Contains("sync_threshold") && Catch::Contains("1 to"));
  CHECK_THROWS_AS(lci::alloc_cq_x().default_length(-5)(), lci::invalid_argument_error);
}

TEST_CASE("without a default runtime, operations throw an error that says what is missing") {
  REQUIRE(lci::get_g_runtime().is_empty());
  CHECK(lci::get_rank_me() == -1);
  CHECK(lci::get_rank_n() == -1);
  CHECK_THROWS_WITH(lci::progress(), Catch::Contains("progress") && Catch::Contains("g_runtime_init"));
  CHECK_THROWS_WITH(lci::post_send(0, nullptr, 0, 0, lci::COMP_NULL),
                    Catch::Contains("post_send") && Catch::Contains("runtime"));
  CHECK_THROWS_WITH(lci::register_packet_pool(lci::packet_pool_t(), lci::device_t()), Catch::Contains("packet_pool"));
  CHECK_THROWS_AS(lci::sync_wait(lci::comp_t(), nullptr), lci::invalid_argument_error);
}

TEST_CASE("completion objects need no runtime, and keep name and context") {
  int context = 0;
  lci::comp_t cq = lci::alloc_cq_x().name("inbox").user_context(&context).default_length(64)();
  CHECK(cq.get_attr_comp_type() == lci::attr_comp_type_t::cq);
  CHECK(cq.get_attr_name() == std::string("inbox"));
  CHECK(cq.get_attr_user_context() == &context);
  CHECK(cq.get_attr_cq_default_length() == 64);
  CHECK(lci::cq_pop(cq).is_retry());
  lci::free_comp(&cq);
  CHECK(cq.is_empty());
}
