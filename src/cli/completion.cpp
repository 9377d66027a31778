#include "cli/completion.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"

namespace flowfabric::cli {
namespace {

struct Word {
  std::string name;
  std::string summary;
};

// A command of two words is completed in two steps.
std::vector<Word> first_words(const std::vector<Command>& commands, const std::vector<CommandGroup>& groups) {
  std::vector<Word> words;
  for (const Command& command : commands) {
    if (command.spec.name.find(' ') == std::string::npos) words.push_back({command.spec.name, command.spec.summary});
  }
  for (const CommandGroup& group : groups) words.push_back({group.name, group.summary});
  words.push_back({"help", "show the help of a command"});
  return words;
}

std::vector<Word> second_words(const std::vector<Command>& commands, const std::string& group) {
  std::vector<Word> words;
  for (const Command& command : commands) {
    const std::string& name = command.spec.name;
    if (name.starts_with(group + " ")) words.push_back({name.substr(group.size() + 1), command.spec.summary});
  }
  return words;
}

std::string names_of(const std::vector<Word>& words) {
  std::vector<std::string> names;
  for (const Word& word : words) names.push_back(word.name);
  return join(names, " ");
}

std::string options_of(const CommandSpec& spec) {
  std::vector<std::string> names;
  for (const OptionSpec& option : spec.options) names.push_back(option.name);
  names.emplace_back("--help");
  return join(names, " ");
}

// Options whose value is a file of this machine.
bool takes_file(const OptionSpec& option) { return option.value == "FILE"; }

std::string file_options(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    for (const OptionSpec& option : command.spec.options) {
      const bool known = std::find(names.begin(), names.end(), option.name) != names.end();
      if (takes_file(option) && !known) names.push_back(option.name);
    }
  }
  return join(names, "|");
}

// What bash and zsh share: from the words before the cursor to the candidates, as the branches of two `case`s.
std::string second_word_cases(const std::vector<Command>& commands, const std::vector<CommandGroup>& groups) {
  std::string text;
  for (const CommandGroup& group : groups) {
    text += fmt::format("      {}) candidates=\"{}\" ;;\n", group.name, names_of(second_words(commands, group.name)));
  }
  return text;
}

std::string option_cases(const std::vector<Command>& commands) {
  std::string text;
  for (const Command& command : commands) {
    text += fmt::format("      \"{}\") candidates=\"{}\" ;;\n", command.spec.name, options_of(command.spec));
  }
  return text;
}

constexpr const char* bash_script = R"(# bash completion for flowfabric; written by `flowfabric completion bash`
_flowfabric() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} candidates=""
  case $prev in
    {file_options}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  if [[ $COMP_CWORD -eq 1 ]]; then
    candidates="{first} --help --version"
  elif [[ $COMP_CWORD -eq 2 && $cur != -* ]]; then
    case ${{COMP_WORDS[1]}} in
      completion) candidates="bash zsh fish" ;;
      help) candidates="{first}" ;;
{second}    esac
  fi
  if [[ $cur == -* && $COMP_CWORD -gt 1 ]]; then
    local command=${{COMP_WORDS[1]}}
    if [[ $COMP_CWORD -gt 2 && ${{COMP_WORDS[2]}} != -* ]]; then
      case $command in {groups}) command+=" ${{COMP_WORDS[2]}}" ;; esac
    fi
    case $command in
{options}    esac
  fi
  COMPREPLY=($(compgen -W "$candidates" -- "$cur"))
}}
complete -F _flowfabric flowfabric
)";

constexpr const char* zsh_script = R"(#compdef flowfabric
# zsh completion for flowfabric; written by `flowfabric completion zsh`
_flowfabric() {{
  local candidates="" cur=${{words[CURRENT]}}
  case ${{words[CURRENT-1]}} in
    {file_options}) _files; return ;;
  esac
  if (( CURRENT == 2 )); then
    candidates="{first} --help --version"
  elif (( CURRENT == 3 )) && [[ $cur != -* ]]; then
    case ${{words[2]}} in
      completion) candidates="bash zsh fish" ;;
      help) candidates="{first}" ;;
{second}    esac
  fi
  if [[ $cur == -* ]] && (( CURRENT > 2 )); then
    local command=${{words[2]}}
    if (( CURRENT > 3 )) && [[ ${{words[3]}} != -* ]]; then
      case $command in {groups}) command+=" ${{words[3]}}" ;; esac
    fi
    case $command in
{options}    esac
  fi
  compadd -- ${{=candidates}}
}}
compdef _flowfabric flowfabric
)";

std::string group_pattern(const std::vector<CommandGroup>& groups) {
  std::vector<std::string> names;
  for (const CommandGroup& group : groups) names.push_back(group.name);
  return join(names, "|");
}

// In single quotes, for fish.
std::string fish_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_options(const CommandSpec& spec, const std::string& condition) {
  std::string text;
  for (const OptionSpec& option : spec.options) {
    text += fmt::format("complete -c flowfabric -n {} -l {}{} -d {}\n", fish_text(condition), option.name.substr(2),
                        option.value.empty() ? "" : (takes_file(option) ? " -r -F" : " -x"), fish_text(option.help));
  }
  return text;
}

std::string fish_script(const std::vector<Command>& commands, const std::vector<CommandGroup>& groups) {
  std::string text =
      "# fish completion for flowfabric; written by `flowfabric completion fish`\n"
      "complete -c flowfabric -f\n";
  for (const Word& word : first_words(commands, groups)) {
    text += fmt::format("complete -c flowfabric -n __fish_use_subcommand -a {} -d {}\n", word.name,
                        fish_text(word.summary));
  }
  for (const CommandGroup& group : groups) {
    const auto words = second_words(commands, group.name);
    const std::string condition = fmt::format("__fish_seen_subcommand_from {}; and not __fish_seen_subcommand_from {}",
                                              group.name, names_of(words));
    for (const Word& word : words) {
      text += fmt::format("complete -c flowfabric -n {} -a {} -d {}\n", fish_text(condition), word.name,
                          fish_text(word.summary));
    }
  }
  text += "complete -c flowfabric -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n";
  for (const Command& command : commands) {
    const std::size_t space = command.spec.name.find(' ');
    std::string condition = "__fish_seen_subcommand_from " + command.spec.name.substr(0, space);
    if (space != std::string::npos)
      condition += "; and __fish_seen_subcommand_from " + command.spec.name.substr(space + 1);
    text += fish_options(command.spec, condition);
  }
  return text;
}

}  // namespace

std::optional<std::string> completion_script(const std::string& shell, const std::vector<Command>& commands,
                                             const std::vector<CommandGroup>& groups) {
  if (shell == "fish") return fish_script(commands, groups);
  if (shell != "bash" && shell != "zsh") return std::nullopt;
  return fmt::format(fmt::runtime(shell == "bash" ? bash_script : zsh_script),
                     fmt::arg("file_options", file_options(commands)),
                     fmt::arg("first", names_of(first_words(commands, groups))),
                     fmt::arg("second", second_word_cases(commands, groups)), fmt::arg("groups", group_pattern(groups)),
                     fmt::arg("options", option_cases(commands)));
}

}  // namespace flowfabric::cli
