// SPDX-License-Identifier: Apache-2.0
#include "base/command_line.hpp"

#include <algorithm>
#include <cstdint>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "base/nearest.hpp"

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

/// The verb that words name, or the program, and the first word that is neither.
struct Chosen {
    CLI::App* app;
    std::string next_word;
};

Chosen chosen_app(CLI::App* app, const Words& words) {
    for (const std::string& word : words) {
        if (word.starts_with("-")) continue;
        const auto verbs = app->get_subcommands([&](const CLI::App* verb) { return verb->check_name(word); });
        if (verbs.empty()) return {app, word};
        app = verbs.front();
    }
    return {app, ""};
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

/// --help shows a command of others behind its --.
class HelpFormatter final : public CLI::Formatter {
    std::string make_option_usage(const CLI::Option* option) const override {
        if (option->get_name() != command_option) return Formatter::make_option_usage(option);
        return option->get_required() ? "[--] COMMAND..." : "[-- COMMAND...]";
    }
};

// ---------------------------------------------------------------------- mistakes

/// "headway job start".
std::string full_name(const CLI::App& app) {
    const CLI::App* const parent = app.get_parent();
    return parent != nullptr ? full_name(*parent) + " " + app.get_name() : app.get_name();
}

bool needs_another_verb(const CLI::App& app) { return app.get_require_subcommand_min() > 0; }

std::string verb_mistake(const Chosen& chosen, const std::map<std::string, std::string>& meant) {
    Words verbs;
    for (const CLI::App* verb : chosen.app->get_subcommands(nullptr)) {
        if (!verb->get_group().empty()) verbs.push_back(verb->get_name());
    }
    if (chosen.next_word.empty()) return fmt::format("a verb is missing; known here: {}", fmt::join(verbs, ", "));
    const std::string refused = fmt::format("there is no verb \"{}\"; ", chosen.next_word);
    const auto hint = meant.find(full_name(*chosen.app) + " " + chosen.next_word);
    if (hint != meant.end()) return refused + fmt::format("did you mean {}?", hint->second);
    return refused + did_you_mean(chosen.next_word, verbs);
}

/// Of words that CLI11 had no place for; "": there are none.
std::string word_mistake(const CLI::App& app, const Words& left) {
    const auto option = std::ranges::find_if(left, [](const auto& word) { return word.starts_with("-"); });
    if (option == left.end()) return left.empty() ? "" : fmt::format("\"{}\" is not expected here", left.front());
    Words known;
    for (const CLI::Option* one : app.get_options()) {
        for (const std::string& name : one->get_lnames()) known.push_back(name);
    }
    const std::string name = option->substr(0, option->find('='));
    const auto near = nearest(std::string_view(name).substr(name.find_first_not_of('-')), known);
    return fmt::format("there is no option {}{}", name, near ? fmt::format("; did you mean --{}?", *near) : "");
}

ExitStatus tell_mistake(const CLI::App& app, std::string mistake) {
    const std::string name = full_name(app);
    if (!mistake.ends_with("?")) mistake += fmt::format("; see {} --help", name);
    fmt::print(stderr, "{}: {}\n", name, mistake);
    return ExitStatus::bad_config;
}

/// "help plan" is "plan --help", and "version" is "--version".
void put_as_options(Words& words) {
    if (words.empty() || (words.front() != "help" && words.front() != "version")) return;
    const std::string option = "--" + words.front();
    words.erase(words.begin());
    words.push_back(option);
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

VerbOption VerbOption::or_variable(const std::string& name) const {
    option_->envname(name);
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
    const auto mistake = [values](const std::string& value) {
        if (std::ranges::find(values, value) != values.end()) return std::string();
        return fmt::format("there is no \"{}\"; {}", value, did_you_mean(value, values));
    };
    option_->check(CLI::Validator(mistake, fmt::format("{{{}}}", fmt::join(values, ","))));
    return *this;
}

template <class Number>
VerbOption VerbOption::between(Number least, std::type_identity_t<Number> most) const {
    const auto mistake = [=](const std::string& text) {
        Number value{};
        if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return std::string();
        return fmt::format("\"{}\" is no number from {} to {}", text, least, most);
    };
    option_->check(CLI::Validator(mistake, fmt::format("from {} to {}", least, most)));
    return *this;
}

template VerbOption VerbOption::between(std::uint32_t, std::uint32_t) const;
template VerbOption VerbOption::between(std::uint64_t, std::uint64_t) const;
template VerbOption VerbOption::between(double, double) const;

VerbOption VerbOption::in_seconds() const {
    option_->transform(CLI::Validator(
        [](std::string& text) {
            const bool has_number = text.size() > 1 && text.find_first_not_of("0123456789.") == text.size() - 1;
            if (has_number && text.back() == 's') text.pop_back();
            return std::string();
        },
        ""));
    return *this;
}

bool VerbOption::is_given() const { return option_->count() > 0; }

Verb Verb::add_verb(const std::string& name, const std::string& description) const {
    return Verb(*app_->add_subcommand(name, description));
}

void Verb::needs_verb() const { app_->require_subcommand(1); }

void Verb::group_verbs(const std::string& heading) const {
    const std::string ungrouped = CLI::App().get_group();
    for (CLI::App* verb : app_->get_subcommands(nullptr)) {
        if (verb->get_group() == ungrouped) verb->group(heading);
    }
}

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
    const auto formatter = std::make_shared<HelpFormatter>();
    formatter->label("SUBCOMMAND", "VERB");
    formatter->label("Subcommands", "Verbs");
    formatter->label("REQUIRED", "(required)");
    formatter->label("Excludes", "not with");
    app_->formatter(formatter);
    app_->set_version_flag("-V,--version", fmt::format("{} {}", program, version));
}

CommandLine::~CommandLine() = default;

std::optional<ExitStatus> CommandLine::read(std::vector<std::string> words,
                                            const std::map<std::string, std::string>& meant) const {
    put_as_options(words);
    const Chosen chosen = chosen_app(app_.get(), words);
    try {
        take_command(*chosen.app, words);
        std::ranges::reverse(words);  // CLI11 takes the last one first
        app_->parse(words);
    } catch (const CLI::ParseError& error) {  // CLI11 knows no other way
        if (error.get_exit_code() == 0) {
            app_->exit(error);
            return ExitStatus::ok;
        }
        std::string mistake = word_mistake(*chosen.app, app_->remaining(true));
        if (needs_another_verb(*chosen.app) && (mistake.empty() || !chosen.next_word.empty()))
            mistake = verb_mistake(chosen, meant);
        return tell_mistake(*chosen.app, mistake.empty() ? error.what() : mistake);
    }
    return std::nullopt;
}

}  // namespace headway
