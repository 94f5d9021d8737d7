// Comma-separated lists of tags.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lct {

class tag_list {
 public:
  /// Null means that no list is given.
  explicit tag_list(const char* text) : given_(text != nullptr) {
    std::string tag;
    for (const char* c = given_ ? text : "";; ++c) {
      if (*c != ',' && *c != '\0') {
        if (*c != ' ') tag += *c;
        continue;
      }
      if (!tag.empty()) tags_.push_back(std::move(tag));
      tag.clear();
      if (*c == '\0') break;
    }
  }
  bool is_given() const { return given_; }
  bool has(const char* tag) const {
    for (const std::string& t : tags_)
      if (t == tag) return true;
    return false;
  }

 private:
  bool given_;
  std::vector<std::string> tags_;
};

}  // namespace lct
