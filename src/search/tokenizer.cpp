#include "search/tokenizer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <utf8proc.h>

namespace reef::search {
namespace {

enum Class : std::uint8_t { kNone, kLower, kUpper, kDigit, kUnderscore, kHigh };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> out{};
  for (int c = 'a'; c <= 'z'; ++c) out[static_cast<std::size_t>(c)] = kLower;
  for (int c = 'A'; c <= 'Z'; ++c) out[static_cast<std::size_t>(c)] = kUpper;
  for (int c = '0'; c <= '9'; ++c) out[static_cast<std::size_t>(c)] = kDigit;
  out['_'] = kUnderscore;
  for (std::size_t c = 0x80; c < 256; ++c) out[c] = kHigh;
  return out;
}
constexpr auto kClasses = make_classes();

std::uint8_t class_at(std::string_view text, std::size_t i) {
  return i < text.size() ? kClasses[static_cast<std::uint8_t>(text[i])] : std::uint8_t{kNone};
}

bool is_letter(std::uint8_t c) {
  return c == kLower || c == kUpper;
}

// How a character outside ASCII is treated.
enum class Script : std::uint8_t { separator, word, pairs, symbol, ignored };

struct Decoded {
  std::int32_t point = -1;
  std::size_t size = 1;
};

Decoded decode(std::string_view text, std::size_t i) {
  Decoded out;
  utf8proc_int32_t point = -1;
  const auto* from = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + i;
  const auto left = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size() - i, 4));
  const auto size = utf8proc_iterate(from, left, &point);
  if (size <= 0) return out;
  out.point = point;
  out.size = static_cast<std::size_t>(size);
  return out;
}

bool in(std::int32_t c, std::int32_t low, std::int32_t high) {
  return c >= low && c <= high;
}

// Scripts that are written without spaces.
bool is_paired(std::int32_t c) {
  if (c < 0x0E00) return false;
  return in(c, 0x0E00, 0x0EFF) ||                           // Thai, Lao
         in(c, 0x1000, 0x109F) || in(c, 0x1780, 0x17FF) ||  // Myanmar, Khmer
         in(c, 0x1100, 0x11FF) || in(c, 0xAC00, 0xD7A3) ||  // Hangul
         in(c, 0x3005, 0x3007) || in(c, 0x3041, 0x30FF) ||  // kana
         in(c, 0x31F0, 0x31FF) || in(c, 0xFF66, 0xFF9F) ||  //
         in(c, 0x3400, 0x4DBF) || in(c, 0x4E00, 0x9FFF) ||  // Han
         in(c, 0xF900, 0xFAFF) || in(c, 0x20000, 0x323AF);
}

Script script_of(std::int32_t c) {
  if (c < 0) return Script::separator;
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return is_paired(c) ? Script::pairs : Script::word;
    case UTF8PROC_CATEGORY_SO:
      return Script::symbol;
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_ME:
      return Script::ignored;
    default:
      return Script::separator;
  }
}

// True for the accents of Latin, Greek and Cyrillic letters, and for the points that Hebrew and
// Arabic mostly omit; these are dropped. The vowel signs of other scripts are letters.
bool is_accent(std::int32_t c) {
  return in(c, 0x0300, 0x036F) || in(c, 0xFE00, 0xFE0F) ||                              //
         in(c, 0x0591, 0x05BD) || c == 0x05BF || in(c, 0x05C1, 0x05C2) ||               // Hebrew
         in(c, 0x05C4, 0x05C5) || c == 0x05C7 ||                                        //
         in(c, 0x0610, 0x061A) || in(c, 0x064B, 0x065F) || c == 0x0670 || c == 0x0640;  // Arabic
}

