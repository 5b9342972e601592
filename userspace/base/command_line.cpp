// SPDX-License-Identifier: Apache-2.0
#include "base/command_line.hpp"

#include <algorithm>
#include <cstdint>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace headway {
namespace {

/// --help shows the type of such a value as TEXT:{one,another}.
std::vector<std::string> choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const auto begin = type.find(":{");
    const auto end = type.rfind('}');
    if (begin == std::string::npos || end == std::string::npos) return {};
    return CLI::detail::split(type.substr(begin + 2, end - begin - 2), ',');
}

OptionDescription describe_option(const CLI::Option& option) {
    OptionDescription described;
    described.description = option.get_description();
    described.has_value = option.get_items_expected_max() > 0;
    described.choices = choices_of(option);
    if (option.get_positional()) described.positional = option.get_name(true);
    for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
    for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
    return described;
}

VerbDescription describe_app(const CLI::App& app) {
    VerbDescription described{app.get_name(), app.get_description(), {}, {}};
    for (const CLI::Option* option : app.get_options()) {
        described.options.push_back(describe_option(*option));
    }
    for (const CLI::App* verb : app.get_subcommands(nullptr)) {
        described.verbs.push_back(describe_app(*verb));
    }
    return described;
}

// ------------------------------------------------------------ commands of others

using Words = std::vector<std::string>;
constexpr const char* command_option = "COMMAND";

/// Returns the verb that is named first, or the program.
CLI::App* chosen_app(CLI::App* app, const Words& words) {
    for (const std::string& word : words) {
        if (word.starts_with("-")) continue;
        const auto verbs = app->get_subcommands([&](const CLI::App* verb) { return verb->check_name(word); });
        if (verbs.empty()) break;
        app = verbs.front();
    }
    return app;
}

bool has_other_positionals(const CLI::App& app) {
    return std::ranges::any_of(app.get_options(), [](const CLI::Option* option) {
        return option->get_positional() && option->get_name() != command_option;
    });
}

/// Where the verb's own words end: at the first that is neither an option nor an option's value.
Words::iterator first_foreign_word(const CLI::App& app, Words& words) {
    auto word = std::find(words.begin(), words.end(), app.get_name());
    if (word != words.end()) ++word;
    for (; word != words.end() && word->starts_with("-") && *word != "--"; ++word) {
        const CLI::Option* const option = app.get_option_no_throw(*word);
        const bool has_value = option != nullptr && option->get_items_expected_max() > 0;
        if (has_value && std::next(word) != words.end()) ++word;
    }
    return word;
}

/// Gives a command's words, whose options are not ours, to the verb, and leaves the others.
void take_command(CLI::App& app, Words& words) {
    CLI::Option* const command = app.get_option_no_throw(command_option);
    if (command == nullptr) return;
    const auto begin = has_other_positionals(app) ? std::find(words.begin(), words.end(), "--")
                                                  : first_foreign_word(app, words);
    for (auto word = begin; word != words.end(); ++word) {
        if (word != begin || *word != "--") command->add_result(*word);
    }
    words.erase(begin, words.end());
}

}  // namespace

VerbOption VerbOption::required() const {
    option_->required();
    return *this;
}

VerbOption VerbOption::expected(int values) const {
    option_->expected(values);
    return *this;
}

VerbOption VerbOption::default_text(const std::string& text) const {
    option_->default_str(text);
    return *this;
}

VerbOption VerbOption::shows_default() const {
    option_->capture_default_str();
    return *this;
}

VerbOption VerbOption::excludes(const VerbOption& other) const {
    option_->excludes(other.option_);
    return *this;
}

VerbOption VerbOption::excludes(const std::string& name) const {
    option_->excludes(name);
    return *this;
}

VerbOption VerbOption::one_of(const std::vector<std::string>& values) const {
    option_->check(CLI::IsMember(values));
    return *this;
}

template <class Number>
VerbOption VerbOption::between(Number least, std::type_identity_t<Number> most) const {
    option_->check(CLI::Range(least, most));
    return *this;
}

template VerbOption VerbOption::between(std::uint32_t, std::uint32_t) const;
template VerbOption VerbOption::between(std::uint64_t, std::uint64_t) const;
template VerbOption VerbOption::between(double, double) const;

bool VerbOption::is_given() const { return option_->count() > 0; }

Verb Verb::add_verb(const std::string& name, const std::string& description) const {
    return Verb(*app_->add_subcommand(name, description));
}

void Verb::needs_verb() const { app_->require_subcommand(1); }

template <class Value>
VerbOption Verb::add_option(const std::string& name, Value& value,
                            const std::string& description) const {
    return VerbOption(*app_->add_option(name, value, description));
}

template VerbOption Verb::add_option(const std::string&, std::string&, const std::string&) const;
template VerbOption Verb::add_option(const std::string&, std::vector<std::string>&,
                                     const std::string&) const;
template VerbOption Verb::add_option(const std::string&, std::uint32_t&, const std::string&) const;
template VerbOption Verb::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template VerbOption Verb::add_option(const std::string&, double&, const std::string&) const;
template VerbOption Verb::add_option(const std::string&, std::optional<double>&,
                                     const std::string&) const;

VerbOption Verb::add_flag(const std::string& name, bool& value,
                          const std::string& description) const {
    return VerbOption(*app_->add_flag(name, value, description));
}

VerbOption Verb::add_command(std::vector<std::string>& words, const std::string& description) const {
    // to CLI11 one list without an end is enough
    constexpr int least_words = 1, most_words = 65536;
    const VerbOption option = add_option(command_option, words, description);
    app_->get_option(command_option)->expected(least_words, most_words);
    return option;
}

bool Verb::is_chosen() const { return app_->parsed(); }

VerbDescription Verb::describe() const { return describe_app(*app_); }

CommandLine::CommandLine(const std::string& program, const std::string& description,
                         std::string_view version)
    : app_(std::make_unique<CLI::App>(description, program)) {
    app_->set_version_flag("--version", fmt::format("{} {}", program, version));
}

CommandLine::~CommandLine() = default;

std::optional<ExitStatus> CommandLine::read(int argc, char** argv) const {
    Words words(argv + 1, argv + argc);
    try {
        take_command(*chosen_app(app_.get(), words), words);
        std::ranges::reverse(words);  // CLI11 takes the last one first
        app_->parse(words);
    } catch (const CLI::ParseError& error) {  // CLI11 knows no other way
        return app_->exit(error) == 0 ? ExitStatus::ok : ExitStatus::bad_config;
    }
    return std::nullopt;
}

}  // namespace headway
