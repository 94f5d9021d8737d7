#include "network/tcp/outside/introduction.hpp"

#include <cstring>

namespace lci::network::outside {

namespace {

// The digit is the version of all that follows.
constexpr char of_hello[] = "LCIpeer1", of_challenge[] = "LCIpeer?", of_outcome[] = "LCIpeer!";
constexpr size_t magic_size = 8;

/// Appends fields in little-endian order.
class packer {
 public:
  explicit packer(const char* magic) : bytes_(magic, magic_size) {}
  template <class T>
  packer& number(T value) {
    for (size_t i = 0; i < sizeof value; ++i) bytes_ += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    return *this;
  }
  template <class T>
  packer& array(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(value.data()), value.size());
    return *this;
  }
  std::string filled_to(size_t size) {
    bytes_.resize(size, '\0');
    return bytes_;
  }

 private:
  std::string bytes_;
};

/// Reads fields in little-endian order. The caller has checked the size.
class unpacker {
 public:
  explicit unpacker(const std::string& bytes) : next_(bytes.data() + magic_size) {}
  template <class T>
  void number(T& value) {
    uint64_t wide = 0;
    for (size_t i = sizeof value; i-- > 0;) wide = wide << 8 | static_cast<unsigned char>(next_[i]);
    value = static_cast<T>(wide);
    next_ += sizeof value;
  }
  template <class T>
  void array(T& value) {
    std::memcpy(value.data(), next_, value.size());
    next_ += value.size();
  }

 private:
  const char* next_;
};

bool is(const std::string& bytes, const char* magic, size_t size) {
  return bytes.size() == size && bytes.compare(0, magic_size, magic, magic_size) == 0;
}

bool take(unpacker& from, verdict& what) {
  uint8_t number = 0;
  from.number(number);
  what = static_cast<verdict>(number);
  return what >= verdict::good && what <= verdict::other_network;
}

}  // namespace

std::string encode(const hello& m) {
  packer p(of_hello);
  p.number(static_cast<uint8_t>(m.what)).number(static_cast<uint8_t>(m.how)).number(m.device).number(m.largest);
  return p.array(m.fresh).array(m.token).number(m.host).number(m.network).filled_to(hello_size);
}

std::string encode(const challenge& m) {
  packer p(of_challenge);
  return p.number(static_cast<uint8_t>(m.what)).array(m.fresh).array(m.of_server).filled_to(challenge_size);
}

std::string encode(const proof& m) { return {reinterpret_cast<const char*>(m.data()), m.size()}; }

std::string encode(const outcome& m) {
  packer p(of_outcome);
  p.number(static_cast<uint8_t>(m.what)).number(m.largest).array(m.token).number(m.address_size);
  return p.filled_to(outcome_size);
}

bool decode(const std::string& bytes, hello& m) {
  if (!is(bytes, of_hello, hello_size)) return false;
  unpacker from(bytes);
  uint8_t what = 0, how = 0;
  from.number(what);
  from.number(how);
  from.number(m.device);
  from.number(m.largest);
  from.array(m.fresh);
  from.array(m.token);
  from.number(m.host);
  from.number(m.network);
  m.what = static_cast<purpose>(what);
  m.how = static_cast<auth>(how);
  const bool is_purpose = what == static_cast<uint8_t>(purpose::control) || what == static_cast<uint8_t>(purpose::link);
  return is_purpose && how <= static_cast<uint8_t>(auth::munge);
}

bool decode(const std::string& bytes, challenge& m) {
  if (!is(bytes, of_challenge, challenge_size)) return false;
  unpacker from(bytes);
  if (!take(from, m.what)) return false;
  from.array(m.fresh);
  from.array(m.of_server);
  return true;
}

bool decode(const std::string& bytes, proof& m) {
  if (bytes.size() != proof_size) return false;
  std::memcpy(m.data(), bytes.data(), m.size());
  return true;
}

bool decode(const std::string& bytes, outcome& m) {
  if (!is(bytes, of_outcome, outcome_size)) return false;
  unpacker from(bytes);
  if (!take(from, m.what)) return false;
  from.number(m.largest);
  from.array(m.token);
  from.number(m.address_size);
  return m.address_size <= longest_address;
}

const char* explain(verdict why) {
  switch (why) {
    case verdict::not_accepted:
      return "it does not accept connections; set LCI_ATTR_ACCEPT_EXTERNAL_PEERS=1 there";
    case verdict::full:
      return "it has no free peer ids; raise LCI_ATTR_MAX_PEERS there";
    case verdict::needs_key:
      return "it asks for a key; set LCI_ATTR_PEER_KEY_FILE here to a copy of its key file";
    case verdict::has_no_key:
      return "it has no key, but this runtime asks for one; set LCI_ATTR_PEER_KEY_FILE there, too";
    case verdict::wrong_key:
      return "its key is another one; both runtimes need copies of one key file (LCI_ATTR_PEER_KEY_FILE)";
    case verdict::needs_munge:
      return "it asks for munge; set LCI_ATTR_PEER_AUTH=munge here";
    case verdict::has_no_munge:
      return "it does not use munge, but this runtime does; set LCI_ATTR_PEER_AUTH=munge there, too";
    case verdict::wrong_user:
      return "munge does not confirm that it belongs to a user who may connect: another user runs it, whom "
             "LCI_ATTR_PEER_USERS does not name, or its munged has another key, or a clock that differs by minutes";
    case verdict::other_network:
      return "it listens there for peers over another network; use the URL that its LCI_ATTR_PEER_LISTEN has for it";
    default:
      break;
  }
  return "it does not know this connection any more";
}

}  // namespace lci::network::outside
