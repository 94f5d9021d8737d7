// The data of graph_halo: blocks of points and their faces. No communication.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

// The mean of a point and its six neighbours; p(dx, dy, dz) returns the value at an offset.
template <class P>
double mean(P p) {
  return (p(0, 0, 0) + p(-1, 0, 0) + p(1, 0, 0) + p(0, -1, 0) + p(0, 1, 0) + p(0, 0, -1) + p(0, 0, 1)) / 7;
}

// A block of points, surrounded by one layer of the neighbours' points.
struct block {
  std::array<int, 3> size;  // without the layer
  std::vector<double> points, next;

  explicit block(std::array<int, 3> s)
      : size(s), points(static_cast<size_t>(s[0] + 2) * (s[1] + 2) * (s[2] + 2)), next(points) {}
  size_t at(int x, int y, int z) const {  // coordinates -1 and size are the layer
    return (static_cast<size_t>(x + 1) * (size[1] + 2) + y + 1) * (size[2] + 2) + z + 1;
  }
  template <class F>
  void each(F f) const {
    for (int x = 0; x < size[0]; ++x)
      for (int y = 0; y < size[1]; ++y)
        for (int z = 0; z < size[2]; ++z) f(x, y, z);
  }
  void step() {
    each([&](int x, int y, int z) {
      next[at(x, y, z)] = mean([&](int dx, int dy, int dz) { return points[at(x + dx, y + dy, z + dz)]; });
    });
    points.swap(next);
  }
};

// One of the six faces: what is sent to and received from that neighbour.
struct face {
  block* of;
  int axis, side;  // side 0: low, 1: high
  std::vector<double> out, in;

  face(block* b, int a, int s) : of(b), axis(a), side(s), out(b->size[(a + 1) % 3] * b->size[(a + 2) % 3]), in(out) {}
  template <class F>
  void each(int depth, F f) {  // f(index of the point, index in the buffer)
    size_t i = 0;
    std::array<int, 3> p;
    p[axis] = depth;
    for (int u = 0; u < of->size[(axis + 1) % 3]; ++u)
      for (int v = 0; v < of->size[(axis + 2) % 3]; ++v) {
        p[(axis + 1) % 3] = u, p[(axis + 2) % 3] = v;
        f(of->at(p[0], p[1], p[2]), i++);
      }
  }
  void pack() {
    each(side == 0 ? 0 : of->size[axis] - 1, [&](size_t at, size_t i) { out[i] = of->points[at]; });
  }
  void unpack() {
    each(side == 0 ? -1 : of->size[axis], [&](size_t at, size_t i) { of->points[at] = in[i]; });
  }
};
