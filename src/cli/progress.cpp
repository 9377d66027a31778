#include "cli/progress.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/core.h>

namespace flowfabric::cli {
namespace {

constexpr std::size_t bar_width = 30;
constexpr std::chrono::milliseconds line_pause{1000};

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; }

std::string figures(const ProgressView& view) {
  const double elapsed = seconds(view.elapsed);
  const double rate = elapsed > 0 ? static_cast<double>(view.done) / elapsed : 0;
  return fmt::format("{:>3}%  {}/{}  {:.0f}/s  {:.1f} s", view.total == 0 ? 100 : view.done * 100 / view.total,
                     view.done, view.total, rate, elapsed);
}

}  // namespace

ProgressDisplay::ProgressDisplay() : terminal_(stdout_is_terminal()), look_(stdout_look()) {
  if (!terminal_) return;
  fmt::print("\x1b[?25l");
  std::fflush(stdout);
}

ProgressDisplay::~ProgressDisplay() {
  if (!terminal_ || finished_) return;
  fmt::print("\n\x1b[?25h");
  std::fflush(stdout);
}

std::string ProgressDisplay::bar(double share) const {
  const auto full = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * bar_width);
  std::string text;
  if (look_.colour) text += "\x1b[32m";
  for (std::size_t i = 0; i < full; ++i) text += look_.utf8 ? "█" : "#";
  if (look_.colour) text += "\x1b[90m";
  for (std::size_t i = full; i < bar_width; ++i) text += look_.utf8 ? "░" : ".";
  if (look_.colour) text += "\x1b[0m";
  return text;
}

void ProgressDisplay::draw(const ProgressView& view, bool last) const {
  const std::size_t width = stdout_look().columns;  // read each time: windows change their size
  const double share = view.total == 0 ? 1 : static_cast<double>(view.done) / static_cast<double>(view.total);
  // A wrapped line would leave its first half on the screen at the next refresh, so it is cut at the edge.
  const std::string numbers = figures(view).substr(0, width > bar_width + 2 ? width - bar_width - 2 : 0);
  const std::string head = width > bar_width ? bar(share) + " " + numbers : "";
  std::string text = "\r\x1b[K" + head;
  for (const std::string& line : view.counts) text += "\n\r\x1b[K" + line.substr(0, width - 1);
  fmt::print("{}", text);
  if (!last && !view.counts.empty()) fmt::print("\x1b[{}A\r", view.counts.size());
  if (last) fmt::print("\n\x1b[?25h");
  std::fflush(stdout);
}

void ProgressDisplay::print_line(const ProgressView& view) {
  std::string text = figures(view);
  for (const std::string& line : view.counts) {
    if (!line.empty()) text += "  " + line;
  }
  fmt::print("{}\n", text);
  std::fflush(stdout);
  printed_at_ = view.elapsed;
  printed_tenth_ = view.total == 0 ? 10 : view.done * 10 / view.total;
}

void ProgressDisplay::show(const ProgressView& view) {
  if (terminal_) return draw(view, false);
  const bool tenth = view.total != 0 && view.done * 10 / view.total > printed_tenth_;
  if (tenth || view.elapsed - printed_at_ >= line_pause) print_line(view);
}

void ProgressDisplay::finish(const ProgressView& view) {
  if (finished_) return;
  finished_ = true;
  if (!terminal_) return print_line(view);
  draw(view, true);
}

}  // namespace flowfabric::cli
