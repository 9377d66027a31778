#include "e2e/chaos/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace flowfabric::chaos {
namespace {

constexpr std::array<std::string_view, 7> names = {"created", "claimed", "sending", "completed",
                                                   "failed",  "retried", "delayed"};

Note parse(const std::string& line) {
  std::istringstream words(line);
  std::string name;
  Note note;
  words >> name >> note.execution_id >> note.number >> note.text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (words && names[i] == name) {
      note.what = static_cast<Note::What>(i);
      return note;
    }
  }
  throw std::runtime_error("not a note: " + line);
}

}  // namespace

Journal::Journal(const std::string& path) : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw std::runtime_error("cannot write " + path);
}

Journal::~Journal() { close(file_); }

void Journal::write(const std::vector<Note>& notes) {
  std::string lines;
  for (const Note& note : notes) {
    lines += names[static_cast<std::size_t>(note.what)];
    lines += ' ' + note.execution_id + ' ' + std::to_string(note.number) + ' ' + note.text + '\n';
  }
  if (::write(file_, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size())) return;
  std::perror("the journal cannot be written");
  std::exit(1);
}

Notes read_journals(const std::filesystem::path& folder) {
  Notes notes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".journal") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line) && !in.eof();) {
      Note note = parse(line);
      notes[note.execution_id].push_back(std::move(note));
    }
  }
  return notes;
}

}  // namespace flowfabric::chaos
