// A halo exchange as a completion graph: built once, started in every step. A cube of points with periodic borders is
// cut into blocks, one per rank; a step replaces each point by the mean of itself and its six neighbours. The result
// equals the serial computation bit by bit.
//
//   lcirun -n 8 graph_halo [points along an edge] [steps]

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>
#include <vector>

#include "halo_block.hpp"

namespace {

template <class T, void (T::*method)()>
lci::status_t call(void* object) {
  return (static_cast<T*>(object)->*method)(), lci::errorcode_t::done;
}

double start_value(int x, int y, int z) { return (x * 31 + y * 17 + z * 7) % 101 * 0.37; }

}  // namespace

int main(int argc, char** argv) {
  const int edge = argc > 1 ? std::atoi(argv[1]) : 24, steps = argc > 2 ? std::atoi(argv[2]) : 20;
  lci::g_runtime_init();
  const int me = lci::get_rank_me(), n = lci::get_rank_n();

  // Blocks along each axis: the prime factors of n, distributed over the axes.
  std::array<int, 3> blocks = {1, 1, 1};
  for (int p = 2, rest = n; rest > 1; ++p)
    for (; rest % p == 0; rest /= p) *std::min_element(blocks.begin(), blocks.end()) *= p;
  const std::array<int, 3> place = {me / (blocks[1] * blocks[2]), me / blocks[2] % blocks[1], me % blocks[2]};
  const auto begin = [&](int a, int i) { return edge * i / blocks[a]; };
  std::array<int, 3> size, origin;
  for (int a = 0; a < 3; ++a) origin[a] = begin(a, place[a]), size[a] = begin(a, place[a] + 1) - origin[a];
  if (edge < *std::max_element(blocks.begin(), blocks.end()))
    return std::fprintf(stderr, "graph_halo: %d points are too few for %d ranks\n", edge, n), 2;

  block mine(size);
  mine.each([&](int x, int y, int z) {
    mine.points[mine.at(x, y, z)] = start_value(origin[0] + x, origin[1] + y, origin[2] + z);
  });

  // Each face is packed, then sent; received, then unpacked; after all of them, the step. Faces don't depend on each
  // other. There are two graphs, for even and odd steps: a neighbour may be one step ahead, and only the tag
  // distinguishes its messages.
  std::vector<face> faces;
  for (int f = 0; f < 6; ++f) faces.emplace_back(&mine, f / 2, f % 2);
  std::array<lci::comp_t, 2> graphs = {lci::alloc_graph(), lci::alloc_graph()};
  for (size_t odd = 0; odd < 2; ++odd) {
    lci::comp_t graph = graphs[odd];
    const auto step = lci::graph_add_node_x(graph, call<block, &block::step>).value(&mine)();
    for (face& f : faces) {
      auto other = place;
      other[f.axis] = (other[f.axis] + (f.side == 0 ? -1 : 1) + blocks[f.axis]) % blocks[f.axis];
      const int peer = (other[0] * blocks[1] + other[1]) * blocks[2] + other[2];
      const size_t bytes = f.out.size() * sizeof(double);
      // What is sent from a low face is received at a high one.
      const lci::tag_t tags = odd * 6 + static_cast<lci::tag_t>(f.axis) * 2;
      const auto pack = lci::graph_add_node_x(graph, call<face, &face::pack>).value(&f)(),
                 unpack = lci::graph_add_node_x(graph, call<face, &face::unpack>).value(&f)();
      const auto send =
          lci::graph_add_node_op(graph, lci::post_send_x(peer, f.out.data(), bytes, tags + f.side, lci::COMP_NULL));
      const auto receive =
          lci::graph_add_node_op(graph, lci::post_recv_x(peer, f.in.data(), bytes, tags + 1 - f.side, lci::COMP_NULL));
      lci::graph_add_edge(graph, pack, send);
      lci::graph_add_edge(graph, receive, unpack);
      lci::graph_add_edge(graph, send, step);
      lci::graph_add_edge(graph, unpack, step);
    }
  }
  for (int i = 0; i < steps; ++i) {
    lci::graph_start(graphs[i % 2]);
    while (lci::graph_test(graphs[i % 2]).is_retry()) lci::progress();
  }

  // The serial computation, without blocks.
  const auto at = [edge](int x, int y, int z) {
    return ((x + edge) % edge * edge + (y + edge) % edge) * edge + (z + edge) % edge;
  };
  const block whole({edge, edge, edge});
  std::vector<double> serial(static_cast<size_t>(edge) * edge * edge), next(serial);
  whole.each([&](int x, int y, int z) { serial[at(x, y, z)] = start_value(x, y, z); });
  for (int i = 0; i < steps; ++i, serial.swap(next))
    whole.each([&](int x, int y, int z) {
      next[at(x, y, z)] = mean([&](int dx, int dy, int dz) { return serial[at(x + dx, y + dy, z + dz)]; });
    });
  int different = 0;
  mine.each([&](int x, int y, int z) {
    different += mine.points[mine.at(x, y, z)] != serial[at(origin[0] + x, origin[1] + y, origin[2] + z)];
  });
  std::printf("rank %d: block %dx%dx%d, %d steps, %d points differ from the serial result\n", me, size[0], size[1],
              size[2], steps, different);
  for (lci::comp_t& graph : graphs) lci::free_comp(&graph);
  lci::g_runtime_fina();
  return different != 0;
}