// Letters whose stroke or ligature is not an accent to Unicode but is to people who type without
// it.
std::string_view plain_letter(std::int32_t c) {
  switch (c) {
    case 0x00E6:
      return "ae";
    case 0x00F0:
    case 0x0111:
      return "d";
    case 0x00F8:
      return "o";
    case 0x00FE:
      return "th";
    case 0x0127:
      return "h";
    case 0x0131:
      return "i";
    case 0x0142:
      return "l";
    case 0x0153:
      return "oe";
    case 0x0167:
      return "t";
    default:
      return {};
  }
}

void fold_point(std::int32_t point, std::string& out) {
  std::array<utf8proc_int32_t, 24> points{};
  int boundary = 0;
  auto n = utf8proc_decompose_char(
      point, points.data(), static_cast<utf8proc_ssize_t>(points.size()),
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD),
      &boundary);
  if (n <= 0 || n > static_cast<utf8proc_ssize_t>(points.size())) {
    points[0] = point;
    n = 1;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    if (is_accent(points[i])) continue;
    if (const auto plain = plain_letter(points[i]); !plain.empty()) {
      out += plain;
      continue;
    }
    utf8proc_uint8_t buffer[4];
    const auto size = utf8proc_encode_char(points[i], buffer);
    out.append(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(size));
  }
}

// Two-byte characters are most of the non-ASCII characters in European texts, so their folding is
// precomputed.
struct Small {
  Script script = Script::separator;
  std::uint8_t size = 0;
  char bytes[14] = {};
};
constexpr std::int32_t kSmallEnd = 0x800;

const std::vector<Small>& small_table() {
  static const auto table = [] {
    std::vector<Small> out(kSmallEnd);
    std::string folded;
    for (std::int32_t c = 0x80; c < kSmallEnd; ++c) {
      auto& entry = out[static_cast<std::size_t>(c)];
      entry.script = script_of(c);
      folded.clear();
      fold_point(c, folded);
      entry.size = static_cast<std::uint8_t>(std::min(folded.size(), sizeof entry.bytes));
      std::memcpy(entry.bytes, folded.data(), entry.size);
    }
    return out;
  }();
  return table;
}

Script script_at(const Decoded& c) {
  if (c.point >= 0x80 && c.point < kSmallEnd)
    return small_table()[static_cast<std::size_t>(c.point)].script;
  return script_of(c.point);
}

// For scripts without spaces: only width and compatibility forms are folded.
void fold_paired(const Decoded& c, std::string_view bytes, std::string& out) {
  if (c.point >= 0xF900 && c.point < 0x20000)
    fold_point(c.point, out);
  else
    out.append(bytes);
}

void fold(std::int32_t point, std::string& out) {
  if (point >= 0x80 && point < kSmallEnd) {
    const auto& entry = small_table()[static_cast<std::size_t>(point)];
    out.append(entry.bytes, entry.size);
    return;
  }
  fold_point(point, out);
}

bool starts_word(std::string_view text, std::size_t i) {
  const auto c = class_at(text, i);
  if (c == kHigh) return script_at(decode(text, i)) == Script::word;
  return c != kNone;
}

// Returns the length of the joiner at `i` that makes two runs a compound; 0 when there is none.
std::size_t joiner_at(std::string_view text, std::size_t i) {
  if (i >= text.size()) return 0;
  switch (text[i]) {
    case '.':
    case '-':
    case '/':
    case '@':
    case '\\':
      return starts_word(text, i + 1) ? 1 : 0;
    case ':':
      return i + 1 < text.size() && text[i + 1] == ':' && starts_word(text, i + 2) ? 2 : 0;
    default:
      return 0;
  }
}

// Returns the length of the apostrophe at `i`; 0 when there is none.
std::size_t apostrophe_at(std::string_view text, std::size_t i) {
  if (i >= text.size()) return 0;
  if (text[i] == '\'') return 1;
  return text.substr(i, 3) == "\xE2\x80\x99" ? 3 : 0;
}

