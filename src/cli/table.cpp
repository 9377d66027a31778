#include "cli/table.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/check.hpp"
#include "cli/times.hpp"

namespace flowfabric::cli {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t narrowest = 8;  // the minimum width of a column that shrinks

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

// At most `width` characters; a mark at the end shows that the text was cut.
std::string cut(const std::string& text, std::size_t width, bool utf8) {
  if (characters(text) <= width) return text;
  std::size_t end = 0;
  std::size_t kept = 0;
  for (; end < text.size(); ++end) {
    if (begins_character(text[end]) && kept++ == width - 1) break;
  }
  return text.substr(0, end) + (utf8 ? "…" : "~");
}

const char* colour_of(Tone tone) {
  switch (tone) {
    case Tone::good: return "\x1b[32m";
    case Tone::bad: return "\x1b[31m";
    case Tone::busy: return "\x1b[36m";
    case Tone::quiet: return "\x1b[90m";
    case Tone::plain: break;
  }
  return "";
}

constexpr const char* title_colour = "\x1b[1m";
constexpr const char* no_colour = "\x1b[0m";

std::string padded(const std::string& text, std::size_t width, bool right, const std::string& colour) {
  const std::string space(width - std::min(width, characters(text)), ' ');
  const std::string coloured = colour.empty() || text.empty() ? text : colour + text + no_colour;
  return right ? space + coloured : coloured + space;
}

void end_line(std::string& out) {
  while (out.ends_with(' ')) out.pop_back();
  out += '\n';
}

}  // namespace

std::string printable(const std::string& text) {
  std::string out = text;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    if (byte < 0x20 || byte == 0x7f) out[i] = ' ';
    // U+0080 to U+009F: some terminals interpret them as the start of a control sequence.
    if (byte == 0xc2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xa0) out.replace(i, 2, " ");
  }
  return out;
}

void Table::add(std::vector<Cell> row) {
  FF_CHECK(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = printable(cell.text);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths(const Look& look) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = characters(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, characters(row[i].text));
    widths.push_back(width);
  }
  if (look.columns == 0) return widths;
  std::size_t total = gap * (columns_.size() - 1);
  for (const std::size_t width : widths) total += width;
  // The widest column shrinks first, so that short ones stay readable.
  while (total > look.columns) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!columns_[i].shrinks || widths[i] <= narrowest) continue;
      if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }
  return widths;
}

std::string Table::render(const Look& look) const {
  const std::vector<std::size_t> wide = widths(look);
  const std::string between(gap, ' ');
  std::string out;
  if (std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.title.empty(); })) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) out += between;
      out += padded(cut(columns_[i].title, wide[i], look.utf8), wide[i], columns_[i].right,
                    look.colour ? title_colour : "");
    }
    end_line(out);
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) out += between;
      out += padded(cut(row[i].text, wide[i], look.utf8), wide[i], columns_[i].right,
                    look.colour ? colour_of(row[i].tone) : "");
    }
    end_line(out);
  }
  return out;
}

Cell state_cell(PublicState state) {
  const std::string text(to_string(state));
  switch (state) {
    case PublicState::completed: return {text, Tone::good};
    case PublicState::failed:
    case PublicState::expired: return {text, Tone::bad};
    case PublicState::active: return {text, Tone::busy};
    case PublicState::cancelled:
    case PublicState::skipped: return {text, Tone::quiet};
    default: return {text, Tone::plain};
  }
}

Cell time_cell(TimestampMs at) { return {format_time(at), at == 0 ? Tone::quiet : Tone::plain}; }

Cell number_cell(std::uint64_t number) { return {fmt::format("{}", number), number == 0 ? Tone::quiet : Tone::plain}; }

std::string counted(std::uint64_t number, const std::string& noun) {
  return number == 1 ? "one " + noun : fmt::format("{} {}s", number, noun);
}

}  // namespace flowfabric::cli
