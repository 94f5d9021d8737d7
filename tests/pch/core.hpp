// What every test of the core's parts reads, compiled once.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "lci.hpp"
#include "lib/core/device.hpp"
#include "lib/core/runtime.hpp"
