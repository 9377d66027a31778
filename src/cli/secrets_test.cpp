#include "cli/secrets.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "support/temp_dir.hpp"

namespace flowfabric::cli {
namespace {

TEST(Secrets, AreMaskedInUrls) {
  const std::pair<const char*, const char*> cases[] = {
      {"postgres://u:secret@h/db", "postgres://u:***@h/db"},
      {"postgres://u:se:cr@et@h:5432,i:5433/db?x=1", "postgres://u:***@h:5432,i:5433/db?x=1"},
      {"postgresql://u:secret@/db", "postgresql://u:***@/db"},
      {"postgres://u@h/db?password=secret&schema=s", "postgres://u@h/db?password=***&schema=s"},
      {"postgres://u@h/db?schema=s&sslpassword=secret", "postgres://u@h/db?schema=s&sslpassword=***"},
      {"postgres://h/db?user=u&password=secret", "postgres://h/db?user=u&password=***"},
      {"https://u:secret@host:7070", "https://u:***@host:7070"},
  };
  for (const auto& [url, masked] : cases) {
    EXPECT_EQ(without_secrets(url), masked);
    EXPECT_TRUE(has_secrets(url)) << url;
  }
  for (const char* url : {"", "sqlite:jobs.db", "sqlite:/a:b@c/jobs.db", "memory:", "postgres://u@h:5432/db",
                          "postgres://h:5432/a@b", "http://127.0.0.1:7070"}) {
    EXPECT_EQ(without_secrets(url), url);
    EXPECT_FALSE(has_secrets(url)) << url;
  }
}

TEST(Secrets, AreReadFromAFile) {
  const test::TempDir folder;
  std::ofstream(folder.file("key")) << "ff_abc \r\n\n";
  EXPECT_EQ(read_secret_file(folder.file("key")), "ff_abc");
  std::ofstream(folder.file("blank")) << "\n";
  const auto blank = read_secret_file(folder.file("blank"));
  ASSERT_FALSE(blank);
  EXPECT_NE(blank.error().message.find("is empty"), std::string::npos);
  const auto directory = read_secret_file(folder.file(""));
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message.find("is a directory"), std::string::npos);
  EXPECT_FALSE(read_secret_file(folder.file("missing")));
  std::ofstream(folder.file("nothing")).flush();
  EXPECT_EQ(read_text_file(folder.file("nothing")), "");
}

}  // namespace
}  // namespace flowfabric::cli
