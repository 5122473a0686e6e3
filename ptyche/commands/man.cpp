// Manual pages for man(1), printed from the commands like their help.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <sstream>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/help.h"
#include "ptyche/core/files.h"

namespace ptyche {
namespace {

constexpr std::size_t kSourceWidth = 79, kLongWord = 60;

/// `text` so that man shows every character as it is: a bare '-' would become a hyphen, with which
/// no option can be copied from the screen.
std::string escaped(const std::string& text) {
  static const std::map<char, std::string> kEscapes = {
      {'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  std::string out;
  for (const char c : text) {
    const auto found = kEscapes.find(c);
    out += found == kEscapes.end() ? std::string(1, c) : found->second;
  }
  return out;
}

/// Words for filled(): a list a|b|c that is too long for a line becomes several, which "\c" joins
/// again where "\:" lets man break the line.
std::vector<std::string> source_words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word; words.push_back(escaped(word)))
    for (std::size_t bar;
         word.size() > kLongWord && (bar = word.rfind('|', kLongWord)) != word.npos;) {
      words.push_back(escaped(word.substr(0, bar + 1)) + "\\:\\c");
      word.erase(0, bar + 1);
    }
  return words;
}

/// `text` as lines of source, none of which begins like a request of man's.
std::string filled(const std::string& text) {
  std::string out, line;
  for (const std::string& word : source_words(text)) {
    if (line.ends_with("\\c") || line.size() + 1 + word.size() > kSourceWidth) {
      out += line + "\n";
      line.clear();
    }
    line += line.empty() ? (word[0] == '.' ? "\\&" : "") : " ";
    line += word;
  }
  return out + line + "\n";
}

/// "-o, --output PATH" with what is typed as it is in bold, the rest in italics.
std::string styled(const std::string& form) {
  std::string out;
  std::istringstream in(form);
  for (std::string word; in >> word;) {
    const bool comma = word.ends_with(",") && word[0] == '-';
    if (comma) word.pop_back();
    out += fmt::format("{}\\f{}{}\\fR{}", out.empty() ? "" : " ", word[0] == '-' ? "B" : "I",
                       escaped(word), comma ? "," : "");
  }
  return out;
}

std::string tagged(const std::string& tag, const std::string& meaning) {
  return ".TP\n" + tag + "\n" + filled(meaning);
}

/// Title and the section NAME, by which apropos(1) finds the page.
std::string head_of_page(const std::string& name, const std::string& summary) {
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} 1 {} \"ptyche {}\" Ptyche\n.SH NAME\n{}", title, commit_date(),
                     version(), filled(name + " - " + summary));
}

std::string page_name(const Command& command) { return "ptyche-" + command.name; }

std::string reference_to(const std::string& page) {
  return fmt::format("\\fB{}\\fR(1)", escaped(page));
}

std::string exit_status() {
  std::string section = ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes) section += tagged(std::to_string(code), meaning);
  return section;
}

std::string verb_page(const Command& command) {
  std::string page = head_of_page(page_name(command), command.summary);
  page += ".SH SYNOPSIS\n" + filled(usage_line(command));
  page += ".SH DESCRIPTION\n" + filled(sentence(command.summary));
  if (!command.description.empty()) page += ".PP\n" + filled(command.description);
  for (const Argument& argument : command.arguments)
    page += tagged("\\fI" + argument.name + "\\fR", argument.help);
  page += ".SH OPTIONS\n";
  for (const auto& [form, meaning] : option_entries(command)) page += tagged(styled(form), meaning);
  page += exit_status();
  if (!command.references.empty()) page += ".SH REFERENCES\n";
  for (std::size_t i = 0; i < command.references.size(); ++i)
    page += (i == 0 ? "" : ".PP\n") + filled(command.references[i]);
  return page + ".SH SEE ALSO\n" + reference_to("ptyche") + "\n";
}

std::string program_page(const std::vector<Command>& verbs) {
  std::string page = head_of_page("ptyche", kWhatItDoes);
  page += ".SH SYNOPSIS\n" + filled("ptyche COMMAND [ARGUMENTS] [OPTIONS]");
  page += ".SH DESCRIPTION\n" + filled(fmt::format("Ptyche {}.", kWhatItDoes)) + ".SH COMMANDS\n";
  for (const Command& verb : verbs)
    page += tagged(reference_to(page_name(verb)), sentence(verb.summary));
  page += ".SH OPTIONS\n";
  page += tagged(styled("--help"),
                 "the list of the commands; COMMAND --help: its arguments and "
                 "basic options, COMMAND --help-all: every option");
  page +=
      tagged(styled("--version"),
             "version and commit; with --json also LibTorch's version, and which glibc the program "
             "runs with");
  return page + exit_status();
}

}  // namespace

std::vector<ManPage> man_pages(const std::vector<Command>& commands) {
  std::vector<Command> shown = commands;
  std::erase_if(shown, [](const Command& command) { return command.hidden; });
  std::vector<ManPage> pages = {{"ptyche.1", program_page(shown)}};
  for (const Command& command : shown)
    pages.push_back({page_name(command) + ".1", verb_page(command)});
  return pages;
}

Command man_command() {
  auto folder = std::make_shared<std::filesystem::path>();
  return {.name = "__man",
          .summary = "write the manual pages",
          .description = "",
          .arguments = {{"FOLDER", folder.get(), "where to"}},
          .options = {},
          .references = {},
          .run =
              [folder] {
                require_writable_folder(*folder);
                for (const ManPage& page : man_pages(all_commands()))
                  write_text(*folder / page.file, page.text);
              },
          .hidden = true};
}

}  // namespace ptyche
