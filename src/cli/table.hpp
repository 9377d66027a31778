// Columns of text for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <flowfabric/types.hpp>

#include "cli/terminal.hpp"

namespace flowfabric::cli {

enum class Tone : std::uint8_t { plain, good, bad, busy, quiet };

struct Cell {
  std::string text{};
  Tone tone = Tone::plain;
};

struct Column {
  std::string title{};
  bool right = false;    // numbers
  bool shrinks = false;  // may be cut if the terminal is too narrow
};

// Rows with the same columns. Columns are as wide as their widest cell; on a narrow terminal those that may shrink are
// cut.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> row);
  // The title line is printed if a column has a title.
  std::string render(const Look& look) const;

 private:
  std::vector<std::size_t> widths(const Look& look) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Texts from a store may contain control sequences, which a terminal must not execute. Control characters become
// spaces.
std::string printable(const std::string& text);

Cell state_cell(PublicState state);
Cell time_cell(TimestampMs at);
Cell number_cell(std::uint64_t number);
// "one execution", "2 executions".
std::string counted(std::uint64_t number, const std::string& noun);

}  // namespace flowfabric::cli
