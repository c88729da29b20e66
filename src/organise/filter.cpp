#include "organise/filter.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::organise {
namespace {

constexpr std::size_t kTermsMax = 256;
using Field = Term::Field;

struct Named {
  std::string_view name;
  Field field;
};
constexpr Named kColonFields[] = {
    {"status", Field::status}, {"label", Field::label},   {"is", Field::flagged},
    {"agent", Field::agent},   {"sender", Field::sender}, {"key", Field::key},
    {"source", Field::source}, {"model", Field::model},   {"title", Field::words},
    {"before", Field::before}, {"after", Field::after}};
constexpr Named kCompareFields[] = {{"idle", Field::idle},
                                    {"age", Field::age},
                                    {"messages", Field::messages},
                                    {"tokens", Field::tokens},
                                    {"cost", Field::cost}};
constexpr Named kFlags[] = {{"flagged", Field::flagged},
                            {"archived", Field::archived},
                            {"unread", Field::unread},
                            {"imported", Field::imported}};

template <std::size_t N>
std::optional<Field> find_named(const Named (&names)[N], std::string_view name) {
  for (const auto& named : names)
    if (named.name == name) return named.field;
  return std::nullopt;
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool ends_word(char c) {
  return is_space(c) || c == '(' || c == ')' || c == '"';
}
bool is_compare(char c) {
  return c == '<' || c == '>' || c == '=';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Filter> parse() {
    skip_space();
    if (at_end()) return Filter{};
    REEF_TRY(auto filter, any());
    if (!at_end()) return wrong("the end, OR or another term");
    return filter;
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  void skip_space() {
    while (!at_end() && is_space(text_[at_])) ++at_;
  }

  // Converts a byte offset to a place, in characters from 1.
  std::size_t place(std::size_t at) const {
    std::size_t count = 1;
    for (const char c : text_.substr(0, at))
      if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++count;
    return count;
  }

  Error wrong_at(std::size_t at, std::string_view why) const {
    return Error(Errc::invalid, fmt::format("filter, at {}: {}", place(at), why));
  }
  Error wrong(std::string_view expected) const {
    const auto rest = text_.substr(std::min(at_, text_.size()));
    return wrong_at(at_,
                    fmt::format("expected {}, found {}", expected,
                                rest.empty() ? "the end" : "'" + utf8::excerpt(rest, 20) + "'"));
  }

  // True when this operator stands here as a whole word.
  bool stands_here(std::string_view word) const {
    if (!text_.substr(at_).starts_with(word)) return false;
    const auto end = at_ + word.size();
    return end >= text_.size() || ends_word(text_[end]);
  }

  Result<Filter> any() {
    Filter out;
    out.kind = Filter::Kind::any;
    for (;;) {
      REEF_TRY(auto part, all());
      out.parts.push_back(std::move(part));
      if (!stands_here("OR")) break;
      at_ += 2;
      skip_space();
    }
    if (out.parts.size() == 1) return Filter(std::move(out.parts[0]));
    return out;
  }

  Result<Filter> all() {
    Filter out;
    while (!at_end() && peek() != ')' && !stands_here("OR")) {
      REEF_TRY(auto part, one());
      out.parts.push_back(std::move(part));
      skip_space();
    }
    if (out.parts.empty()) return wrong("a term");
    if (out.parts.size() == 1) return Filter(std::move(out.parts[0]));
    return out;
  }

  Result<Filter> one() {
    if (++depth_ > kFilterDepthMax)
      return wrong_at(at_, fmt::format("more than {} levels deep", kFilterDepthMax));
    auto out = one_at_depth();
    --depth_;
    return out;
  }

  Result<Filter> one_at_depth() {
    Filter out;
    if (peek() == '-') {
      ++at_;
      if (at_end() || is_space(peek())) return wrong("a term right after '-'");
      REEF_TRY(auto part, one());
      out.kind = Filter::Kind::no;
      out.parts.push_back(std::move(part));
      return out;
    }
    if (peek() == '(') {
      ++at_;
      skip_space();
      REEF_TRY(out, any());
      if (peek() != ')') return wrong("')'");
      ++at_;
      return out;
    }
    if (stands_here("AND"))
      return wrong_at(at_, "terms stand side by side, without AND; quote the word to look for it");
    if (++terms_ > kTermsMax) return wrong_at(at_, fmt::format("more than {} terms", kTermsMax));
    out.kind = Filter::Kind::term;
    out.term.place = place(at_);
    REEF_CHECK(term(out.term));
    return out;
  }

  Status term(Term& out) {
    if (peek() == '"') {
      REEF_TRY(auto words, text());
      return take_words(out, words);
    }
    const auto begin = at_;
    std::size_t end = at_;
    while (end < text_.size() && !ends_word(text_[end]) && text_[end] != ':' &&
           !is_compare(text_[end]))
      ++end;
    const auto name = text_.substr(begin, end - begin);
    const char sign = end < text_.size() ? text_[end] : '\0';
    if (sign == ':') {
      const auto field = find_named(kColonFields, name);
      if (!field) return unknown(begin, name);
      out.field = *field;
      at_ = end + 1;
      return colon_term(out, name);
    }
    if (is_compare(sign)) {
      const auto field = find_named(kCompareFields, name);
      if (!field) return unknown(begin, name);
      out.field = *field;
      at_ = end;
      return compare_term(out);
    }
    REEF_TRY(auto words, text());
    return take_words(out, words);
  }

  Status unknown(std::size_t at, std::string_view name) const {
    std::string known;
    for (const auto& named : kColonFields)
      known += fmt::format("{}{}:", known.empty() ? "" : " ", named.name);
    for (const auto& named : kCompareFields) known += fmt::format(" {}>", named.name);
    return wrong_at(at, fmt::format("no field '{}'; there are: {}; in quotes it is looked for",
                                    utf8::excerpt(name), known));
  }

  static Status take_words(Term& out, std::string_view words) {
    out.field = Field::words;
    out.texts.push_back(utf8::lower_ascii(words));
    return Ok{};
  }

  Status colon_term(Term& out, std::string_view name) {
    const auto begin = at_;
    switch (out.field) {
      case Field::status:
        REEF_CHECK(ids(out, "a status, open or closed"));
        if (!at_end() && !ends_word(peek())) return wrong("',' or a space");
        return Ok{};
      case Field::label:
        return label(out);
      case Field::flagged: {
        REEF_TRY(const auto flag, text("flagged, archived, unread or imported"));
        const auto field = find_named(kFlags, flag);
        if (!field) {
          at_ = begin;
          return wrong("flagged, archived, unread or imported");
        }
        out.field = *field;
        return Ok{};
      }
      case Field::before:
      case Field::after: {
        REEF_TRY(const auto date, text("a date like 2026-01-31"));
        const auto time = date_from(date);
        if (!time) {
          at_ = begin;
          return wrong("a date like 2026-01-31");
        }
        out.time = *time;
        return Ok{};
      }
      default: {
        REEF_TRY(auto value, text(fmt::format("a text after {}:", name)));
        if (out.field == Field::words) value = utf8::lower_ascii(value);
        out.texts.push_back(std::move(value));
        return Ok{};
      }
    }
  }

  Status ids(Term& out, std::string_view expected) {
    for (;;) {
      const auto begin = at_;
      while (!at_end() && !ends_word(peek()) && peek() != ',' && peek() != ':' &&
             !is_compare(peek()))
        ++at_;
      const auto id = text_.substr(begin, at_ - begin);
      if (id.empty()) return wrong(expected);
      out.texts.emplace_back(id);
      if (peek() != ',') return Ok{};
      ++at_;
    }
  }

  Status label(Term& out) {
    REEF_CHECK(ids(out, "a label"));
    if (at_end() || ends_word(peek())) return Ok{};
    const auto sign = at_;
    if (text_.substr(at_).starts_with("::")) {
      at_ += 2;
      out.compare = Compare::equal;
    } else if (is_compare(peek())) {
      REEF_TRY(out.compare, compare());
    } else {
      return wrong("a comparison (= < <= > >=)");
    }
    if (out.texts.size() > 1) return wrong_at(sign, "only one label can be compared");
    REEF_TRY(out.value, text("a value to compare with"));
    return Ok{};
  }

  Result<Compare> compare() {
    const char first = peek();
    ++at_;
    const bool or_equal = peek() == '=';
    if (first == '=') return Compare::equal;
    if (or_equal) ++at_;
    if (first == '<') return or_equal ? Compare::at_most : Compare::less;
    return or_equal ? Compare::at_least : Compare::more;
  }

  Status compare_term(Term& out) {
    REEF_TRY(out.compare, compare());
    const auto begin = at_;
    const bool time = out.field == Field::idle || out.field == Field::age;
    const std::string_view expected = time ? "a time like 30m, 12h, 3d or 2w" : "a number";
    REEF_TRY(const auto value, text(expected));
    if (time && out.compare == Compare::equal)
      return wrong_at(begin - 1, "a time is compared by < or >");
    if (time) {
      const auto span = span_from(value);
      if (span) out.span = *span;
      if (span) return Ok{};
    } else if (const auto number = number_from(value)) {
      out.number = *number;
      return Ok{};
    }
    at_ = begin;
    return wrong(expected);
  }

  static std::optional<std::chrono::milliseconds> span_from(std::string_view text) {
    if (text.size() < 2) return std::nullopt;
    const auto number = number_from(text.substr(0, text.size() - 1));
    if (!number || *number < 0) return std::nullopt;
    double minutes = 0;
    switch (text.back()) {
      case 'm':
        minutes = 1;
        break;
      case 'h':
        minutes = 60;
        break;
      case 'd':
        minutes = 24 * 60;
        break;
      case 'w':
        minutes = 7 * 24 * 60;
        break;
      default:
        return std::nullopt;
    }
    // A thousand years suffice.
    constexpr double kMinutesMax = 1000.0 * 366 * 24 * 60;
    if (*number > kMinutesMax / minutes) return std::nullopt;
    return std::chrono::milliseconds(static_cast<std::int64_t>(*number * minutes * 60'000));
  }

  // Reads a quoted text (\" and \\ inside), or all up to the next space, quote or parenthesis.
  Result<std::string> text(std::string_view expected = "a word") {
    std::string out;
    if (peek() != '"') {
      const auto begin = at_;
      while (!at_end() && !ends_word(peek())) ++at_;
      out = std::string(text_.substr(begin, at_ - begin));
      if (out.empty()) return wrong(expected);
      return out;
    }
    const auto begin = at_++;
    for (;;) {
      if (at_end()) return wrong_at(begin, "the quote is not closed");
      const char c = text_[at_++];
      if (c == '"') break;
      if (c == '\\' && (peek() == '"' || peek() == '\\')) {
        out.push_back(text_[at_++]);
      } else {
        out.push_back(c);
      }
    }
    if (out.empty()) return wrong_at(begin, fmt::format("expected {}, found nothing", expected));
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::size_t terms_ = 0;
};

template <class T>
bool compares(Compare compare, const T& left, const T& right) {
  switch (compare) {
    case Compare::none:
      return true;
    case Compare::equal:
      return left == right;
    case Compare::less:
      return left < right;
    case Compare::at_most:
      return left <= right;
    case Compare::more:
      return left > right;
    case Compare::at_least:
      return left >= right;
  }
  return false;
}

// `wanted` is in lower case.
bool contains(std::string_view text, std::string_view wanted) {
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  return std::search(text.begin(), text.end(), wanted.begin(), wanted.end(), same) != text.end();
}

// Returns the type for comparing a label's values: the label's own type, or, if it has none, the
// one that `wanted` looks like.
ValueType type_for(const Labels& labels, std::string_view id, std::string_view wanted) {
  const auto* label = labels.find(id);
  if (label && label->type != ValueType::none) return label->type;
  if (number_from(wanted)) return ValueType::number;
  return date_from(wanted) ? ValueType::date : ValueType::text;
}

bool value_compares(const Term& term, const Labels& labels, std::string_view value) {
  switch (type_for(labels, term.texts[0], term.value)) {
    case ValueType::number: {
      const auto left = number_from(value);
      const auto right = number_from(term.value);
      return left && right && compares(term.compare, *left, *right);
    }
    case ValueType::date: {
      const auto left = date_from(value);
      const auto right = date_from(term.value);
      return left && right && compares(term.compare, *left, *right);
    }
    default:
      return compares(term.compare, value, std::string_view(term.value));
  }
}

bool label_holds(const Term& term, const session::Row& row, const Labels& labels) {
  const auto* entries = json::find_array(row.meta, "labels");
  if (!entries) return false;
  for (const auto& entry : *entries) {
    if (!entry.is_string()) continue;
    const auto [id, value] = split_entry(std::string_view(entry.get_string()));
    if (term.compare != Compare::none) {
      if (id == term.texts[0] && value && value_compares(term, labels, *value)) return true;
      continue;
    }
    for (const auto& wanted : term.texts)
      if (labels.is_within(id, wanted)) return true;
  }
  return false;
}

bool status_holds(const Term& term, const session::Row& row, const Statuses& statuses) {
  const auto shown = statuses.shown(row.text("sessionStatus"));
  const auto* status = statuses.find(shown);
  const bool closed = status && status->closed;
  return std::any_of(term.texts.begin(), term.texts.end(), [&](const std::string& wanted) {
    if (wanted == "open") return !closed;
    if (wanted == "closed") return closed;
    return shown == wanted;
  });
}

bool model_holds(const std::string& wanted, const session::Row& row) {
  if (row.text("modelOverride") == wanted) return true;
  for (const auto& [model, totals] : row.usage_by_model) {
    if (model == wanted) return true;
    // A filter may name provider/model by its second half alone.
    const auto slash = model.find('/');
    if (slash != std::string::npos && std::string_view(model).substr(slash + 1) == wanted)
      return true;
  }
  return false;
}

bool term_holds(const Term& term, const session::Row& row, const Look& look) {
  switch (term.field) {
    case Field::status:
      return status_holds(term, row, look.statuses);
    case Field::label:
      return label_holds(term, row, look.labels);
    case Field::flagged:
      return row.flag("isFlagged");
    case Field::archived:
      return row.flag("isArchived");
    case Field::unread:
      return row.flag("hasUnread");
    case Field::imported:
      return !row.text("source").empty() && row.text("source") != "native";
    case Field::agent:
      return row.agent() == term.texts[0];
    case Field::sender:
      return row.sender() == term.texts[0];
    case Field::key:
      return row.key() == term.texts[0];
    case Field::source:
      return row.text("source") == term.texts[0];
    case Field::model:
      return model_holds(term.texts[0], row);
    case Field::words:
      return contains(row.name(), term.texts[0]) || contains(row.preview, term.texts[0]);
    case Field::idle:
      return compares(term.compare, look.now - row.updated, term.span);
    case Field::age:
      return compares(term.compare, look.now - row.created, term.span);
    case Field::before:
      return row.updated < term.time;
    case Field::after:
      return row.updated >= term.time;
    case Field::messages:
      return compares(term.compare, static_cast<double>(row.message_count), term.number);
    case Field::tokens: {
      const auto& usage = row.usage;
      const auto total = usage.input + usage.output + usage.cache_read + usage.cache_write;
      return compares(term.compare, static_cast<double>(total), term.number);
    }
    case Field::cost:
      return compares(term.compare, row.usage.cost, term.number);
  }
  return false;
}

Status check_term(const Term& term, const Statuses& statuses, const Labels& labels) {
  const auto wrong = [&](std::string_view why) {
    return Error(Errc::invalid, fmt::format("filter, at {}: {}", term.place, why));
  };
  if (term.field == Field::status) {
    for (const auto& id : term.texts) {
      if (id == "open" || id == "closed") continue;
      if (const auto known = statuses.check(id); !known) return wrong(known.error().what);
    }
  }
  if (term.field == Field::label && term.compare != Compare::none) {
    const auto* label = labels.find(term.texts[0]);
    if (label && label->type == ValueType::none)
      return wrong(fmt::format("label '{}' has no values to compare", label->id));
    if (label && !is_of_type(label->type, term.value))
      return wrong(fmt::format("label '{}' is a {}, '{}' is not", label->id, name_of(label->type),
                               utf8::excerpt(term.value)));
  }
  return Ok{};
}

}  // namespace

Result<Filter> parse_filter(std::string_view text) {
  if (text.size() > kFilterBytesMax)
    return Error(Errc::invalid, fmt::format("a filter has at most {} bytes, this one {}",
                                            kFilterBytesMax, text.size()));
  if (!utf8::valid(text)) return Error(Errc::invalid, "the filter is not valid UTF-8");
  return Parser(text).parse();
}

Status check_filter(const Filter& filter, const Statuses& statuses, const Labels& labels) {
  if (filter.kind == Filter::Kind::term) return check_term(filter.term, statuses, labels);
  for (const auto& part : filter.parts) REEF_CHECK(check_filter(part, statuses, labels));
  return Ok{};
}

bool has_label(const session::Row& row, std::string_view wanted, const Labels& labels) {
  const auto* entries = json::find_array(row.meta, "labels");
  if (!entries) return false;
  const bool exactly = split_entry(wanted).value.has_value();
  return std::any_of(entries->begin(), entries->end(), [&](const json::value& entry) {
    if (!entry.is_string()) return false;
    const std::string_view text = entry.get_string();
    return exactly ? text == wanted : labels.is_within(split_entry(text).id, wanted);
  });
}

bool holds(const Filter& filter, const session::Row& row, const Look& look) {
  const auto part_holds = [&](const Filter& part) { return holds(part, row, look); };
  switch (filter.kind) {
    case Filter::Kind::all:
      return std::all_of(filter.parts.begin(), filter.parts.end(), part_holds);
    case Filter::Kind::any:
      return std::any_of(filter.parts.begin(), filter.parts.end(), part_holds);
    case Filter::Kind::no:
      return std::none_of(filter.parts.begin(), filter.parts.end(), part_holds);
    case Filter::Kind::term:
      return term_holds(filter.term, row, look);
  }
  return false;
}

}  // namespace reef::organise
