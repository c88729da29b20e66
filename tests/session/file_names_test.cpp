#include "session/file_names.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace reef::session {
namespace {

using namespace std::string_literals;

TEST(FileNames, AreKeptAsFarAsTheyCanBe) {
  EXPECT_EQ(file_name_from("report.pdf"), "report.pdf");
  EXPECT_EQ(file_name_from("Übersicht 2026.pdf"), "Übersicht 2026.pdf");
  EXPECT_EQ(file_name_from(".bashrc"), ".bashrc");
  EXPECT_EQ(file_name_from("../../etc/passwd"), "passwd");
  EXPECT_EQ(file_name_from("/"), "file");
  EXPECT_EQ(file_name_from(""), "file");
  EXPECT_EQ(file_name_from("."), "file");
  EXPECT_EQ(file_name_from("a/.."), "file");
  EXPECT_EQ(file_name_from("a\0b\nc"s), "a_b_c");
  EXPECT_EQ(file_name_from("a\xff"), "a\xef\xbf\xbd");
}

TEST(FileNames, LongOnesKeepTheirEnding) {
  const auto name = file_name_from(std::string(10'240, 'x') + ".tar");
  EXPECT_EQ(name.size(), 240U);
  EXPECT_TRUE(name.ends_with(".tar"));
  std::string wide;
  for (int i = 0; i < 300; ++i) wide += "ü";
  EXPECT_TRUE(utf8::valid(file_name_from(wide)));
  EXPECT_LE(file_name_from("x." + wide).size(), 240U);
}

TEST(FileNames, NumbersStandBeforeTheEnding) {
  EXPECT_EQ(numbered_file_name("a.txt", 1), "a.txt");
  EXPECT_EQ(numbered_file_name("a.txt", 2), "a-2.txt");
  EXPECT_EQ(numbered_file_name("a", 3), "a-3");
  EXPECT_EQ(numbered_file_name(".bashrc", 2), ".bashrc-2");
}

TEST(FileNames, PathsNeverLeadOut) {
  EXPECT_EQ(*split_file_path("data/a/b.csv"), (std::vector<std::string>{"data", "a", "b.csv"}));
  for (const auto& path : {"", "/", "data", "data/", "/data/x", "data//x", "data/../x", "../data/x",
                           "data/./x", "data/x/..", "session.jsonl", "other/x"})
    EXPECT_FALSE(split_file_path(path)) << path;
  EXPECT_FALSE(split_file_path("data/a\0b"s));
  EXPECT_FALSE(split_file_path("data/" + std::string(256, 'x')));
  EXPECT_FALSE(split_file_path("data/" + std::string(10'240, '/')));
}

TEST(FileNames, TypesComeFromTheBytesThenFromTheEnding) {
  EXPECT_EQ(file_type("photo.txt", "\x89PNG\r\n\x1a\nrest"), "image/png");
  EXPECT_EQ(file_type("x", "%PDF-1.7"), "application/pdf");
  EXPECT_EQ(file_type("x.docx", "PK\x03\x04"),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document");
  EXPECT_EQ(file_type("x.bin", "PK\x03\x04"), "application/zip");
  EXPECT_EQ(file_type("X.CSV", "a,b\n"), "text/csv");
  EXPECT_EQ(file_type("notes", "plain words, ü"), "text/plain");
  EXPECT_EQ(file_type("notes", "cut in a character \xc3"), "text/plain");
  EXPECT_EQ(file_type("x", "\0\1\2"s), "application/octet-stream");
  EXPECT_EQ(file_type("x", ""), "text/plain");
}

}  // namespace
}  // namespace reef::session