// Returns the length of the longest prefix that does not cut a character.
std::size_t cut_size(std::string_view bytes) {
  if (bytes.size() <= kTermBytesMax) return bytes.size();
  auto size = kTermBytesMax;
  while (size > 0 && (static_cast<std::uint8_t>(bytes[size]) & 0xC0) == 0x80) --size;
  return size;
}

}  // namespace

const std::vector<Token>& Tokenizer::tokenize(std::string_view text) {
  tokens_.clear();
  bytes_.clear();
  words_ = 0;
  text = text.substr(0, UINT32_MAX / 2);
  std::size_t i = 0;
  while (i < text.size()) {
    const auto c = kClasses[static_cast<std::uint8_t>(text[i])];
    if (c == kNone) {
      ++i;
      continue;
    }
    if (words_ >= kWordsMax) break;
    if (c != kHigh) {
      scan_compound(text, i);
      continue;
    }
    const auto high = decode(text, i);
    switch (script_at(high)) {
      case Script::word:
        scan_compound(text, i);
        break;
      case Script::pairs:
        scan_pairs(text, i);
        break;
      case Script::symbol: {
        const auto at = static_cast<std::uint32_t>(bytes_.size());
        bytes_.append(text, i, high.size);
        emit(Token::Kind::word, at, high.size, static_cast<std::uint32_t>(i),
             static_cast<std::uint32_t>(i + high.size), words_++, false);
        i += high.size;
        break;
      }
      case Script::separator:
      case Script::ignored:
        i += high.size;
        break;
    }
  }
  stopped_ = i;
  return tokens_;
}

void Tokenizer::emit(Token::Kind kind, std::uint32_t at, std::size_t size, std::uint32_t begin,
                     std::uint32_t end, std::uint32_t position, bool joined) {
  auto& token = tokens_.emplace_back();
  token.at = at;
  token.size = static_cast<std::uint16_t>(cut_size({bytes_.data() + at, size}));
  token.begin = begin;
  token.end = end;
  token.position = position;
  token.kind = kind;
  token.joined = joined;
}

// Emits pairs of neighbours, and the last character by itself, so that every character begins a
// term.
void Tokenizer::scan_pairs(std::string_view text, std::size_t& i) {
  auto at = bytes_.size();
  auto begin = i;
  auto first = decode(text, i);
  fold_paired(first, text.substr(i, first.size), bytes_);
  i += first.size;
  while (words_ < kWordsMax) {
    const auto second_at = bytes_.size();
    const auto second_begin = i;
    bool more = false;
    if (i < text.size()) {
      const auto second = decode(text, i);
      if (script_at(second) == Script::pairs) {
        fold_paired(second, text.substr(i, second.size), bytes_);
        i += second.size;
        more = true;
      }
    }
    if (bytes_.size() > at) {
      emit(Token::Kind::word, static_cast<std::uint32_t>(at), bytes_.size() - at,
           static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(i), words_++, false);
      tokens_.back().pair = true;
    }
    if (!more) return;
    // The next pair starts with the second character, which is in place already.
    at = second_at;
    begin = second_begin;
  }
}

