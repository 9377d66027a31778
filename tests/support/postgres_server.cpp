#include "support/postgres_server.hpp"

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "support/free_port.hpp"
#include "support/temp_dir.hpp"

namespace flowfabric::test {
namespace {

namespace fs = std::filesystem;

constexpr auto ready_limit = std::chrono::seconds(60);
constexpr auto ready_pause = std::chrono::milliseconds(20);
constexpr int port_attempts = 5;
constexpr std::size_t log_tail_bytes = 4000;

struct Account {
  uid_t uid;
  gid_t gid;
};

// PostgreSQL refuses to run as root, so root runs it as the system user of the package.
std::optional<Account> account_to_become() {
  if (geteuid() != 0) return std::nullopt;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  getpwnam_r("postgres", &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    throw std::runtime_error("PostgreSQL cannot run as root and there is no user named postgres");
  }
  return Account{entry.pw_uid, entry.pw_gid};
}

// The newest installed version, by number: 15 is newer than 9.
fs::path find_binaries() {
  const fs::path root = "/usr/lib/postgresql";
  int newest = -1;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const int version = std::atoi(entry.path().filename().c_str());
    if (version > newest && fs::exists(entry.path() / "bin" / "postgres")) newest = version;
  }
  if (newest < 0) throw std::runtime_error("no PostgreSQL server in /usr/lib/postgresql");
  return root / std::to_string(newest) / "bin";
}

// The processes of the server: the postmaster's children, as the kernel lists them.
std::vector<pid_t> children_of(pid_t parent) {
  const std::string number = std::to_string(parent);
  std::ifstream list("/proc/" + number + "/task/" + number + "/children");
  return {std::istream_iterator<pid_t>(list), {}};
}

// The data of a child, prepared before the fork: afterwards only async-signal-safe calls are allowed, because other
// threads may have held the allocator's lock.
class Launch {
 public:
  Launch(std::vector<std::string> words, std::string log, std::string directory)
      : words_(std::move(words)), log_(std::move(log)), directory_(std::move(directory)) {
    for (auto& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
    for (auto& variable : environment_) envp_.push_back(variable.data());
    envp_.push_back(nullptr);
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  // Forks and executes. The child dies with the calling thread.
  pid_t spawn(const std::optional<Account>& account) const {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0) run(account, parent);
    return child;
  }

 private:
  [[noreturn]] void run(const std::optional<Account>& account, pid_t parent) const {
    const int log = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    const int null = open("/dev/null", O_RDONLY);
    if (log < 0 || null < 0) _exit(126);
    dup2(null, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    // Inherited sockets and files of the test would stay open as long as the server.
    close_range(3, ~0U, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (account) {
      if (setgroups(1, &account->gid) != 0 || setgid(account->gid) != 0 || setuid(account->uid) != 0) {
        _exit(126);
      }
    }
    // A change of user clears the death signal, so it is set after it.
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (getppid() != parent) _exit(126);
    if (chdir(directory_.c_str()) != 0) _exit(126);
    execve(argv_[0], argv_.data(), envp_.data());
    _exit(127);
  }

  std::vector<std::string> words_;
  std::string log_;
  std::string directory_;
  std::vector<std::string> environment_ = {"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"};
  std::vector<char*> argv_;
  std::vector<char*> envp_;
};

// A running child. The death signal depends on the thread that forked, not on the process, so there is a separate
// thread: it forks and then waits until the child has ended.
class Child {
 public:
  Child(const Launch& launch, const std::optional<Account>& account) {
    std::promise<pid_t> started;
    auto pid = started.get_future();
    keeper_ = std::thread([&launch, &account, &started] {
      pid_t child = -1;
      try {
        child = launch.spawn(account);
        started.set_value(child);
      } catch (...) {
        started.set_exception(std::current_exception());
        return;
      }
      // Leaves the child unreaped: its pid stays valid for signal() until wait().
      siginfo_t info{};
      while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
      }
    });
    try {
      pid_ = pid.get();
    } catch (...) {
      keeper_.join();
      throw;
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!keeper_.joinable()) return;
    signal(SIGKILL);
    wait();
  }

  void signal(int number) const { kill(pid_, number); }
  pid_t pid() const { return pid_; }

  bool has_ended() const {
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG);
    return info.si_pid == pid_;
  }

  // Waits for the end and returns the wait status.
  int wait() {
    keeper_.join();
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  // For a forked copy of this process, which has the object but neither thread nor child. The handle is leaked because
  // such a thread can be neither joined nor detached.
  void forget() {
    static std::vector<std::thread>* const parked = new std::vector<std::thread>;
    parked->push_back(std::move(keeper_));
  }

 private:
  pid_t pid_ = -1;
  std::thread keeper_;
};

}  // namespace

class PostgresServer::Impl {
 public:
  explicit Impl(Options options, const std::string& primary_url = {})
      : options_(std::move(options)),
        owner_(getpid()),
        account_(account_to_become()),
        binaries_(find_binaries()),
        directory_("flowfabric-postgres"),
        data_(directory_.file("data")),
        log_(directory_.file("log")) {
    if (account_ && chown(directory_.path().c_str(), account_->uid, account_->gid) != 0) {
      throw std::system_error(errno, std::generic_category(), "chown of " + directory_.file(""));
    }
    primary_url.empty() ? make_cluster() : copy_cluster(primary_url);
    for (int attempt = 1;; ++attempt) {
      port_ = free_port();
      url_ = "postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres";
      // Another process may take the port between the check and the server's bind.
      if (launch_and_wait()) return;
      if (attempt == port_attempts) fail("PostgreSQL ended while starting");
    }
  }

