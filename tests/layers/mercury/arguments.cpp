// Requests whose arguments the server fetches from the caller's memory: damaged, false and truncated descriptions of
// that memory, and arguments that have changed, are errors of that call only.
#include "lib/layers/mercury/message_check.hpp"
#include "lib/layers/mercury/wire.hpp"
#include "tests/layers/mercury/functions.hpp"
#include "tests/layers/mercury/tap.hpp"

namespace {

using namespace test;

constexpr const char* url = "tcp";
constexpr size_t n_characters = 20000;

/// Calls "length" with arguments that do not fit in a message.
int call_length(const std::string& name) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  std::string text(n_characters, 't');
  text_t in{text.data()};
  number_t out{0};
  h.call(server, h.ids.length, &in, &out);
  return 0;
}

/// Memory of this process that a server may read.
struct exposed {
  exposed(na_class_t* of, std::string& bytes) : c(of) {
    REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(c, bytes.data(), bytes.size(), NA_MEM_READ_ONLY, &handle));
    REQUIRE_CODE(NA_SUCCESS, NA_Mem_register(c, handle));
    text.resize(NA_Mem_handle_get_serialize_size(c, handle));
    REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_serialize(c, text.data(), text.size(), handle));
  }
  ~exposed() { REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_free(c, handle)); }
  exposed(const exposed&) = delete;
  exposed& operator=(const exposed&) = delete;

  na_class_t* const c;
  na_mem_handle_t handle = NA_MEM_HANDLE_NULL;
  std::string text;  // serialized
};

/// A request with a right checksum, whatever its payload.
std::string sealed(mercury::request_header h, const std::string& payload) {
  std::string message(sizeof h, 0);
  message += payload;
  h.payload = static_cast<uint16_t>(payload.size());
  h.check = 0;
  mercury::seal(h, message.data());
  return message;
}

std::string described(uint64_t size, uint32_t check, const std::string& handle) {
  mercury::elsewhere_header e;
  e.arguments = size;
  e.check = check;
  std::string payload(reinterpret_cast<const char*>(&e), sizeof e);
  return payload + handle;
}

void try_all() {
  const network net(url, true);
  tap between(net);
  process server({"serve"});
  const std::string name = server.line();
  const na_addr_t to = net.find(name);
  na_tag_t tag = 2;
  const auto code_of = [&](const std::string& bytes) { return result_in(between.answer_to(to, tag += 2, bytes)); };

  mercury::request_header h;
  {
    process caller({"call", net.own_name()});
    const captured request = between.next(false);
    std::memcpy(&h, request.bytes.data(), sizeof h);
    REQUIRE((h.flags & mercury::arguments_are_elsewhere) != 0);
  }
  // As the string's routine encodes it: the length with the final 0, and the characters.
  const uint64_t length = n_characters + 1;
  std::string arguments(reinterpret_cast<const char*>(&length), sizeof length);
  arguments += std::string(n_characters, 't') + '\0';
  const uint32_t check = mercury::message_check(mercury::check_start, arguments.data(), arguments.size());
  const exposed memory(net.c, arguments);
  const std::string good = described(arguments.size(), check, memory.text);
  REQUIRE_HG(HG_SUCCESS, code_of(sealed(h, good)));

  for (const size_t at : {size_t{0}, size_t{8}, arguments.size() - 1}) {
    arguments[at] = static_cast<char>(arguments[at] ^ 4);
    REQUIRE_HG(HG_CHECKSUM_ERROR, code_of(sealed(h, good)));
    arguments[at] = static_cast<char>(arguments[at] ^ 4);
  }
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, arguments.size() - 1, arguments.size() + 1, uint64_t{1} << 32,
                              uint64_t{1} << 60, ~uint64_t{0}})
    REQUIRE(code_of(sealed(h, described(size, check, memory.text))) != HG_SUCCESS);
  constexpr size_t unused = offsetof(mercury::elsewhere_header, unused);
  for (size_t i = 0; i < good.size(); ++i) {
    REQUIRE(code_of(sealed(h, good.substr(0, i))) != HG_SUCCESS);
    if (i >= unused && i < sizeof(mercury::elsewhere_header)) continue;
    for (const int bit : {0, 3, 7}) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
      REQUIRE(code_of(sealed(h, changed)) != HG_SUCCESS);
    }
  }
  std::string stale;
  {
    std::string other = arguments;
    const exposed gone(net.c, other);
    stale = described(other.size(), check, gone.text);
    REQUIRE_HG(HG_SUCCESS, code_of(sealed(h, stale)));
  }
  // The memory is no longer registered. Networks without keys read what is there now, if anything.
  code_of(sealed(h, stale));
  REQUIRE_HG(HG_SUCCESS, code_of(sealed(h, good)));
  REQUIRE(process({"end", name}).wait() == 0);
  REQUIRE(server.wait() == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return serve_at(url);
  if (role == "call") return call_length(argv[2]);
  if (role == "end") return end_server(argv[2], url);
  try_all();
  return 0;
}
