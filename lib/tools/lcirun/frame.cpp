#include "lib/tools/lcirun/frame.hpp"

namespace lci::launcher {

bool frame_buffer::next(frame_t& type, std::string_view& fields) {
  if (bad_) return false;
  const std::string_view rest = std::string_view(bytes_).substr(begin_);
  if (rest.size() >= frame_header) {
    size_t size = 0;
    for (size_t i = 4; i-- > 0;) size = size << 8 | static_cast<unsigned char>(rest[i]);
    const auto kind = static_cast<unsigned char>(rest[4]);
    bad_ = size > most_ || kind < uint8_t(frame_t::setup) || kind > uint8_t(frame_t::last);
    if (bad_) return false;
    if (rest.size() >= frame_header + size) {
      type = frame_t(kind);
      fields = rest.substr(frame_header, size);
      begin_ += frame_header + size;
      return true;
    }
  }
  // Frames returned earlier are no longer in use.
  bytes_.erase(0, begin_);
  begin_ = 0;
  return false;
}

}  // namespace lci::launcher
