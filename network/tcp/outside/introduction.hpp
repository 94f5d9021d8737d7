// The handshake of a connection to a peer outside of the job. The connecting side sends a hello; the accepting side
// sends a challenge, which proves that it knows the key; the connecting side sends its proof; the accepting side sends
// the outcome. With munge a credential follows the challenge, and another one replaces the proof. All messages have a
// fixed size, except for the address in an outcome. Neither side reads more bytes before it has checked the proof.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "network/tcp/outside/credentials.hpp"

namespace lci::network::outside {

/// The purpose of a socket.
enum class purpose : uint8_t {
  control = 1,  ///< the first one of two contexts: it lasts as long as they are connected, and carries the close
                ///< notification
  link,         ///< messages between two devices
};

struct hello {
  purpose what = purpose::control;
  auth how = auth::none;  ///< how the sender proves who it is
  uint16_t device = 0;    ///< link: the number of the devices
  uint32_t largest = 0;   ///< bytes of the longest message that the sender sends
  nonce fresh{};
  nonce token{};  ///< control: the identity of the sender's context; link: the token of the control socket's outcome
  uint64_t host = 0;     ///< control: identifies the host of the sender's shared memory; 0: do not use shared memory
  uint64_t network = 0;  ///< the provider of libfabric over which links go; 0: TCP
};

/// The outcome that the accepting side sends.
enum class verdict : uint8_t {
  good = 1,
  near,  ///< both are on one host: connect to the shared-memory address instead
  self,  ///< the listener is the sender itself
  // Refusals.
  not_accepted,
  full,
  needs_key,
  has_no_key,
  wrong_key,
  unknown,  ///< link: the connection has ended
  needs_munge,
  has_no_munge,
  wrong_user,
  other_network,  ///< the listener's URL has another provider
};

struct challenge {
  verdict what = verdict::good;
  nonce fresh{};
  proof of_server{};
};

struct outcome {
  verdict what = verdict::good;
  uint32_t largest = 0;
  nonce token{};
  uint16_t address_size = 0;  ///< near: the bytes that follow
};

constexpr size_t hello_size = 64, challenge_size = 64, proof_size = 32, outcome_size = 32, longest_address = 512;

std::string encode(const hello& m);
std::string encode(const challenge& m);
std::string encode(const proof& m);
std::string encode(const outcome& m);
/// Returns false if it was not sent by this version of the library. `bytes` has the message's size.
bool decode(const std::string& bytes, hello& m);
bool decode(const std::string& bytes, challenge& m);
bool decode(const std::string& bytes, proof& m);
bool decode(const std::string& bytes, outcome& m);

/// The text by which the connecting side reports a refusal: the reason and the remedy.
const char* explain(verdict why);

// Roles of proofs.
inline constexpr const char* server_role = "LCI peer, accepting";
inline constexpr const char* client_role = "LCI peer, connecting";

}  // namespace lci::network::outside
