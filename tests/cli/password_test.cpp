// A password for PostgreSQL need not stand on the command line: libpq finds it in a password file.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "cli/program.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::cli_test {
namespace {

// Speaks as much of PostgreSQL's protocol as it takes to be told a password.
class PasswordListener {
 public:
  PasswordListener() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    password_ = std::async(std::launch::async, [this] { return ask(); });
  }
  ~PasswordListener() { close(socket_); }

  int port() const { return port_; }
  std::string password() { return password_.get(); }

 private:
  static std::string receive(int client, std::size_t size) {
    std::string bytes(size, '\0');
    return recv(client, bytes.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size) ? bytes : "";
  }
  // The rest of a message after its length, which counts itself.
  static std::string receive_message(int client) {
    const std::string length = receive(client, 4);
    if (length.empty()) return "";
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(length[at])); };
    return receive(client, byte(2) * 256 + byte(3) - 4);
  }
  std::string ask() {
    const int client = accept(socket_, nullptr, nullptr);
    receive_message(client);                                  // who connects, and to what
    const char clear_text[] = {'R', 0, 0, 0, 8, 0, 0, 0, 3};  // AuthenticationCleartextPassword
    EXPECT_EQ(send(client, clear_text, sizeof clear_text, 0), static_cast<ssize_t>(sizeof clear_text));
    EXPECT_EQ(receive(client, 1), "p");
    std::string password = receive_message(client);
    close(client);
    return password.substr(0, password.find('\0'));
  }

  int socket_;
  int port_ = 0;
  std::future<std::string> password_;
};

TEST(Passwords, ComeFromAPasswordFile) {
  const test::TempDir folder;
  PasswordListener listener;
  const std::string port = std::to_string(listener.port());
  std::ofstream(folder.file("pgpass")) << "127.0.0.1:" << port << ":db:u:from-the-file\n";
  ASSERT_EQ(chmod(folder.file("pgpass").c_str(), 0600), 0);  // else libpq ignores it
  const std::string store = "postgres://u@127.0.0.1:" + port + "/db?sslmode=disable&gssencmode=disable";
  const Finished finished = run_program({"integrity", "--store", store}, {"PGPASSFILE=" + folder.file("pgpass")});
  EXPECT_NE(finished.code, 0) << "it is no PostgreSQL";
  EXPECT_EQ(listener.password(), "from-the-file");
  EXPECT_EQ((finished.out + finished.err).find("from-the-file"), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace flowfabric::cli_test
