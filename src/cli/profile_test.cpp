#include "cli/profile.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "support/temp_dir.hpp"

namespace flowfabric::cli {
namespace {

std::string problem(const std::string& text) {
  const auto read = parse_profiles(text, "/folder");
  EXPECT_FALSE(read) << text;
  return read ? "" : read.error().message;
}

TEST(Profiles, AreStoresAndServers) {
  const test::TempDir folder;
  std::ofstream(folder.file("key")) << "secret\n";
  const auto profiles = parse_profiles(
      "[profiles.default]\nstore = 'sqlite:jobs.db'\n"
      "[profiles.far]\nserver = 'https://x'\napi_key_file = 'key'\nca_file = 'ca.pem'\n"
      "[profiles.near]\nserver = 'http://y'\napi_key = 'k'\nca_file = '/etc/ca.pem'\n",
      std::filesystem::path(folder.file("key")).parent_path());
  ASSERT_TRUE(profiles) << profiles.error().message;
  ASSERT_EQ(profiles->size(), 3u);
  EXPECT_EQ(profiles->at("default").url, "sqlite:jobs.db");
  EXPECT_EQ(profiles->at("far").url, "https://x");
  EXPECT_EQ(profiles->at("far").api_key, "secret");
  EXPECT_EQ(profiles->at("far").ca_file, folder.file("ca.pem"));
  EXPECT_EQ(profiles->at("near").api_key, "k");
  EXPECT_EQ(profiles->at("near").ca_file, "/etc/ca.pem");
  EXPECT_TRUE(parse_profiles("", "/folder")->empty());
}

TEST(Profiles, MistakesNameTheirLine) {
  EXPECT_EQ(problem("[profiles.a]\n\nstore = 1"), "line 3: profiles.a.store: must be a quoted string");
  EXPECT_TRUE(problem("store = 'x'").starts_with("line 1: store: unknown setting"));
  EXPECT_TRUE(problem("[profiles.a.b]\nstore = 'x'").starts_with("line 2: profiles.a.b.store: unknown setting"));
  EXPECT_TRUE(problem("[profiles.a]\nstroe = 'x'").starts_with("line 2: profiles.a.stroe: unknown setting"));
  EXPECT_TRUE(problem("[profiles.a]\nstore = 'x'\nserver = 'y'").starts_with("line 3: profiles.a.server: conflicts"));
  EXPECT_TRUE(problem("[profiles.a]\napi_key = ''").starts_with("line 2: profiles.a.api_key: is empty"));
  EXPECT_EQ(problem("[profiles.a]\napi_key_file = 'none'"),
            "line 2: profiles.a.api_key_file: cannot read /folder/none");
}

TEST(Profiles, AFileThatIsNotThereHasNone) {
  const test::TempDir folder;
  EXPECT_TRUE(read_profiles(folder.file("config.toml"))->empty());
  std::ofstream(folder.file("config.toml")) << "oops";
  EXPECT_TRUE(read_profiles(folder.file("config.toml")).error().message.starts_with(folder.file("config.toml") + ": "));
}

}  // namespace
}  // namespace flowfabric::cli
