// top, on a terminal and without one.
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <atomic>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "cli/fixture.hpp"

namespace flowfabric::cli_test {
namespace {

namespace json = boost::json;

class Top : public OnAStore {};
INSTANTIATE_TEST_SUITE_P(Places, Top, testing::ValuesIn(all_ways()), way_name);

json::value lane_of(const json::value& snapshot, const std::string& name) {
  for (const json::value& lane : snapshot.at("lanes").as_array()) {
    if (text(lane.at("lane")) == name) return lane;
  }
  ADD_FAILURE() << "no lane " << name;
  return {};
}

TEST_P(Top, ALookHasCountsWorkersAndTheOldest) {
  populate();
  {
    const auto engine = open_engine();
    WorkerRegistration worker;
    worker.worker_id = "w";
    worker.worker_instance_id = "w-9";
    ASSERT_TRUE(engine->register_worker(worker));
  }
  const json::value look = run_json({"top", "--interval", "100ms"});
  const json::value mail = lane_of(look, "mail");
  EXPECT_EQ(mail.at("waiting").as_int64(), 3);
  EXPECT_GE(mail.at("oldest_waiting_ms").as_int64(), 0);
  EXPECT_EQ(mail.at("created_per_s").to_number<double>(), 0);
  const json::value work = lane_of(look, "work");
  EXPECT_EQ(work.at("active").as_int64(), 1);
  EXPECT_EQ(work.at("delayed").as_int64(), 1);
  EXPECT_EQ(work.at("completed").as_int64(), 1);
  EXPECT_EQ(work.at("failed").as_int64(), 1);
  EXPECT_FALSE(work.as_object().contains("oldest_waiting_ms")) << "nothing waits there";
  EXPECT_EQ(look.at("workers_live").as_int64(), 1);
  EXPECT_EQ(look.as_object().contains("parked_claims"), served()) << "only servers know";
  EXPECT_GE(look.at("due_lag_ms").as_int64(), 0);
}

// Runs executions on the lane "busy", one after the other, until it is destroyed.
class Busy {
 public:
  explicit Busy(std::unique_ptr<Engine> engine) : engine_(std::move(engine)), thread_([this] { work(); }) {}
  ~Busy() {
    stopping_ = true;
    thread_.join();
  }
  int begun() const { return begun_; }

 private:
  void work() {
    CreateRequest create;
    create.lane = create.kind = "busy";
    ClaimRequest claim;
    claim.worker_id = claim.worker_instance_id = "w";
    claim.lanes = {"busy"};
    while (!stopping_) {
      ++begun_;
      const auto created = engine_->create(create);
      const auto claimed = engine_->claim(claim);
      if (!created || !claimed) continue;
      for (const ClaimedExecution& one : *claimed) (void)engine_->complete(one.handle);
    }
  }

