// Libraries that are loaded at run time.
#include <catch2/catch.hpp>

#include <unistd.h>

#include "lib/base/loaded_library.hpp"

TEST_CASE("loaded library: the first name that the system has is loaded, and its functions can be called") {
  lci::loaded_library c({"liblci_absent.so.1", "libc.so.6"});
  pid_t (*own_pid)() = nullptr;
  c.find("getpid", own_pid);
  CHECK(c.missing().empty());
  REQUIRE(own_pid != nullptr);
  CHECK(own_pid() == getpid());
  pid_t (*absent)() = own_pid;
  c.find("lci_absent", absent);
  CHECK(absent == nullptr);
  CHECK(c.missing() == "libc.so.6 has no lci_absent");
  c.find("lci_absent_too", absent);
  CHECK(c.missing() == "libc.so.6 has no lci_absent");
}

TEST_CASE("loaded library: without the library all functions are null, and the reason names each library") {
  lci::loaded_library none({"liblci_absent.so.1", "liblci_absent.so"});
  pid_t (*function)() = &getpid;
  none.find("getpid", function);
  CHECK(function == nullptr);
  CHECK_THAT(none.missing(), Catch::Contains("liblci_absent.so.1: ") && Catch::Contains("; liblci_absent.so: "));
}
