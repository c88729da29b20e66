#include "model/base_url.h"

#include <gtest/gtest.h>

namespace reef::model {
namespace {

TEST(BaseUrl, AKeyGoesOutOnlyEncryptedWhereNoSchemeWasGiven) {
  const auto url = [](std::string_view text) { return base_url_from(text, {}); };
  EXPECT_EQ(url("localhost:11434"), "http://localhost:11434");
  EXPECT_EQ(url("172.20.0.5:8000/v1"), "http://172.20.0.5:8000/v1");
  EXPECT_EQ(url("[::1]:8000"), "http://[::1]:8000");
  EXPECT_EQ(url("localhost.example.org/v1"), "https://localhost.example.org/v1");
  EXPECT_EQ(url("10.example.com/v1"), "https://10.example.com/v1");
}

}  // namespace
}  // namespace reef::model
