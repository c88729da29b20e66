// What is written as bytes, against the generated code: a socket, a reader in this process and JSON
// say the same, whatever is found.
#include "server/search_answer.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>

#include "base/random.h"
#include "client/client.h"
#include "server/stage.h"
#include "transport/listener.h"

namespace reef::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using protocol::Encoded;

constexpr std::uint64_t kSeeds = 300;

std::string random_text(Random& random, std::size_t most) {
  static constexpr std::string_view kPieces[] = {"a",  "walnut", " ",    "\"",        "\\",
                                                 "\n", "\t",     "\x01", "\x7f",      "é",
                                                 "…",  "語",     "🦀",   "</script>", "0"};
  std::string out;
  for (auto pieces = random.below(most); pieces > 0; --pieces)
    out += kPieces[random.below(std::size(kPieces))];
  return out;
}

recall::Item random_item(Random& random) {
  recall::Item item;
  item.entry = random.hex(random.below(9));
  item.role = static_cast<recall::Role>(random.below(3));
  item.tool = random_text(random, 3);
  item.agent = random_text(random, 3);
  item.index = static_cast<std::uint32_t>(random.next() >> random.below(64));
  item.snippet = random_text(random, 200);
  for (auto matches = random.below(5); matches > 0; --matches)
    item.matches.emplace_back(static_cast<std::uint32_t>(random.next() >> random.below(64)),
                              static_cast<std::uint32_t>(random.below(300)));
  item.truncated = random.below(2) == 1;
  item.time = TimePoint(std::chrono::milliseconds(random.below(4'000'000'000'000)));
  return item;
}

// The slow way: an object, field by field.
void fill_slowly(protocol::FoundItem& out, const recall::Item& item) {
  out.set_entry(item.entry);
  out.set_role(std::string(name_of(item.role)));
  out.set_index(item.index);
  out.set_snippet(item.snippet);
  out.set_truncated(item.truncated);
  out.set_tool(item.tool);
  out.set_agent(item.agent);
  for (const auto& [begin, end] : item.matches) {
    out.add_matches(begin);
    out.add_matches(end);
  }
  out.set_time(format_iso(item.time));
}

struct Case {
  Encoded encoded;
  ServerMessage expected;
};

Case random_results(Random& random) {
  Case out;
  auto& expected = *out.expected.mutable_search_results();
  recall::SearchResult result;
  SearchAnswer answer;
  const auto hits = random.below(recall::kHitsMax + 1);
  std::size_t stretches = 0;
  for (std::size_t i = 0; i < hits; ++i) {
    auto id = session::SessionId::parse("260101-" + random.hex(5) + "-x");
    auto& found = result.hits.emplace_back(recall::Found{*id});
    found.entry = random.hex(random.below(9));
    found.score = random.below(4) == 0 ? 0
                                       : (static_cast<double>(random.next() >> 11) - 4.5e15) /
                                             static_cast<double>(1 + random.below(1'000'000'007));
    found.count = random.below(recall::kWindowMax + 1);
    found.hit = random.below(found.count + 1);
    // Some share their session, some have none any more.
    protocol::SessionRow row;
    row.set_id(found.session.text());
    row.set_details(random_text(random, 40));
    const auto gone = random.below(6) == 0;
    const auto shared = i > 0 && random.below(3) == 0 && expected.hits_size() > 0;
    auto hit = protocol::FoundHit();
    if (gone) {
      answer.add_session(i, row);
      answer.leave_out(i);
    } else if (shared) {
      // Of the last one that is told.
      *hit.mutable_session() = expected.hits(expected.hits_size() - 1).session();
      for (std::size_t with = i; with-- > 0;)
        if (result.hits[with].session.text() == hit.session().id()) answer.share_session(i, with);
      found.session = *session::SessionId::parse(hit.session().id());
    } else {
      answer.add_session(i, row);
      *hit.mutable_session() = row;
    }
    hit.set_entry(found.entry);
    hit.set_score(found.score);
    hit.set_hit(static_cast<std::uint32_t>(found.hit));
    for (std::size_t at = 0; at < found.count; ++at) {
      const auto item = random_item(random);
      fill_slowly(*hit.add_items(), item);
      const recall::ItemPlace place{i, at};
      // Several of one stretch come one after the other.
      if (at == 0 || random.below(3) == 0) ++stretches;
      answer.add(stretches - 1, std::span(&place, 1), item);
    }
    if (!gone) *expected.add_hits() = std::move(hit);
  }
  result.more = random.below(2) == 1;
  expected.set_more(result.more);
  const std::chrono::microseconds took(random.next() >> (1 + random.below(63)));
  expected.set_microseconds(static_cast<std::uint64_t>(took.count()));
  out.encoded = answer.encode(result, took);
  return out;
}

Case random_messages(Random& random) {
  Case out;
  auto& expected = *out.expected.mutable_message_list();
  std::vector<recall::Item> items(random.below(30));
  for (auto& item : items) {
    item = random_item(random);
    fill_slowly(*expected.add_items(), item);
  }
  expected.set_total(random.next() >> random.below(64));
  out.encoded = encode_messages(items, expected.total(), SIZE_MAX);
  return out;
}

// Every kind of message that is written as bytes; a new one needs a case here.
Case random_case(ServerMessage::MsgCase kind, Random& random) {
  switch (kind) {
    case ServerMessage::kSearchResults:
      return random_results(random);
    case ServerMessage::kMessageList:
      return random_messages(random);
    default:
      ADD_FAILURE() << "nothing is made of kind " << kind;
      return {};
  }
}

std::string json_of(const ServerMessage& message) {
  std::string out;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &out).ok());
  return out;
}

