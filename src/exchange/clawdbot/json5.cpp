#include <fmt/format.h>

#include "exchange/clawdbot/clawdbot.h"

namespace reef::exchange {
namespace {

class Rewriter {
 public:
  explicit Rewriter(std::string_view text) : text_(text) { out_.reserve(text.size()); }

  std::string run() {
    while (at_ < text_.size()) step();
    if (comma_) out_.push_back(',');
    return std::move(out_);
  }

 private:
  char next(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  // A comma is held back until it is known that something follows.
  void emit(std::string_view piece) {
    if (comma_) out_.push_back(',');
    comma_ = false;
    out_ += piece;
  }

  void step() {
    const char c = next();
    if (c == '/' && next(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && next(1) == '*') {
      const auto end = text_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? text_.size() : end + 2;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (c == ',') {
      if (comma_) out_.push_back(',');  // two in a row are an error and stay one
      comma_ = true;
      ++at_;
    } else if (c == '}' || c == ']') {
      comma_ = false;
      emit(text_.substr(at_++, 1));
    } else if (c == '"' || c == '\'') {
      string(c);
    } else if (is_name(c)) {
      name();
    } else if (c == '+' || c == '.') {
      // +1 and .5 are 1 and 0.5.
      if (c == '.') emit("0.");
      ++at_;
      if (c == '.') digits();
    } else {
      emit(text_.substr(at_++, 1));
      if (c == '-' || (c >= '0' && c <= '9')) digits();
    }
  }

  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  void digits() {
    while (is_digit(next()) || next() == '.' || next() == 'e' || next() == 'E' || next() == '-' ||
           next() == '+')
      emit(text_.substr(at_++, 1));
  }

  void name() {
    const auto start = at_;
    while (is_name(next()) || is_digit(next())) ++at_;
    const auto word = text_.substr(start, at_ - start);
    if (word == "true" || word == "false" || word == "null") {
      emit(word);
    } else if (word == "NaN" || word == "Infinity" || word == "undefined") {
      emit("null");
    } else {
      emit(fmt::format("\"{}\"", word));
    }
  }

  void string(char quote) {
    std::string piece = "\"";
    ++at_;
    while (at_ < text_.size() && next() != quote) {
      const char c = text_[at_++];
      if (c == '\\') {
        escape(piece);
      } else if (c == '"') {
        piece += "\\\"";
      } else if (static_cast<unsigned char>(c) < 0x20) {
        piece += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      } else {
        piece.push_back(c);
      }
    }
    if (at_ < text_.size()) {
      ++at_;
      piece.push_back('"');  // a string that never ends stays open
    }
    emit(piece);
  }

  void escape(std::string& piece) {
    if (at_ >= text_.size()) return;
    const char c = text_[at_++];
    constexpr std::string_view kSame = "\"\\/bfnrtu";
    if (kSame.find(c) != std::string_view::npos) {
      piece.push_back('\\');
      piece.push_back(c);
    } else if (c == '\r' || c == '\n') {
      if (c == '\r' && next() == '\n') ++at_;  // the line goes on
    } else if (c == '0') {
      piece += "\\u0000";
    } else if (c == 'v') {
      piece += "\\u000b";
    } else if (c == 'x' && at_ + 2 <= text_.size()) {
      piece += fmt::format("\\u00{}", text_.substr(at_, 2));
      at_ += 2;
    } else {
      piece.push_back(c);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  bool comma_ = false;
};

}  // namespace

std::string json_from_json5(std::string_view text) {
  return Rewriter(text).run();
}

}  // namespace reef::exchange
