#include "cli/top_screen.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "cli/terminal.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::string_view enter = "\x1b[?1049h\x1b[?25l";  // the alternate screen, without a cursor
constexpr std::string_view leave = "\x1b[?25h\x1b[?1049l";

termios before{};
std::atomic<bool> quit_came{false};

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void restore() {
  write_all(leave);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

// The loop handles the first signal. If the loop hangs, the second one ends the process, and the terminal is still
// restored: everything here may be called in a signal handler.
void on_stop(int) {
  if (!quit_came.exchange(true)) return;
  restore();
  _exit(130);
}

void handle_stops(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

std::size_t screen_rows() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 ? 24 : size.ws_row;
}

}  // namespace

bool can_have_screen() { return isatty(STDIN_FILENO) != 0 && stdout_is_terminal(); }

Screen::Screen() {
  tcgetattr(STDIN_FILENO, &before);
  quit_came = false;
  handle_stops(on_stop);
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped program would leave the terminal in this state
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
  write_all(enter);
}

Screen::~Screen() {
  restore();
  handle_stops(SIG_DFL);
}

std::size_t Screen::rows() { return screen_rows(); }

void Screen::draw(const std::string& text) const {
  std::string out = "\x1b[H";
  const std::size_t height = screen_rows();
  std::size_t at = 0;
  for (std::size_t line = 0; line < height && at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (line > 0) out += "\r\n";
    out += text.substr(at, end - at) + "\x1b[K";
    at = end + 1;
  }
  write_all(out + "\x1b[J");
}

bool Screen::left_within(std::chrono::milliseconds patience) const {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!quit_came) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    // Short waits: a signal just before the call does not interrupt it.
    pollfd key{STDIN_FILENO, POLLIN, 0};
    if (poll(&key, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 200))) <= 0) continue;
    char pressed = 0;
    const ssize_t got = read(STDIN_FILENO, &pressed, 1);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return true;  // the terminal is gone
    if (got == 1 && (pressed == 'q' || pressed == 'Q')) return true;
  }
  return true;
}

}  // namespace flowfabric::cli
