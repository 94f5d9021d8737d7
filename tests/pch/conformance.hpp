// What every file of the conformance tests reads, compiled once.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "lci.hpp"
#include "tests/conformance/harness.hpp"
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"
#include "tests/conformance/window.hpp"
