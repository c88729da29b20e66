// The file format: a file made by hand, and every way in which one can be wrong.
#include "memory/crmem.h"

#include <gtest/gtest.h>

namespace reef::memory {
namespace {

// Written by hand from the RFC: a note with two aliases and an archive with an empty text.
const std::string kGolden =
    std::string("CRMEM\0", 6) + std::string("\x01\0\0\0", 4) + std::string("\0\0", 2) +
    std::string("\0\0\0\0", 4) + std::string("\x09\0\0\0\0\0\0\0", 8) +
    std::string("\x02\0\0\0", 4) +
    // the note
    std::string("\x02\0\0\0\0\0\0\0", 8) + std::string("\xd1\x15\xde\x69\0\0\0\0", 8) +
    std::string("\0\0\0\0", 4) + std::string("\x06\0\0\0", 4) + "deploy" +
    std::string("\x08\0\0\0", 4) +
    "gr\xc3\xbc\xc3\x9f"
    "e\n" +
    std::string("\x02\0\0\0", 4) + std::string("\x04\0\0\0", 4) + "ship" +
    std::string("\x07\0\0\0", 4) + "release" +
    // the archive
    std::string("\x08\x07\x06\x05\x04\x03\x02\x01", 8) + std::string("\0\0\0\0\0\0\0\0", 8) +
    std::string("\x01\0\0\0", 4) + std::string("\x0e\0\0\0", 4) + "crab-alice-1-1" +
    std::string("\0\0\0\0", 4) + std::string("\0\0\0\0", 4);

// Offsets of its fields.
constexpr std::size_t kCountAt = 24;
constexpr std::size_t kNoteAt = 28;
constexpr std::size_t kKindAt = kNoteAt + 16;
constexpr std::size_t kNameAt = kNoteAt + 20;
constexpr std::size_t kContentAt = kNameAt + 4 + 6;
constexpr std::size_t kAliasesAt = kContentAt + 4 + 8;
constexpr std::size_t kArchiveAt = kAliasesAt + 4 + 8 + 11;

std::string with(std::size_t at, std::string_view bytes) {
  auto out = kGolden;
  out.replace(at, bytes.size(), bytes);
  return out;
}

void expect_bad(const std::string& bytes, std::string_view why) {
  const auto contents = parse(bytes);
  ASSERT_FALSE(contents) << why;
  EXPECT_EQ(contents.error().code, Errc::corrupt);
  EXPECT_NE(contents.error().what.find("bad CRMEM format: byte "), std::string::npos)
      << contents.error().what;
  EXPECT_NE(contents.error().what.find(why), std::string::npos) << contents.error().what;
}

TEST(Crmem, AFileMadeByHandIsReadAndWrittenByteForByte) {
  const auto contents = parse(kGolden);
  ASSERT_TRUE(contents) << contents.error().what;
  EXPECT_EQ(contents->next_id, 9U);
  ASSERT_EQ(contents->entries.size(), 2U);
  const Entry note{2,
                   0x69de15d1,
                   Kind::note,
                   "deploy",
                   "gr\xc3\xbc\xc3\x9f"
                   "e\n",
                   {"ship", "release"}};
  EXPECT_EQ(*contents->entries[0], note);
  const Entry archive{0x0102030405060708, 0, Kind::archive, "crab-alice-1-1", "", {}};
  EXPECT_EQ(*contents->entries[1], archive);
  EXPECT_EQ(*serialize(*contents), kGolden);
  EXPECT_EQ(serialized_bytes(*contents), kGolden.size());
}

TEST(Crmem, AnEmptyMemoryIs28Bytes) {
  const auto bytes = *serialize(Contents{});
  EXPECT_EQ(bytes, kGolden.substr(0, 16) + std::string("\x01\0\0\0\0\0\0\0\0\0\0\0", 12));
  EXPECT_TRUE(*parse(bytes) == Contents{});
}

TEST(Crmem, TheHeaderIsChecked) {
  expect_bad("", "the file ends in the magic");
  expect_bad(with(0, "X"), "the magic is not CRMEM");
  expect_bad(with(5, "1"), "the magic is not CRMEM");
  expect_bad(with(6, "\x02"), "version 2");
  expect_bad(with(9, "\x01"), "version 16777217");
  expect_bad(with(10, "\x01"), "unknown flags 0x1");
  expect_bad(with(11, "\x80"), "unknown flags 0x8000");
  expect_bad(with(15, "\x01"), "the reserved bytes");
}

TEST(Crmem, EveryTruncationIsFound) {
  for (std::size_t size = 0; size < kGolden.size(); ++size) {
    const auto contents = parse(std::string_view(kGolden).substr(0, size));
    ASSERT_FALSE(contents) << size;
    EXPECT_EQ(contents.error().code, Errc::corrupt) << size;
  }
}

TEST(Crmem, KindsAreThoseThereAre) {
  EXPECT_EQ(parse(with(kKindAt, "\x02"))->entries[0]->kind, Kind::topic);
  expect_bad(with(kKindAt, "\x03"), "unknown kind 3");
  expect_bad(with(kKindAt + 3, "\x01"), "unknown kind 16777216");
}

TEST(Crmem, TextsAreValidUtf8) {
  expect_bad(with(kNameAt + 4, "\xff"), "its name is not valid UTF-8");
  expect_bad(with(kContentAt + 4, "\xc3\x28"), "its content is not valid UTF-8");
  expect_bad(with(kAliasesAt + 8, "\xed\xa0\x80"), "an alias is not valid UTF-8");
  // This length cuts a character in two.
  expect_bad(with(kContentAt, std::string("\x03\0\0\0", 4)), "its content is not valid UTF-8");
}

TEST(Crmem, LyingCountsAreFoundBeforeTheyAreBelieved) {
  const std::string huge("\xff\xff\xff\xff", 4);
  expect_bad(with(kCountAt, huge), "the number of entries is 4294967295");
  expect_bad(with(kNameAt, huge),
             "entry 1 of 2: bad CRMEM format: byte 52: the file ends in its name");
  expect_bad(with(kContentAt, huge), "the file ends in its content");
  expect_bad(with(kAliasesAt, huge), "its number of aliases is 4294967295");
  expect_bad(with(kAliasesAt + 4, huge), "the file ends in an alias");
  // With a count that is too low the rest would be lost at the next write, so the file is refused.
  expect_bad(with(kCountAt, "\x01"), "bytes follow the last entry");
  expect_bad(kGolden + '\0', "1 bytes follow the last entry");
}

TEST(Crmem, NothingIsThereTwice) {
  auto twin = kGolden.substr(kNoteAt, kArchiveAt - kNoteAt);
  auto bytes = with(kCountAt, "\x03") + twin;
  expect_bad(bytes, "entry 3 of 3: bad CRMEM format: byte 139: id 2 is there twice");
  bytes[kGolden.size()] = '\x03';
  expect_bad(bytes, "name 'deploy' is there twice");
}

// CrabTalk checks neither aliases nor the order, so its files may have either.
TEST(Crmem, ClashingAliasesAndAnyOrderAreRead) {
  auto twin = kGolden.substr(kNoteAt, kArchiveAt - kNoteAt);
  twin[0] = '\x01';
  twin[24] = 'D';
  const auto contents = parse(with(kCountAt, "\x03") + twin);
  ASSERT_TRUE(contents) << contents.error().what;
  EXPECT_EQ(contents->entries[0]->name, "Deploy");
  EXPECT_EQ(contents->find("ship")->name, "Deploy");
  EXPECT_EQ(contents->find("deploy")->id, 2U);
  EXPECT_EQ(contents->find("nothing"), nullptr);
}

TEST(Crmem, AFileKeepsTheOrderOfItsEntries) {
  const auto note = kGolden.substr(kNoteAt, kArchiveAt - kNoteAt);
  const auto shuffled = kGolden.substr(0, kNoteAt) + kGolden.substr(kArchiveAt) + note;
  auto contents = *parse(shuffled);
  EXPECT_TRUE(contents == *parse(kGolden)) << "in memory they are by id";
  EXPECT_EQ(*serialize(contents), shuffled);
  // A new entry is written last; a removed one leaves no gap.
  contents.entries.push_back(
      std::make_shared<const Entry>(Entry{99, 1, Kind::note, "new", "", {}}));
  contents.entries.erase(contents.entries.begin());
  std::vector<std::string> names;
  for (const auto& entry : in_file_order(*parse(*serialize(contents))))
    names.push_back(entry->name);
  EXPECT_EQ(names, (std::vector<std::string>{parse(kGolden)->entries[1]->name, "new"}));
}

}  // namespace
}  // namespace reef::memory
