// Catch2 itself, where it is installed as a header only.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
