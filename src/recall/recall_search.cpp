// Recall: answering searches.

#include <algorithm>
#include <fstream>
#include <map>
#include <tuple>
#include <unistd.h>

#include "base/log.h"
#include "recall/items.h"
#include "recall/ranking.h"
#include "recall/recall.h"

namespace reef::recall {
namespace {

// The mapped files, ours and the program's own, may keep this much resident.
constexpr std::size_t kMappedBytesMax = 112U << 20;
constexpr std::size_t kSearchesBetweenLooks = 16;
// A search that finds damage is repeated after the lost sessions were read again.
constexpr std::size_t kTriesMax = 3;

}  // namespace

void Recall::bound_memory() {
  if (++searches_done_ % kSearchesBetweenLooks != 0) return;
  std::ifstream in("/proc/self/statm");
  std::size_t all = 0, resident = 0, mapped = 0;
  if (in >> all >> resident >> mapped &&
      mapped * static_cast<std::size_t>(::getpagesize()) > kMappedBytesMax)
    index_->release_files();
}

Task<Status> Recall::wait_until_caught_up() {
  while (!loaded_ && !stopping_) co_await progress_.wait();
  if (!index_) co_return Error(Errc::unavailable, "the index could not be opened; see the log");
  std::vector<std::pair<session::SessionId, std::uint64_t>> wanted;
  const auto want = [&](const session::SessionId& id) {
    if (const auto* row = sessions_.find(id)) wanted.emplace_back(id, row->bytes);
  };
  for (const auto& id : behind_) want(id);
  for (const auto& id : busy_) want(id);
  struct Waiting {
    std::size_t& count;
    explicit Waiting(std::size_t& of) : count(of) { ++count; }
    ~Waiting() { --count; }
  } waiting(searches_waiting_);
  hurry_.notify_all();
  start_readers();
  for (;;) {
    std::erase_if(wanted, [this](const auto& one) {
      const auto group = index_->find_group(one.first.text());
      const bool there = group && index_->covered(*group) >= one.second;
      // A session that is neither waiting nor being read could not be read.
      return there || (!behind_.contains(one.first) && !busy_.contains(one.first));
    });
    if (wanted.empty()) co_return Ok{};
    co_await progress_.wait();
  }
}

namespace {

// Attributes with one value per session: of two conditions on them, either may hold.
bool has_one_value(std::string_view condition) {
  return condition == "agent" || condition == "sender" || condition == "key" ||
         condition == "status" || condition == "source";
}

// Returns the groups that may be searched; nullopt means all.
std::optional<search::GroupSet> groups_for(const session::Sessions& sessions,
                                           const search::Index& index, const Question& question,
                                           std::span<const RowTest> tests) {
  search::GroupSet set;
  const auto add = [&](const session::Row& row) {
    if (!std::all_of(tests.begin(), tests.end(), [&](const auto& test) { return test(row); }))
      return;
    if (const auto group = index.find_group(row.id.text())) set.add(*group);
  };
  if (!question.sessions.empty()) {
    for (const auto& id : question.sessions)
      if (const auto* row = sessions.find(id)) add(*row);
    return set;
  }
  if (tests.empty()) return std::nullopt;
  sessions.visit(add);
  return set;
}

// Builds the test for the question's conditions on single messages; empty when there are none.
std::function<bool(const search::DocumentRow&)> acceptance(const search::Index& index,
                                                           const Question& question,
                                                           const Ask& ask) {
  search::GroupSet excluded;
  const auto exclude = [&](const session::SessionId& id) {
    if (const auto group = index.find_group(id.text())) excluded.add(*group);
  };
  if (ask.exclude) exclude(*ask.exclude);
  for (const auto& id : question.not_sessions) exclude(id);
  if (excluded.members().empty() && question.roles.empty() && question.not_roles.empty()) return {};
  return [excluded = std::move(excluded), roles = question.roles,
          not_roles = question.not_roles](const search::DocumentRow& row) {
    if (excluded.has(row.group)) return false;
    const auto has = [role = role_in(row.facets)](const auto& in) {
      return std::find(in.begin(), in.end(), role) != in.end();
    };
    if (has(not_roles)) return false;
    if (roles.empty() || has(roles)) return true;
    // A tool call may stand in a message that also says something.
    return calls_in(row.facets) && std::find(roles.begin(), roles.end(), Role::tool) != roles.end();
  };
}

// The messages shown with a hit, at most kWindowMax including it. When one side has more than fits,
// the other side still gets up to half of the room.
struct Window {
  std::vector<search::Hit> before, after;
};
Window window_around(const search::Index& index, const search::Hit& hit, const Ask& ask) {
  constexpr auto kRoom = kWindowMax - 1;
  const auto all = index.neighbours(hit, std::min(ask.before, kRoom), std::min(ask.after, kRoom));
  const auto place =
      std::lower_bound(all.begin(), all.end(), hit.row.key,
                       [](const search::Hit& a, std::uint64_t key) { return a.row.key < key; });
  const auto there_before = static_cast<std::size_t>(place - all.begin());
  const auto there_after = all.size() - there_before;
  const auto before =
      std::min(there_before, std::max(kRoom / 2, kRoom - std::min(kRoom, there_after)));
  const auto after = std::min(there_after, kRoom - before);
  return {{place - static_cast<std::ptrdiff_t>(before), place},
          {place, place + static_cast<std::ptrdiff_t>(after)}};
}

// The lines that a page of hits shows, each once even if several windows contain it.
class Page {
 public:
  void add(const ItemLine& line, ItemPlace place) {
    order_.push_back({line.row.group, line.hit, line.row.key, wanted_.size()});
    wanted_.push_back(line);
    places_of_wanted_.push_back(place);
  }
  // Sorts by session and place. Call it before the functions below.
  void put_in_order() {
    const auto same = [](const Order& a, const Order& b) {
      return a.group == b.group && a.key == b.key && a.hit == b.hit;
    };
    std::sort(order_.begin(), order_.end(), [](const Order& a, const Order& b) {
      return std::tie(a.group, a.key, a.hit) < std::tie(b.group, b.key, b.hit);
    });
    places_.reserve(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (i == 0 || !same(order_[i - 1], order_[i])) {
        lines_.push_back(wanted_[order_[i].number]);
        firsts_.push_back(i);
      }
      places_.push_back(places_of_wanted_[order_[i].number]);
    }
    firsts_.push_back(order_.size());
  }
  const std::vector<ItemLine>& lines() const { return lines_; }
  std::span<const ItemPlace> places_of(std::size_t line) const {
    return std::span(places_).subspan(firsts_[line], firsts_[line + 1] - firsts_[line]);
  }

