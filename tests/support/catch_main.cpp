// Catch2's main(), for systems where Catch2 is installed as headers only.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
