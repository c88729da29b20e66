#include "http/host.h"

#include <gtest/gtest.h>

namespace reef::http {
namespace {

TEST(Host, IsFoundInAUrl) {
  EXPECT_EQ(host_in("https://User:pw@Model.Example:8443/v1?x#y"), "model.example");
  EXPECT_EQ(host_in("localhost:11434"), "localhost");
  EXPECT_EQ(host_in("http://[::1]:80/"), "::1");
  EXPECT_EQ(host_in("[::1"), "::1");
  EXPECT_EQ(host_in("http://[]"), "");
  EXPECT_EQ(host_in(""), "");
}

TEST(Host, OnlyThisMachineIsLoopback) {
  for (const auto* here : {"localhost", "api.localhost", "127.0.0.1", "127.8.9.1", "::1"})
    EXPECT_TRUE(is_loopback_host(here)) << here;
  for (const auto* far : {"localhost.example.org", "localhostile.org", "127.example.org",
                          "10.0.0.1", "127.0.0.1.example.org", "", "::2"})
    EXPECT_FALSE(is_loopback_host(far)) << far;
}

TEST(Host, PrivateNetworksAreInner) {
  for (const auto* near : {"10.1.2.3", "192.168.1.5", "172.16.0.9", "172.31.0.9", "169.254.1.1",
                           "0.0.0.0", "fd00::1", "fe80::1", "2130706433", "localhost"})
    EXPECT_TRUE(is_inner_host(near)) << near;
  for (const auto* far : {"10.example.com", "192.168.example.com", "172.32.0.1", "8.8.8.8",
                          "2001:db8::1", "api.example.com", "localhost.example.org"})
    EXPECT_FALSE(is_inner_host(far)) << far;
}

}  // namespace
}  // namespace reef::http
