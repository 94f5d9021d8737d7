// A k-mer of up to 63 bases in two words, its hash, and the scanner that extracts k-mers from text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace kmer_count {

__extension__ typedef unsigned __int128 uint128;

constexpr int max_k = 63;

/// Two bits per base (A=0, C=1, G=2, T=3), the last base in the lowest bits. Messages contain k-mers in this form.
struct kmer {
  uint64_t lo = 0;
  uint64_t hi = 0;

  friend bool operator==(const kmer& a, const kmer& b) { return a.lo == b.lo && a.hi == b.hi; }
  friend bool operator!=(const kmer& a, const kmer& b) { return !(a == b); }
};
static_assert(sizeof(kmer) == 16, "a message is an array of these");

/// Reads a k-mer from a message, which need not be aligned.
inline kmer load_kmer(const char* bytes) {
  kmer m;
  std::memcpy(&m, bytes, sizeof m);
  return m;
}

/// One hash is used three times, and these uses must not be correlated: the owner is computed from the low half, the
/// table's bucket from the high half, and the filter's position from a product of both.
inline uint64_t hash_of(const kmer& m) {
  const uint64_t high = m.hi * 0x9e3779b97f4a7c15u;
  uint64_t h = m.lo ^ (high << 31 | high >> 33);
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
  return h ^ h >> 33;
}

/// The rank that owns the k-mer with this hash.
inline int owner_of(uint64_t hash, int nranks) {
  return static_cast<int>((hash & 0xffffffffu) * static_cast<uint64_t>(nranks) >> 32);
}

/// The bases of a k-mer as text.
inline std::string to_string(const kmer& m, int k) {
  std::string text(static_cast<size_t>(k), '?');
  uint128 bits = uint128{m.hi} << 64 | m.lo;
  for (int i = k - 1; i >= 0; --i, bits >>= 2) {
    text[static_cast<size_t>(i)] = "ACGT"[static_cast<unsigned>(bits) & 3];
  }
  return text;
}

/// The meaning of a character: 0-3 a base, `base_skip` none (line ends), `base_break` ends all k-mers that would
/// contain it (N, and everything else that is not A, C, G or T).
constexpr int8_t base_skip = 4;
constexpr int8_t base_break = 5;

struct base_table {
  int8_t code[256] = {};

  constexpr base_table() {
    for (auto& c : code) c = base_break;
    constexpr char upper[] = "ACGT", lower[] = "acgt";
    for (int8_t i = 0; i < 4; ++i) {
      code[static_cast<unsigned char>(upper[i])] = i;
      code[static_cast<unsigned char>(lower[i])] = i;
    }
    code[static_cast<unsigned char>('\n')] = base_skip;
    code[static_cast<unsigned char>('\r')] = base_skip;
  }
};
inline constexpr base_table bases{};

/// Scans a sequence that is fed in pieces and calls `emit(kmer)` for each k-mer; if `canonical`, with the smaller of
/// the k-mer and its reverse complement. Thread-bound.
template <class Emit>
class kmer_scanner {
 public:
  kmer_scanner(int k, bool canonical, Emit emit)
      : k_(k), canonical_(canonical), mask_((uint128{1} << 2 * k) - 1), top_shift_(2 * (k - 1)), emit_(emit) {}

  /// Starts a new sequence.
  void reset() { length_ = 0; }

  void feed(const char* text, size_t size) {
    for (size_t i = 0; i < size; ++i) feed(text[i]);
  }

  void feed(char c) {
    const int8_t code = bases.code[static_cast<unsigned char>(c)];
    if (code >= base_skip) {
      if (code == base_break) length_ = 0;
      return;
    }
    forward_ = (forward_ << 2 | static_cast<unsigned>(code)) & mask_;
    reverse_ = reverse_ >> 2 | uint128{3u - static_cast<unsigned>(code)} << top_shift_;
    if (++length_ < k_) return;
    length_ = k_;
    const uint128 bits = canonical_ && reverse_ < forward_ ? reverse_ : forward_;
    emit_(kmer{static_cast<uint64_t>(bits), static_cast<uint64_t>(bits >> 64)});
  }

 private:
  const int k_;
  const bool canonical_;
  const uint128 mask_;
  const int top_shift_;
  Emit emit_;
  int length_ = 0;  // bases since the last break, at most k
  uint128 forward_ = 0;
  uint128 reverse_ = 0;
};

}  // namespace kmer_count
