// SPDX-License-Identifier: Apache-2.0
// Verbs of the command line and their options: as much of CLI11 as Headway uses.
//
// CLI11 is a header that takes seconds to compile wherever it is included, even if
// nothing of it is used.  Only command_line.cpp includes it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/exit_status.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headway {

/// A handle; CLI11 has the option.
class VerbOption {
public:
    VerbOption() = default;
    explicit VerbOption(CLI::Option& option) : option_(&option) {}

    VerbOption required() const;
    /// The option takes a list of exactly so many values.
    VerbOption expected(int values) const;
    /// Sets the text that --help names as the default.
    VerbOption default_text(const std::string& text) const;
    /// --help names the variable's present value as the default.
    VerbOption shows_default() const;
    /// Where it is not given, this variable of the environment counts, if there is one.
    VerbOption or_variable(const std::string& name) const;
    VerbOption excludes(const VerbOption& other) const;
    VerbOption excludes(const std::string& name) const;
    VerbOption one_of(const std::vector<std::string>& values) const;
    template <class Number>
    VerbOption between(Number least, std::type_identity_t<Number> most) const;
    /// "2s" is read as "2".
    VerbOption in_seconds() const;

    /// After the command line has been read.
    [[nodiscard]] bool is_given() const;

private:
    CLI::Option* option_ = nullptr;
};

/// An option as --help describes it.
struct OptionDescription {
    std::vector<std::string> names;  ///< with their dashes; of a positional one none
    std::string positional;          ///< the name of a positional one
    std::string description;
    bool has_value = false;
    std::vector<std::string> choices;  ///< if its value is one of these
};

/// A verb, or the program as a whole, as --help describes it.
struct VerbDescription {
    std::string name;
    std::string description;
    std::vector<OptionDescription> options;
    std::vector<VerbDescription> verbs;
};

/// A handle; CLI11 has the verb, or the program as a whole.
class Verb {
public:
    explicit Verb(CLI::App& app) : app_(&app) {}

    Verb add_verb(const std::string& name, const std::string& description) const;
    /// One of its verbs must be named.
    void needs_verb() const;
    /// --help lists the verbs that have been added since the last group below this heading.
    void group_verbs(const std::string& heading) const;

    /// "--name", "-n,--name", or "name" of a positional one.  Values go to `value`,
    /// which must live until the command line has been read.
    template <class Value>
    VerbOption add_option(const std::string& name, Value& value,
                          const std::string& description) const;
    VerbOption add_flag(const std::string& name, bool& value,
                        const std::string& description) const;
    /// A command of others, COMMAND: all that stands behind "--", or behind the verb's own options
    /// if it has nothing else without a name.
    VerbOption add_command(std::vector<std::string>& words, const std::string& description) const;

    /// After the command line has been read.
    [[nodiscard]] bool is_chosen() const;

    [[nodiscard]] VerbDescription describe() const;

private:
    CLI::App* app_;
};

/// A program's command line: options are added, then it is read.
class CommandLine {
public:
    CommandLine(const std::string& program, const std::string& description,
                std::string_view version);
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    [[nodiscard]] Verb program() const { return Verb(*app_); }

    /// Reads the words behind the program's name.  A status if the program is to end with it: help,
    /// version or a mistake has been told.  `meant`: what people mean by verbs that there are not.
    [[nodiscard]] std::optional<ExitStatus> read(
        std::vector<std::string> words, const std::map<std::string, std::string>& meant = {}) const;

private:
    std::unique_ptr<CLI::App> app_;
};

}  // namespace headway
