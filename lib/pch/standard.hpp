// The standard library, compiled once: reading it is half of the work of a short file. Nothing of ours:
// a compiler cache may bring a precompiled header from another checkout, whose copies of our files the
// compiler does not take for the same (#pragma once) and reads again.
// Every file still names what it uses, and compiles without this.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