  std::unique_ptr<Engine> engine_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> begun_{0};
  std::thread thread_;  // last, because it uses the other members
};

TEST_P(Top, RatesAreThoseOfWhatHappensMeanwhile) {
  const Busy busy(open_engine());
  while (busy.begun() < 2) std::this_thread::yield();
  double created = 0, finished = 0;
  for (int tries = 0; tries < 100 && (created == 0 || finished == 0); ++tries) {
    const json::value lane = lane_of(run_json({"top", "--interval", "200ms"}), "busy");
    created = lane.at("created_per_s").to_number<double>();
    finished = lane.at("finished_per_s").to_number<double>();
    EXPECT_LE(std::max(created, finished), busy.begun() / 0.2) << "more than there ever was";
  }
  EXPECT_GT(created, 0);
  EXPECT_GT(finished, 0);
}

TEST_P(Top, TheOldestIsFoundBehindManyPages) {
  create_many("old", 1);
  create_many("old", 450);
  const auto first = run_json({"executions", "list", "--lane", "old", "--all"}).at("executions").as_array();
  const json::value look = run_json({"top", "--interval", "100ms"});
  const std::int64_t since = look.at("at").as_int64() - lane_of(look, "old").at("oldest_waiting_ms").as_int64();
  EXPECT_EQ(lane_of(look, "old").at("waiting").as_int64(), 451);
  const std::int64_t oldest = first.back().at("created_at").as_int64();
  EXPECT_GE(since, oldest);
  EXPECT_LE(since, oldest + std::max<std::int64_t>(1000, (look.at("at").as_int64() - oldest) / 20));
}

TEST_P(Top, WithoutATerminalItPrintsOneLook) {
  populate();
  const Finished look = run({"top", "--interval", "100ms"});
  EXPECT_EQ(look.code, 0) << look.err;
  EXPECT_TRUE(contains(look.out, "OLDEST")) << look.out;
  EXPECT_TRUE(contains(look.out, served() ? "http://" : url().substr(0, 5))) << "names its store: " << look.out;
  EXPECT_TRUE(contains(look.out, "mail")) << look.out;
  EXPECT_FALSE(contains(look.out, "\x1b")) << look.out;
}

TEST_P(Top, WrongIntervalsAndPlacesAreRefused) {
  EXPECT_EQ(run({"top", "--interval", "1ms"}).code, 2);
  EXPECT_EQ(run({"top", "--interval", "soon"}).code, 2);
  EXPECT_EQ(run({"top", "--sort", "colour"}).code, 2);
  EXPECT_EQ(run_program({"top", "--store", "sqlite:/nonexistent/file"}).code, 3);
}

// A user at a terminal, who sees the screen and presses keys.
class AtTerminal {
 public:
  explicit AtTerminal(const std::string& place) {
    winsize size{};
    size.ws_col = 120;
    size.ws_row = 30;
    int theirs = -1;
    if (openpty(&master_, &theirs, nullptr, nullptr, &size) != 0) throw std::runtime_error("openpty failed");
    tcgetattr(theirs, &before_);
    pid_ = fork();
    if (pid_ == 0) {
      close(master_);
      if (login_tty(theirs) != 0) _exit(126);
      setenv("TERM", "xterm", 1);
      setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
      execl(FF_BIN_DIR "/flowfabric", "flowfabric", "top", "--interval", "100ms", "--store", place.c_str(), nullptr);
      _exit(127);
    }
    theirs_ = theirs;  // stays open, so that the terminal can be examined afterwards
  }
  ~AtTerminal() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    close(master_);
    close(theirs_);
  }

  // Reads until the text has been shown this often; false if that takes very long.
  bool sees(const std::string& words, int times = 1) {
    alarm(60);  // a hanging test ends with SIGALRM
    char buffer[4096];
    while (count(words) < times) {
      const ssize_t got = read(master_, buffer, sizeof buffer);
      if (got <= 0) return false;
      shown_.append(buffer, static_cast<std::size_t>(got));
    }
    alarm(0);
    return true;
  }
  void types(char key) { ASSERT_EQ(write(master_, &key, 1), 1); }
  void signal(int number) { kill(pid_, number); }
  int ended() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  bool is_as_before() {
    termios now{};
    tcgetattr(theirs_, &now);
    return now.c_lflag == before_.c_lflag && now.c_cc[VSUSP] == before_.c_cc[VSUSP] &&
           now.c_cc[VMIN] == before_.c_cc[VMIN];
  }

 private:
  int count(const std::string& words) const {
    int found = 0;
    for (std::size_t at = shown_.find(words); at != std::string::npos; at = shown_.find(words, at + 1)) ++found;
    return found;
  }

  int master_ = -1;
  int theirs_ = -1;
  pid_t pid_ = -1;
  termios before_{};
  std::string shown_;
};

constexpr const char* own_page_left = "\x1b[?25h\x1b[?1049l";

TEST_P(Top, ItDrawsAgainAndAgainUntilQ) {
  populate();
  AtTerminal person(place());
  ASSERT_TRUE(person.sees("q quits", 3));
  ASSERT_TRUE(person.sees("mail"));
  EXPECT_FALSE(person.is_as_before()) << "keys come without Enter";
  person.types('x');
  ASSERT_TRUE(person.sees("q quits", 5)) << "other keys do nothing";
  person.types('q');
  ASSERT_TRUE(person.sees(own_page_left));
  EXPECT_EQ(person.ended(), 0);
  EXPECT_TRUE(person.is_as_before());
}

TEST_P(Top, CtrlCAndSignalsLeaveTheTerminalAsItWas) {
  populate();
  for (const int way : {0, SIGTERM, SIGHUP}) {
    AtTerminal person(place());
    ASSERT_TRUE(person.sees("q quits"));
    way == 0 ? person.types('\x03') : person.signal(way);
    ASSERT_TRUE(person.sees(own_page_left)) << way;
    EXPECT_EQ(person.ended(), 0) << way;
    EXPECT_TRUE(person.is_as_before()) << way;
  }
}

}  // namespace
}  // namespace flowfabric::cli_test
