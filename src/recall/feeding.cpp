#include "recall/feeding.h"

#include <algorithm>
#include <list>

namespace reef::recall {

void feed(const Read& read, std::uint32_t group, std::uint32_t ordinal, const AddDocument& add) {
  const auto& said = read.said;
  if (said.parts.empty()) return;
  // A field takes one text, so the parts before and after a call are joined.
  std::vector<search::FieldText> fields;
  std::list<std::string> joined;
  for (const auto& part : said.parts) {
    const auto field = static_cast<std::uint8_t>(part.field);
    const auto same = std::find_if(fields.begin(), fields.end(),
                                   [&](const auto& one) { return one.field == field; });
    if (same == fields.end())
      fields.push_back(search::FieldText{field, part.text});
    else
      same->text = joined.emplace_back(std::string(same->text) + "\n" + part.text);
  }
  const auto speaker = said.role == Role::user || said.role == Role::assistant
                           ? speaker_of(said.parts.front().text)
                           : 0;
  search::DocumentRow row;
  row.group = group;
  row.key = Place{read.offset, ordinal}.key();
  row.time_ms = read.time.time_since_epoch().count();
  row.facets = facets_of(said, speaker);
  add(row, fields);
}

std::uint32_t feed_all(const std::vector<Read>& reads, std::uint32_t group,
                       const AddDocument& add) {
  const Read* title = nullptr;
  std::uint32_t ordinal = 0;
  std::uint32_t title_ordinal = 0;
  for (const auto& read : reads) {
    if (read.said.role == Role::title) {
      title = &read;
      title_ordinal = ordinal;
    } else if (!read.said.parts.empty()) {
      feed(read, group, ordinal++, add);
    }
  }
  if (title) feed(*title, group, title_ordinal, add);
  return ordinal;
}

}  // namespace reef::recall