 private:
  struct Order {
    std::uint32_t group;
    bool hit;
    std::uint64_t key;
    std::size_t number;  // its index in wanted_
  };
  std::vector<Order> order_;
  std::vector<ItemLine> wanted_;
  std::vector<ItemPlace> places_of_wanted_;
  std::vector<ItemLine> lines_;
  std::vector<std::size_t> firsts_;  // index of each line's first place in places_
  std::vector<ItemPlace> places_;
};

}  // namespace

Task<Result<SearchResult>> Recall::search(Ask ask) {
  REEF_CO_CHECK(co_await wait_until_caught_up());
  helper_.call();
  struct Dismissing {
    Helper& helper;
    ~Dismissing() { helper.dismiss(); }
  } dismissing{helper_};
  auto question = parse_question(ask.query, ask.last_word_is_prefix);
  std::vector<RowTest> tests;
  if (ask.allowed) tests.push_back(ask.allowed);
  bool conditions = !question.roles.empty() || !question.not_roles.empty() || question.before ||
                    question.after || !question.sessions.empty() || !question.not_sessions.empty();
  std::map<std::string, std::vector<RowTest>> one_of;
  for (const auto& text : question.filters) {
    auto made = ask.filter ? ask.filter(text) : Error(Errc::invalid, "nobody knows these filters");
    if (!made) {
      look_for(question, text);
      continue;
    }
    conditions = true;
    if (const auto name = text.substr(0, text.find(':')); has_one_value(name))
      one_of[name].push_back(*std::move(made));
    else
      tests.push_back(*std::move(made));
  }
  for (auto& [name, any] : one_of)
    tests.emplace_back([any = std::move(any)](const session::Row& row) {
      return std::any_of(any.begin(), any.end(), [&](const auto& test) { return test(row); });
    });
  settle(question, conditions);
  const auto limit = std::clamp<std::size_t>(ask.limit, 1, kHitsMax);
  const auto wanted = ask.offset + limit;
  const auto words = question.words;
  Ranking ranking;
  for (std::size_t tries = 1;; ++tries) {
    question.words = words;
    auto searcher = index_->prepare_mended(question.words);
    searcher.use(helper_);
    const auto groups = groups_for(sessions_, *index_, question, tests);
    search::Filter filter;
    if (groups) filter.groups = &*groups;
    if (question.after) filter.time_from_ms = unix_millis(*question.after);
    if (question.before) filter.time_to_ms = unix_millis(*question.before);
    filter.accept = acceptance(*index_, question, ask);
    ranking = rank(*index_, searcher, question, filter, wanted, ask.by_session);
    bound_memory();
    if (!index_->damaged()) break;
    // A damaged file's answers cannot be trusted, so its sessions are read again and the search is
    // repeated.
    for (const auto& name : index_->drop_damaged()) {
      log::warn("index: session {} is read again: a file of the index was damaged", name);
      if (const auto id = session::SessionId::parse(name)) changed(*id, true);
    }
    if (tries == kTriesMax)
      co_return Error(Errc::unavailable,
                      "files of the index are damaged as soon as they are written; see the log");
    REEF_CO_CHECK(co_await wait_until_caught_up());
    helper_.call();
  }

  // Builds the page: the hits with their neighbours, read from the transcripts.
  SearchResult answer;
  answer.more = ranking.more;
  answer.hits.reserve(limit);  // so that lines can keep pointers into it
  Page page;
  for (auto i = ask.offset; i < std::min(ranking.hits.size(), wanted); ++i) {
    const auto& [hit, score] = ranking.hits[i];
    auto id = session::SessionId::parse(index_->group_name(hit.row.group));
    if (!id) continue;
    const auto window = window_around(*index_, hit, ask);
    auto& found = answer.hits.emplace_back(Found{*std::move(id), score});
    const auto add = [&](const search::DocumentRow& row, bool is_hit) {
      page.add(ItemLine{&found.session, row, is_hit}, {answer.hits.size() - 1, found.count++});
    };
    for (const auto& one : window.before) add(one.row, false);
    found.hit = found.count;
    add(hit.row, true);
    for (const auto& one : window.after) add(one.row, false);
    if (!ask.use_item) found.items.resize(found.count);
  }
  page.put_in_order();
  const auto meanwhile = [&] {
    if (ask.while_reading) ask.while_reading(answer);
  };
  const auto use = [&](std::size_t line, std::size_t stretch, Item& item) {
    const auto shown = page.places_of(line);
    if (page.lines()[line].hit) answer.hits[shown[0].hit].entry = item.entry;
    if (ask.use_item) return ask.use_item(stretch, shown, item);
    for (const auto& place : shown) answer.hits[place.hit].items[place.at] = item;
  };
  co_await read_each_item(transcripts_, page.lines(), question.words, kSnippetBytesMax, use,
                          meanwhile, &helper_);
  co_return answer;
}

Task<Result<Messages>> Recall::list_messages(session::SessionId id, std::uint64_t offset,
                                             std::size_t limit, std::size_t bytes_max) {
  if (!sessions_.find(id)) co_return session::no_session(id);
  REEF_CO_CHECK(co_await wait_until_caught_up());
  Messages out;
  std::vector<ItemLine> lines;
  if (const auto group = index_->find_group(id.text())) {
    auto documents = index_->documents_of(*group);
    std::erase_if(documents,
                  [](const search::Hit& hit) { return role_in(hit.row.facets) == Role::title; });
    out.total = documents.size();
    for (auto i = offset; i < documents.size() && i - offset < limit; ++i)
      lines.push_back(ItemLine{&id, documents[i].row, false});
  }
  out.items = co_await read_items(transcripts_, lines, {}, bytes_max);
  co_return out;
}

}  // namespace reef::recall
