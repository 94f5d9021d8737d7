// The standard library and Catch2, compiled once; nothing of ours, as in lib/pch/standard.hpp.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