void expect_same(const ServerMessage& got, const ServerMessage& expected) {
  EXPECT_TRUE(got.GetReflection()->GetUnknownFields(got).empty());
  MessageDifferencer differencer;
  std::string how;
  differencer.ReportDifferencesToString(&how);
  EXPECT_TRUE(differencer.Compare(got, expected)) << how;
  const auto json = json_of(got);
  EXPECT_EQ(json, json_of(expected));
  ServerMessage back;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &back).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(back, expected));
}

Task<Result<Encoded>> given(Encoded encoded) {
  co_return std::move(encoded);
}

Task<Result<Encoded>> failed() {
  co_return Error(Errc::not_found, "there is no such thing");
}

// A node with a socket.
class SearchAnswerTest : public NodeTest {
 protected:
  void listen(transport::Handler handler) {
    listener = test::value_of(transport::Listener::listen_unix(
        io.get_executor(), folder / "s", std::move(handler), transport::Limits{}));
  }
  ~SearchAnswerTest() override {
    client.close();
    if (listener) test::run(io, listener->stop());
  }
  // What comes over the socket.
  Result<ServerMessage> fetch(ClientMessage message) {
    return test::run(io, client.request(std::move(message), client::Client::Repeat::never,
                                        std::chrono::seconds(10)));
  }
  // The id is the connection's, and how long it took is another matter each time.
  static ServerMessage plain(ServerMessage message) {
    message.clear_request_id();
    if (message.has_search_results()) message.mutable_search_results()->clear_microseconds();
    return message;
  }
  ServerMessage ask_here(const ClientMessage& message) { return plain(ask_one(message)); }
  ServerMessage ask_there(const ClientMessage& message) {
    return plain(test::value_of(fetch(message)));
  }

  std::unique_ptr<transport::Listener> listener;
  client::Client client{io.get_executor(), {.unix_path = folder / "s"}};
};

TEST_F(SearchAnswerTest, EveryReaderGetsWhatTheGeneratedCodeWouldWrite) {
  Case now;
  std::size_t asked = 0;
  listen([&](const protocol::Peer&, const ClientMessage& message) -> protocol::Answer {
    if (message.has_hello()) {
      ServerMessage hello;
      hello.mutable_hello();
      return protocol::answer_with(std::move(hello));
    }
    ++asked;
    return std::make_unique<protocol::EncodedAnswer>(given(now.encoded));
  });
  for (const auto kind : protocol::kWrittenAsBytes) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      SCOPED_TRACE(testing::Message() << "kind " << kind << ", seed " << seed);
      SeededRandom random(seed);
      now = random_case(kind, random);
      EXPECT_EQ(now.expected.msg_case(), kind);
      ClientMessage message;
      message.mutable_ping();
      auto there = test::value_of(fetch(message));
      EXPECT_TRUE(there.has_request_id());
      there.clear_request_id();
      expect_same(there, now.expected);
      protocol::EncodedAnswer answer(given(now.encoded));
      const auto here = test::run(io, answer.next());
      ASSERT_TRUE(here.has_value());
      expect_same(*here, now.expected);
      EXPECT_FALSE(test::run(io, answer.next()).has_value());
      // The same bytes, to the last one: nothing is written that need not be.
      const auto* field = ServerMessage::descriptor()->FindFieldByNumber(kind);
      const auto& variant = here->GetReflection()->GetMessage(*here, field);
      EXPECT_EQ(variant.ByteSizeLong(), now.encoded.bytes.size());
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(asked, kSeeds * protocol::kWrittenAsBytes.size());
}