// Reads letters, digits and underscores into `run` and cuts_; false when nothing of them remains.
bool Tokenizer::scan_run(std::string_view text, std::size_t& i, Run& run) {
  cuts_.clear();
  const auto start = bytes_.size();
  run.begin = static_cast<std::uint32_t>(i);
  std::uint8_t before = kNone;
  bool underscores = false;
  std::uint32_t letter_digit = 0;
  bool digit_letter = false;
  bool time_stamp = false;
  const auto cut = [&] { cuts_.push_back(static_cast<std::uint32_t>(bytes_.size() - start)); };
  while (i < text.size()) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    auto c = kClasses[byte];
    if (c == kLower) {
      if (before == kDigit) digit_letter = true;
      // Most words consist of lower-case letters only.
      auto end = i + 1;
      while (class_at(text, end) == kLower) ++end;
      bytes_.append(text, i, end - i);
      i = end;
    } else if (c == kUpper) {
      // "02T10" in a time stamp is two numbers.
      if (before == kDigit && byte == 'T' && bytes_.size() - start <= 2 && !digit_letter &&
          class_at(text, i + 1) == kDigit) {
        time_stamp = true;
        break;
      }
      if (before == kDigit) digit_letter = true;
      if (before == kLower || (before == kUpper && class_at(text, i + 1) == kLower)) cut();
      bytes_.push_back(static_cast<char>(byte | 0x20));
      ++i;
    } else if (c == kDigit) {
      if (is_letter(before)) {
        if (letter_digit == 0) letter_digit = static_cast<std::uint32_t>(bytes_.size() - start);
      }
      bytes_.push_back(static_cast<char>(byte));
      ++i;
    } else if (c == kUnderscore) {
      underscores = true;
      bytes_.push_back('_');
      cut();
      ++i;
    } else if (c == kHigh) {
      const auto high = decode(text, i);
      const auto script = script_at(high);
      if (script == Script::word) {
        fold(high.point, bytes_);
        c = kLower;
      } else if (script == Script::ignored) {
        c = before;
      } else if (const auto quote = apostrophe_at(text, i);
                 quote == 0 || !is_letter(before) || !is_letter(class_at(text, i + quote))) {
        break;
      } else {
        c = kNone;
      }
      if (c != kNone) i += high.size;
    } else if (byte != '\'' || !is_letter(before) || !is_letter(class_at(text, i + 1))) {
      break;
    } else {
      c = kNone;
    }
    if (c == kNone) {
      // For an apostrophe between letters: the endings 's 'll 're 've 'd 'm are dropped, "n't" is
      // joined.
      const auto quote = apostrophe_at(text, i);
      const auto rest = i + quote;
      auto end = rest;
      while (is_letter(class_at(text, end))) ++end;
      const auto lower = [&](std::size_t n) {
        return static_cast<char>(static_cast<std::uint8_t>(text[rest + n]) | 0x20);
      };
      const auto size = end - rest;
      const bool ending =
          (size == 1 && (lower(0) == 's' || lower(0) == 'd' || lower(0) == 'm')) ||
          (size == 2 && ((lower(0) == 'l' && lower(1) == 'l') ||
                         ((lower(0) == 'r' || lower(0) == 'v') && lower(1) == 'e')));
      i = ending ? end : rest;
      if (ending) break;
      before = kLower;
      continue;
    }
    before = c;
  }
  run.end = static_cast<std::uint32_t>(i);
  if (time_stamp) ++i;
  auto size = bytes_.size() - start;
  std::size_t front = 0;
  if (underscores) {
    while (size > 0 && bytes_[start + size - 1] == '_') --size;
    while (front < size && bytes_[start + front] == '_') ++front;
  }
  // Splits "python3" and "sha256" into a name and a number; hex digests and the like stay whole.
  // From "E0382", "v2" and "0x80070005" only the number becomes a part.
  constexpr std::size_t kCodeDigitsMin = 3;
  run.bare = false;
  if (letter_digit > front && !digit_letter && cuts_.empty()) {
    run.bare = letter_digit == front + 1;
    if (!run.bare || bytes_[start + front] == 'v' || size - letter_digit >= kCodeDigitsMin)
      cuts_.push_back(letter_digit);
  } else if (size > 2 + kCodeDigitsMin && cuts_.empty() && bytes_.compare(start, 2, "0x") == 0) {
    run.bare = true;
    cuts_.push_back(2);
  }
  run.at = static_cast<std::uint32_t>(start + front);
  run.size = static_cast<std::uint32_t>(size - front);
  for (auto& at : cuts_) at = at > front ? at - static_cast<std::uint32_t>(front) : 0;
  return run.size > 0;
}

