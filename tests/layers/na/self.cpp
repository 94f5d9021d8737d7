// A process communicates with itself: by the network "self", and by its own address in other networks.
#include "tests/layers/na/processes.hpp"

namespace {

using test::network;
using test::outcome;

void all_operations(const network& net, na_addr_t self) {
  REQUIRE(NA_Addr_is_self(net.c, self) == NA_TRUE);
  char first[100], second[10], out[] = "to myself", answer[] = "and back";
  outcome received, sent, expected, replied, late;
  // One receive is posted before its message is sent, one after.
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &received, first, 100, nullptr));
  REQUIRE_CODE(NA_SUCCESS,
               NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent, out, sizeof out, self, 77, nullptr));
  net.until([&] { return received.done() && sent.done(); });
  REQUIRE(received.info.ret == NA_SUCCESS && std::strcmp(first, out) == 0);
  REQUIRE(received.info.info.recv_unexpected.actual_buf_size == sizeof out);
  REQUIRE(received.info.info.recv_unexpected.tag == 77);
  const na_addr_t source = received.info.info.recv_unexpected.source;
  REQUIRE(NA_Addr_is_self(net.c, source) == NA_TRUE);
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_expected(net.c, net.x, outcome::store, &replied, answer, sizeof answer, source,
                                                78, nullptr));
  REQUIRE_CODE(NA_SUCCESS,
               NA_Msg_recv_expected(net.c, net.x, outcome::store, &expected, second, sizeof second, self, 78, nullptr));
  net.until([&] { return expected.done() && replied.done(); });
  REQUIRE(expected.info.ret == NA_SUCCESS && std::strcmp(second, answer) == 0);

  std::vector<char> from(100000, 'a'), to(100000, 'b');
  na_mem_handle_t here = nullptr, there = nullptr, copy = nullptr;
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(net.c, from.data(), from.size(), NA_MEM_READWRITE, &here));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(net.c, to.data(), to.size(), NA_MEM_READWRITE, &there));
  outcome put, get;
  REQUIRE_CODE(NA_PERMISSION_ERROR, NA_Put(net.c, net.x, outcome::store, &put, here, 0, there, 0, 1, self, nullptr));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_register(net.c, there));
  std::vector<char> text(NA_Mem_handle_get_serialize_size(net.c, there));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_serialize(net.c, text.data(), text.size(), there));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_deserialize(net.c, &copy, text.data(), text.size()));
  REQUIRE_CODE(NA_SUCCESS, NA_Put(net.c, net.x, outcome::store, &put, here, 10, there, 20, 50000, self, nullptr));
  net.until([&] { return put.done(); });
  REQUIRE(put.info.ret == NA_SUCCESS && to[19] == 'b' && to[20] == 'a' && to[50019] == 'a' && to[50020] == 'b');
  REQUIRE_CODE(NA_SUCCESS, NA_Get(net.c, net.x, outcome::store, &get, here, 0, copy, 50000, 50000, self, nullptr));
  net.until([&] { return get.done(); });
  REQUIRE(get.info.ret == NA_SUCCESS && from[19] == 'a' && from[20] == 'b' && from[49999] == 'b' && from[50000] == 'a');
  for (const na_mem_handle_t h : {here, there, copy}) REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_free(net.c, h));
}

void by_each_address(const char* url, bool listen) {
  const network net(url, listen);
  na_addr_t self = NA_ADDR_NULL, twin = NA_ADDR_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(net.c, &self));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_dup(net.c, self, &twin));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, self));
  all_operations(net, twin);
  all_operations(net, net.find(net.own_name()));
  all_operations(net, net.find("self"));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, twin));
  char small[7];
  REQUIRE_CODE(NA_SIZE_ERROR, NA_Addr_to_string(net.c, small, sizeof small, twin));
}

}  // namespace

int main() {
  by_each_address("self", false);
  by_each_address("na+self://", true);
  by_each_address("tcp://localhost:0", true);
  by_each_address("mpi+dynamic://", false);
  return 0;
}
