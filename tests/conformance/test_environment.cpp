// Attributes from the environment. Run with LCI_ATTR_NPACKETS=4321, LCI_ATTR_PACKET_SIZE=4096 and
// LCI_ATTR_RDV_PROTOCOL=write set (tests/conformance/meson.build); hidden otherwise.
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

TEST_CASE("attributes are read from the environment unless the program sets them", "[.environment]") {
  CHECK(lci::get_g_default_attr().npackets == 4321);
  CHECK(lci::get_g_default_attr().packet_size == 4096);
  CHECK(lci::get_g_default_attr().rdv_protocol == lci::attr_rdv_protocol_t::write);
  on_ranks([](rank_env& env) {
    EXPECT_EQ(lci::get_default_packet_pool_x().runtime(env.rt)().get_attr_npackets(), size_t{4321});
    EXPECT(env.rt.get_attr_rdv_protocol() == lci::attr_rdv_protocol_t::write);
    auto pool = lci::alloc_packet_pool_x().npackets(99).runtime(env.rt)();
    EXPECT_EQ(pool.get_attr_npackets(), size_t{99});
    lci::free_packet_pool_x(&pool).runtime(env.rt)();
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    const auto out = message(5000, 5);
    env.post(
        [&] { return lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL, rcomp).runtime(env.rt)(); });
    EXPECT(box.collect().front().data == std::string(out.data(), out.size()));
  });
}