TEST_F(SearchAnswerTest, AnErrorInItsPlaceIsAnError) {
  listen([](const protocol::Peer&, const ClientMessage& message) -> protocol::Answer {
    if (message.has_ping()) return std::make_unique<protocol::EncodedAnswer>(failed());
    ServerMessage hello;
    hello.mutable_hello();
    return protocol::answer_with(std::move(hello));
  });
  ClientMessage message;
  message.mutable_ping();
  const auto there = fetch(message);
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().code, Errc::not_found);
  protocol::EncodedAnswer answer(failed());
  EXPECT_EQ(test::run(io, answer.next())->error().code(), 404U);
  // Bytes that are not what they should be never reach a reader as something else.
  protocol::EncodedAnswer broken(given({ServerMessage::kMessageList, "\xff\xff\xff"}));
  EXPECT_EQ(test::run(io, broken.next())->error().code(), 500U);
}

TEST_F(SearchAnswerTest, AnAnswerThatDoesNotFitAFrameSaysSo) {
  std::vector<recall::Item> items(1);
  items[0].snippet = std::string(transport::kFramePayloadBytesMax, 'x');
  listen([&](const protocol::Peer&, const ClientMessage& message) -> protocol::Answer {
    if (message.has_ping())
      return std::make_unique<protocol::EncodedAnswer>(given(encode_messages(items, 1, SIZE_MAX)));
    ServerMessage hello;
    hello.mutable_hello();
    return protocol::answer_with(std::move(hello));
  });
  ClientMessage message;
  message.mutable_ping();
  const auto there = fetch(message);
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().code, Errc::too_large);
}

TEST_F(SearchAnswerTest, APageEndsWhereItsBytesDoAndHasAtLeastOneMessage) {
  SeededRandom random(7);
  std::vector<recall::Item> items(20);
  for (auto& item : items) item = random_item(random);
  const auto count = [&](std::size_t most) {
    return protocol::parse(encode_messages(items, 20, most)).message_list().items_size();
  };
  EXPECT_EQ(count(0), 1);
  EXPECT_EQ(count(SIZE_MAX), 20);
  const auto bytes = encode_messages(items, 20, SIZE_MAX).bytes.size();
  const auto half = count(bytes / 2);
  EXPECT_GT(half, 1);
  EXPECT_LT(half, 20);
  EXPECT_LE(encode_messages(items, 20, bytes / 2).bytes.size(), bytes / 2 + 3);
}

// The operations themselves, over sessions with texts that are cut in the middle of everything.
TEST_F(SearchAnswerTest, SearchesAndPagesAreTheSameInThisProcessAndOverASocket) {
  listen([this](const protocol::Peer& from, ClientMessage message) {
    return dispatch(node, from, std::move(message));
  });
  SeededRandom random(23);
  std::vector<std::string> ids;
  for (int number = 0; number < 12; ++number) {
    ClientMessage message;
    auto& words = *message.mutable_send();
    words.set_sender("s" + std::to_string(number % 5));
    words.set_content("walnut " + random_text(random, 2000) + " walnut harbour");
    ids.push_back(ask_one(message).response().session_id());
    ASSERT_FALSE(ids.back().empty());
  }
  std::size_t items = 0;
  for (const std::string query :
       {"walnut", "harbour role:user", "\"walnut harbour\"", "nothing-of-the-kind", "wal*"}) {
    for (const bool by_session : {false, true}) {
      ClientMessage message;
      message.mutable_search_sessions()->set_query(query);
      message.mutable_search_sessions()->set_limit(20);
      message.mutable_search_sessions()->set_by_session(by_session);
      const auto here = ask_here(message);
      ASSERT_TRUE(here.has_search_results()) << here.ShortDebugString();
      expect_same(ask_there(message), here);
      for (const auto& hit : here.search_results().hits())
        items += static_cast<std::size_t>(hit.items_size());
    }
  }
  EXPECT_GT(items, 50U);
  for (const auto& id : ids) {
    ClientMessage message;
    message.mutable_list_messages()->set_id(id);
    const auto here = ask_here(message);
    ASSERT_GE(here.message_list().items_size(), 2) << here.ShortDebugString();
    EXPECT_EQ(here.message_list().items(1).agent(), "reef");
    expect_same(ask_there(message), here);
  }
}

}  // namespace
}  // namespace reef::server