  ~Impl() {
    if (getpid() == owner_) {
      crash();
      return;
    }
    // After a fork the server and its directory still belong to the parent.
    if (postmaster_) {
      postmaster_->forget();
      postmaster_.reset();
    }
    directory_.keep();
  }

  const std::string& url() const { return url_; }

  void crash() {
    if (!postmaster_) return;
    postmaster_->signal(SIGQUIT);
    postmaster_->wait();
    postmaster_.reset();
  }

  void kill_all() {
    if (!postmaster_) return;
    // The postmaster first, or it would notice that a child crashed. Children that it creates meanwhile exit when they
    // see that it is gone.
    const std::vector<pid_t> children = children_of(postmaster_->pid());
    postmaster_->signal(SIGKILL);
    for (const pid_t child : children) ::kill(child, SIGKILL);
    postmaster_->wait();
    postmaster_.reset();
  }

  // A server refuses to start while a process of the previous one still uses the shared memory.
  void start_again() {
    if (postmaster_) throw std::logic_error("start_again() needs a server that is down");
    const auto limit = std::chrono::steady_clock::now() + ready_limit;
    while (!launch_and_wait()) {
      if (std::chrono::steady_clock::now() > limit) fail("PostgreSQL ended while starting again");
      std::this_thread::sleep_for(ready_pause);
    }
  }

  const std::string& log_file() const { return log_; }

 private:
  void make_cluster() {
    const Launch launch({(binaries_ / "initdb").string(), "-D", data_, "-U", "postgres", "-A", "trust", "--no-sync",
                         "--locale=C", "--encoding=UTF8"},
                        log_, directory_.path().string());
    if (Child(launch, account_).wait() != 0) fail("initdb failed");
  }

  void copy_cluster(const std::string& primary_url) {
    const Launch launch({(binaries_ / "pg_basebackup").string(), "-d", primary_url, "-D", data_, "-R", "-X", "stream",
                         "-c", "fast", "--no-sync"},
                        log_, directory_.path().string());
    if (Child(launch, account_).wait() != 0) fail("pg_basebackup failed");
  }

  std::vector<std::string> postmaster_words() const {
    std::vector<std::string> words = {(binaries_ / "postgres").string(), "-D", data_, "-p", std::to_string(port_)};
    std::vector<std::string> settings = {"listen_addresses=127.0.0.1",
                                         "unix_socket_directories=", "shared_buffers=128MB", "max_connections=200"};
    settings.push_back(options_.fsync ? "fsync=on" : "fsync=off");
    settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
    for (auto& setting : settings) {
      words.emplace_back("-c");
      words.push_back(std::move(setting));
    }
    return words;
  }

