#include "fft/layout.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace commlens::fft {

namespace {

std::vector<std::size_t> in_order(std::size_t count, std::size_t stride) {
  std::vector<std::size_t> places(count);
  for (std::size_t c = 0; c < count; ++c) places[c] = c * stride;
  return places;
}

}  // namespace

Layout::Layout(const Distribution& of, int rank) : distribution(of) {
  const int i = rank / of.q;
  const int j = rank % of.q;
  x = even_split(of.grid[0], i, of.p);
  y = even_split(of.grid[1], j, of.q);
  z = even_split(of.grid[2], j, of.q);
  if (!of.slabs()) choose_pencils(j);
  if (of.span == Span::full) {
    choose_full(i);
  } else {
    choose_rays(rank);
  }
}

/// Pencils along z become pencils along y.
void Layout::choose_pencils(int j) {
  const auto [nx, ny, nz] = distribution.grid;
  first = Redistribution{.spectators = x.count,
                         .spectator_stride = y.count * nz,
                         .held = y.count,
                         .held_stride = nz,
                         .places = in_order(nz, 1),
                         .rows = x.count * z.count,
                         .extent = ny,
                         .me = j};
  for (int peer = 0; peer < distribution.q; ++peer) {
    first->peers.push_back({.columns = even_split(nz, peer, distribution.q),
                            .rows = {0, first->rows},
                            .held = even_split(ny, peer, distribution.q)});
  }
}

/// Pencils along y, or slabs, become pencils along x.
void Layout::choose_full(int i) {
  const auto [nx, ny, nz] = distribution.grid;
  const bool slabs = distribution.slabs();
  const Range mine = even_split(ny, i, distribution.p);
  second = {.spectators = z.count,
            .spectator_stride = slabs ? 1 : ny,
            .held = x.count,
            .held_stride = z.count * ny,
            .spectators_adjacent = slabs,
            .places = in_order(ny, slabs ? nz : 1),
            .rows = z.count * mine.count,
            .extent = nx,
            .me = i};
  for (int peer = 0; peer < distribution.p; ++peer) {
    second.peers.push_back({.columns = even_split(ny, peer, distribution.p),
                            .rows = {0, second.rows},
                            .held = even_split(nx, peer, distribution.p)});
  }
  for (std::size_t row = 0; row < second.rows; ++row) {
    rows.push_back({.y = mine.begin + row % mine.count, .z = z.begin + row / mine.count, .first = row * nx});
  }
}

/// Columns (y, z) become rays, of which each rank has some.
void Layout::choose_rays(int rank) {
  const auto [nx, ny, nz] = distribution.grid;
  const bool slabs = distribution.slabs();
  std::vector<Ray> rays = rays_of_sphere(distribution.grid, distribution.ranks());
  // In the order of memory before the redistribution; of pencils along y, a rank has all with the same z.
  std::stable_sort(rays.begin(), rays.end(), [slabs](const Ray& a, const Ray& b) {
    return slabs ? std::tie(a.owner, a.y, a.z) < std::tie(b.owner, b.y, b.z)
                 : std::tie(a.owner, a.z, a.y) < std::tie(b.owner, b.z, b.y);
  });
  second = {.held = x.count, .held_stride = z.count * ny, .extent = nx, .me = rank};
  std::vector<Range> columns(static_cast<std::size_t>(distribution.ranks()));
  std::size_t coefficient = 0;
  for (const Ray& ray : rays) {
    if (ray.owner == static_cast<std::size_t>(rank)) {
      rows.push_back(ray);
      rows.back().first = coefficient;
      coefficient += ray.count();
    }
    if (ray.z < z.begin || ray.z >= z.end()) continue;
    ++columns[ray.owner].count;
    second.places.push_back(slabs ? ray.y * nz + ray.z : (ray.z - z.begin) * ny + ray.y);
  }
  second.rows = rows.size();
  std::size_t begin = 0;
  for (int peer = 0; peer < distribution.ranks(); ++peer) {
    Range& of_peer = columns[static_cast<std::size_t>(peer)];
    of_peer.begin = begin;
    begin += of_peer.count;
    const Range theirs = even_split(nz, peer % distribution.q, distribution.q);
    const auto from = [&](std::size_t bound) {
      return static_cast<std::size_t>(
          std::count_if(rows.begin(), rows.end(), [&](const Ray& ray) { return ray.z < bound; }));
    };
    const Range of_rows{from(theirs.begin), from(theirs.end()) - from(theirs.begin)};
    second.peers.push_back({.columns = of_peer,
                            .rows = slabs ? Range{0, rows.size()} : of_rows,
                            .held = even_split(nx, peer / distribution.q, distribution.p)});
  }
}

std::size_t Layout::coefficients() const {
  if (distribution.span == Span::full) return second.after();
  return std::accumulate(rows.begin(), rows.end(), std::size_t{0},
                         [](std::size_t sum, const Ray& ray) { return sum + ray.count(); });
}

std::size_t Layout::blocks() const {
  const std::size_t of_first = first ? std::max(first->before(), first->after()) : 0;
  return std::max({of_first, second.before(), second.after()});
}

std::size_t Layout::sent() const {
  std::size_t elements = 0;
  for (const Redistribution* step : {first ? &*first : nullptr, &second}) {
    if (step == nullptr) continue;
    for (const transport::Piece& piece : step->blocks_before(1)) elements += piece.bytes;
  }
  return elements;
}

Distribution default_distribution(const Extents& grid, int ranks) {
  if (grid[0] >= static_cast<std::size_t>(ranks)) return {.grid = grid, .p = ranks, .q = 1};
  const std::vector<int> extents = transport::balanced_extents(ranks, 2);
  return {.grid = grid, .p = extents[0], .q = extents[1]};
}

}  // namespace commlens::fft
