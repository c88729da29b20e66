// The filter language: any text must be parsed or refused, and a parsed filter must obey the laws
// of the language: (x) is x, -(x) is the opposite, x OR x and x x are x.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "organise/filter.h"

using namespace reef;
using namespace reef::organise;

namespace {

session::Row make_one(const char* meta) {
  session::Row row(*session::SessionId::parse("260101-a-b"));
  row.meta = json::parse(meta)->as_object();
  row.preview = "a preview with Words";
  row.message_count = 3;
  row.updated = row.created = TimePoint(std::chrono::milliseconds(1'767'323'046'000));
  row.usage_by_model["p/m"] = {};
  return row;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const session::Row rows[] = {
      make_one("{}"),
      make_one(R"({"labels":["code","n::2","d::2026-01-31","s::x","gone::1",5],"isFlagged":true,
                  "sessionStatus":"done","agent":"a","name":"Title","source":"craft"})")};
  static const Statuses statuses({{"todo", "", false, "", ""}, {"done", "", true, "", ""}});
  static const Labels labels({{"top", "", "", ValueType::none, ""},
                              {"code", "", "top", ValueType::none, ""},
                              {"n", "", "", ValueType::number, ""},
                              {"d", "", "", ValueType::date, ""},
                              {"s", "", "", ValueType::text, ""}},
                             {});
  const Look look{statuses, labels, TimePoint(std::chrono::milliseconds(1'767'423'046'000))};

  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto filter = parse_filter(text);
  if (!filter) {
    REEF_ASSERT(!filter.error().what.empty() && filter.error().what.size() < 1000);
    return 0;
  }
  static_cast<void>(check_filter(*filter, statuses, labels).ok());
  // A filter that becomes too deep or too long may be refused; then there is nothing to compare.
  const auto same = [&](const std::string& other, bool opposite) {
    const auto parsed = parse_filter(other);
    if (!parsed) return;
    for (const auto& row : rows)
      REEF_ASSERT(holds(*parsed, row, look) == (holds(*filter, row, look) != opposite));
  };
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return 0;
  same("(" + text + ")", false);
  same("-(" + text + ")", true);
  same("(" + text + ") OR (" + text + ")", false);
  same("(" + text + ") " + "(" + text + ")", false);
  return 0;
}