void Tokenizer::emit_run(const Run& run, bool joined) {
  emit(Token::Kind::word, run.at, run.size, run.begin, run.end, words_, joined);
  if (!cuts_.empty() && run.size <= 2 * kTermBytesMax) {
    std::uint32_t from = 0;
    cuts_.push_back(run.size);
    for (auto to : cuts_) {
      to = std::min(to, run.size);
      auto size = to > from ? to - from : 0;
      while (size > 0 && bytes_[run.at + from + size - 1] == '_') --size;
      if (size > 0 && size < run.size && !(run.bare && from == 0))
        emit(Token::Kind::part, run.at + from, size, run.begin, run.end, words_, joined);
      from = std::max(from, to);
    }
  }
  ++words_;
}

void Tokenizer::scan_compound(std::string_view text, std::size_t& i) {
  Run run;
  const auto first_token = tokens_.size();
  const auto first_position = words_;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::size_t runs = 0;
  std::size_t base_run = 0;  // the first run after the last slash
  std::uint32_t base_position = 0;
  std::uint32_t base_begin = 0;
  compound_runs_.clear();
  for (;;) {
    if (scan_run(text, i, run)) {
      if (runs == 0) begin = run.begin;
      if (base_run == runs) {
        base_position = words_;
        base_begin = run.begin;
      }
      emit_run(run, false);
      auto& piece = compound_runs_.emplace_back();
      piece.at = run.at;
      piece.size = static_cast<std::uint16_t>(std::min<std::uint32_t>(run.size, 0xFFFF));
      piece.begin = run.end;
      end = run.end;
      ++runs;
    } else if (i == run.begin) {
      ++i;  // the run was only a mark that folds to nothing
    }
    if (words_ >= kWordsMax) break;
    const auto join = joiner_at(text, i);
    if (join == 0) break;
    const bool slash = text[i] == '/' || text[i] == '\\';
    if (!compound_runs_.empty()) compound_runs_.back().end = static_cast<std::uint32_t>(i);
    i += join;
    if (slash) base_run = runs;
  }
  // c++, c#, f#
  if (runs == 1 && end - begin == 1) {
    const auto letter = bytes_[compound_runs_[0].at];
    std::string_view tail;
    if (text.substr(i, 2) == "++")
      tail = "++";
    else if (text.substr(i, 1) == "#" && (letter == 'c' || letter == 'f'))
      tail = "#";
    if (!tail.empty() && !starts_word(text, i + tail.size())) {
      const auto at = static_cast<std::uint32_t>(bytes_.size());
      bytes_.push_back(letter);
      bytes_.append(tail);
      i += tail.size();
      emit(Token::Kind::whole, at, 1 + tail.size(), begin, static_cast<std::uint32_t>(i),
           first_position, false);
      tokens_[first_token].joined = true;
    }
    return;
  }
  if (runs < 2) return;
  const auto append_whole = [&](std::size_t from, std::uint32_t position, std::uint32_t starts) {
    std::size_t size = 0;
    for (auto n = from; n < runs; ++n) size += compound_runs_[n].size + 2U;
    if (size > kTermBytesMax + 2) return;
    const auto at = static_cast<std::uint32_t>(bytes_.size());
    for (auto n = from; n < runs; ++n) {
      const auto& piece = compound_runs_[n];
      bytes_.append(bytes_, piece.at, piece.size);
      if (n + 1 == runs) break;
      const char joiner = text[piece.end];
      if (joiner == ':') bytes_.push_back(':');
      bytes_.push_back(joiner == '\\' ? '/' : joiner);
    }
    if (bytes_.size() - at > kTermBytesMax) return;
    emit(Token::Kind::whole, at, bytes_.size() - at, starts, end, position, false);
    for (auto n = first_token; n < tokens_.size(); ++n)
      if (tokens_[n].kind != Token::Kind::whole && tokens_[n].position >= position)
        tokens_[n].joined = true;
  };
  append_whole(0, first_position, begin);
  if (base_run > 0 && base_run + 1 < runs) append_whole(base_run, base_position, base_begin);
}

}  // namespace reef::search