  // False if the server exited; throws if it neither exits nor answers.
  bool launch_and_wait() {
    const Launch launch(postmaster_words(), log_, directory_.path().string());
    postmaster_ = std::make_unique<Child>(launch, account_);
    const auto limit = std::chrono::steady_clock::now() + ready_limit;
    while (PQping(url_.c_str()) != PQPING_OK) {
      if (postmaster_->has_ended()) {
        postmaster_->wait();
        postmaster_.reset();
        return false;
      }
      if (std::chrono::steady_clock::now() > limit) {
        crash();
        fail("PostgreSQL does not answer");
      }
      std::this_thread::sleep_for(ready_pause);
    }
    // Another server on the same port may have answered while ours failed to bind.
    if (!postmaster_->has_ended()) return true;
    postmaster_->wait();
    postmaster_.reset();
    return false;
  }

  [[noreturn]] void fail(const std::string& what) const {
    std::ifstream file(log_);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (text.size() > log_tail_bytes) text.erase(0, text.size() - log_tail_bytes);
    throw std::runtime_error(what + ":\n" + text);
  }

  const Options options_;
  const pid_t owner_;
  const std::optional<Account> account_;
  const fs::path binaries_;
  TempDir directory_;
  const std::string data_;
  const std::string log_;
  int port_ = 0;
  std::string url_;
  std::unique_ptr<Child> postmaster_;
};

PostgresServer::PostgresServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PostgresServer::PostgresServer(PostgresServer&&) noexcept = default;
PostgresServer& PostgresServer::operator=(PostgresServer&&) noexcept = default;
PostgresServer::~PostgresServer() = default;

PostgresServer PostgresServer::start(Options options) {
  return PostgresServer(std::make_unique<Impl>(std::move(options)));
}

const std::string& PostgresServer::url() const { return impl_->url(); }
const std::string& PostgresServer::log_file() const { return impl_->log_file(); }
void PostgresServer::crash() { impl_->crash(); }
void PostgresServer::kill() { impl_->kill_all(); }
void PostgresServer::start_again() { impl_->start_again(); }

PostgresServer PostgresServer::standby_of(const PostgresServer& primary, Options options) {
  return PostgresServer(std::make_unique<Impl>(std::move(options), primary.url()));
}

void PostgresServer::promote() {
  PGconn* connection = PQconnectdb(url().c_str());
  PGresult* result = PQexec(connection, "SELECT pg_promote()");  // waits for the end of recovery
  const bool promoted = PQntuples(result) == 1 && PQgetvalue(result, 0, 0)[0] == 't';
  const std::string message = PQerrorMessage(connection);
  PQclear(result);
  PQfinish(connection);
  if (!promoted) throw std::runtime_error("the standby was not promoted: " + message);
}

void dump_and_restore(const std::string& from_url, const std::string& to_url) {
  const TempDir directory("flowfabric-dump");
  const fs::path binaries = find_binaries();
  const std::string dump = directory.file("dump.sql"), log = directory.file("log");
  const auto run = [&](std::vector<std::string> words) {
    words.front() = (binaries / words.front()).string();
    const Launch launch(std::move(words), log, directory.path().string());
    if (Child(launch, std::nullopt).wait() == 0) return;
    std::ifstream file(log);
    throw std::runtime_error(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  };
  run({"pg_dump", "-d", from_url, "-f", dump});
  run({"psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", to_url, "-f", dump});
}

PostgresServer& shared_postgres() {
  // Data on this server need not survive a crash of the machine, and every case creates its own schema.
  static PostgresServer server = PostgresServer::start({.fsync = false});
  return server;
}

std::string postgres_test_url() {
  const char* given = std::getenv("FF_TEST_POSTGRES");
  if (given != nullptr && *given != '\0') return given;
  return shared_postgres().url();
}

}  // namespace flowfabric::test
