// SPDX-License-Identifier: Apache-2.0
#include "cli/completion_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headway {
namespace {

using Words = std::vector<std::string>;

/// The positional option of a verb that is a command with its own arguments, behind "--".
constexpr const char* command_name = "command";

/// A verb and the words that lead to it, without the program's name.
struct Place {
    std::string path;
    const VerbDescription& verb;
};

void add_places(std::vector<Place>& places, const std::string& path, const VerbDescription& verb) {
    places.push_back({path, verb});
    for (const VerbDescription& inner : verb.verbs) {
        add_places(places, path.empty() ? inner.name : path + " " + inner.name, inner);
    }
}

/// The program first, each verb before its own verbs.
std::vector<Place> places_of(const VerbDescription& program) {
    std::vector<Place> places;
    add_places(places, "", program);
    return places;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
        text.replace(at, what.size(), by);
    }
    return text;
}

std::string joined(const Words& words) { return fmt::format("{}", fmt::join(words, " ")); }

Words offered(const VerbDescription& verb) {
    Words words;
    for (const VerbDescription& inner : verb.verbs) words.push_back(inner.name);
    for (const OptionDescription& option : verb.options) {
        words.insert(words.end(), option.names.begin(), option.names.end());
        if (!option.positional.empty()) words.insert(words.end(), option.choices.begin(), option.choices.end());
    }
    return words;
}

bool takes_words(const VerbDescription& verb) {
    for (const OptionDescription& option : verb.options) {
        if (!option.positional.empty() && option.choices.empty()) return true;
    }
    return false;
}

std::string in_single_quotes(const std::string& text) { return "'" + replaced(text, "'", R"('\'')") + "'"; }

/// Writes the places as a pattern for `case` of bash and zsh: 'plan'|'job start'
std::string verb_patterns(const std::vector<Place>& places) {
    Words patterns;
    for (const Place& place : places) {
        if (!place.path.empty()) patterns.push_back(in_single_quotes(place.path));
    }
    return fmt::format("{}", fmt::join(patterns, "|"));
}

std::string bash_values(const Place& place) {
    std::string lines;
    for (const OptionDescription& option : place.verb.options) {
        if (option.names.empty() || !option.has_value) continue;
        Words patterns;
        for (const std::string& name : option.names) {
            patterns.push_back(in_single_quotes(place.path + " " + name));
        }
        lines += fmt::format("    {}) words={} files={} ;;\n", fmt::join(patterns, "|"),
                             in_single_quotes(joined(option.choices)),
                             option.choices.empty() ? "yes" : "");
    }
    return lines;
}

std::string zsh_text(const std::string& text) {
    return replaced(replaced(replaced(text, "[", R"(\[)"), "]", R"(\])"), ":", R"(\:)");
}

std::string zsh_value(const OptionDescription& option) {
    if (option.choices.empty()) return ":value:_files";
    return fmt::format(":value:({})", joined(option.choices));
}

/// Arguments of _arguments, which takes each name of an option by itself.
Words zsh_specs(const VerbDescription& verb) {
    Words specs;
    for (const OptionDescription& option : verb.options) {
        for (const std::string& name : option.names) {
            specs.push_back(in_single_quotes(fmt::format("*{}{}[{}]{}", name,
                                                         option.has_value && name[1] == '-' ? "=" : "",
                                                         zsh_text(option.description),
                                                         option.has_value ? zsh_value(option) : "")));
        }
        if (option.positional == command_name) specs.emplace_back("'*::command:_normal'");
        else if (!option.positional.empty()) specs.push_back(in_single_quotes("*" + zsh_value(option)));
    }
    return specs;
}

std::string zsh_place(const Place& place) {
    std::string lines = fmt::format("    {})\n", in_single_quotes(place.path));
    const Words specs = zsh_specs(place.verb);
    if (place.verb.verbs.empty()) {
        lines += fmt::format("        _arguments -S : {}\n", fmt::join(specs, " \\\n            "));
    } else {
        Words verbs;
        for (const VerbDescription& inner : place.verb.verbs) {
            verbs.push_back(in_single_quotes(zsh_text(inner.name) + ":" + zsh_text(inner.description)));
        }
        lines += fmt::format("        verbs=({})\n", fmt::join(verbs, "\n            "));
        lines += fmt::format("        _arguments : '1:verb:{{ _describe verb verbs }}' \\\n            {}\n",
                             fmt::join(specs, " \\\n            "));
    }
    return lines + "        ;;\n";
}

std::string fish_quotes(const std::string& text) {
    return "'" + replaced(replaced(text, "\\", R"(\\)"), "'", R"(\')") + "'";
}

std::string fish_option(const std::string& condition, const OptionDescription& option) {
    std::string line = condition;
    for (const std::string& name : option.names) {
        line += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (option.names.empty()) line += " -a " + fish_quotes(joined(option.choices));
    else if (!option.choices.empty()) line += " -x -a " + fish_quotes(joined(option.choices));
    else if (option.has_value) line += " -r -F";
    return line + " -d " + fish_quotes(option.description) + "\n";
}

std::string fish_place(const Place& place) {
    const std::string condition =
        fmt::format("complete -c headway -n {}", fish_quotes("__headway_at " + fish_quotes(place.path)));
    std::string lines;
    for (const VerbDescription& inner : place.verb.verbs) {
        lines += fmt::format("{} -a {} -d {}\n", condition, inner.name, fish_quotes(inner.description));
    }
    for (const OptionDescription& option : place.verb.options) {
        if (!option.names.empty() || !option.choices.empty()) lines += fish_option(condition, option);
    }
    if (takes_words(place.verb)) lines += condition + " -F\n";
    return lines;
}

}  // namespace

std::string bash_completion(const VerbDescription& program) {
    const auto places = places_of(program);
    std::string text = fmt::format(R"(# Written by `headway completion bash`.
_headway() {{
    local word words='' files='' path='' current=${{COMP_WORDS[COMP_CWORD]}}
    local previous=${{COMP_WORDS[COMP_CWORD - 1]}}
    # bash takes --option=value for three words
    if [[ $current == '=' ]]; then
        current=''
    elif [[ $previous == '=' ]]; then
        previous=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD - 1}}"; do
        if [[ $word == -- ]]; then
            [[ $previous != -- ]] || mapfile -t COMPREPLY < <(compgen -c -- "$current")
            compopt -o default
            return
        fi
        case ${{path:+$path }}$word in
        {}) path+=${{path:+ }}$word ;;
        esac
    done
    case "$path $previous" in
)",
                                   verb_patterns(places));
    for (const Place& place : places) text += bash_values(place);
    text += "    *)\n        case $path in\n";
    for (const Place& place : places) {
        text += fmt::format("        {}) words={} files={} ;;\n", in_single_quotes(place.path),
                            in_single_quotes(joined(offered(place.verb))),
                            takes_words(place.verb) ? "yes" : "");
    }
    return text + R"(        esac
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    [[ ! $files || ${COMPREPLY[*]} ]] || compopt -o default
}
complete -F _headway headway
)";
}

std::string zsh_completion(const VerbDescription& program) {
    const auto places = places_of(program);
    std::string text = fmt::format(R"(#compdef headway
# Written by `headway completion zsh`.
_headway() {{
    local path_of_verbs='' word
    local -a verbs
    local -i at=1 last=1
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        (( ++at ))
        [[ $word == -- ]] && break
        case ${{path_of_verbs:+$path_of_verbs }}$word in
        {})
            path_of_verbs+=${{path_of_verbs:+ }}$word
            last=at
            ;;
        esac
    done
    # the verb takes the place of the program
    shift $(( last - 1 )) words
    (( CURRENT -= last - 1 ))
    case $path_of_verbs in
)",
                                   verb_patterns(places));
    for (const Place& place : places) text += zsh_place(place);
    return text + R"(    esac
}

_headway "$@"
)";
}

std::string fish_completion(const VerbDescription& program) {
    const auto places = places_of(program);
    Words paths;
    for (const Place& place : places) {
        if (!place.path.empty()) paths.push_back(fish_quotes(place.path));
    }
    std::string text = fmt::format(R"(# Written by `headway completion fish`.
# Whether the words before the cursor lead to that verb.
function __headway_at
    set -l verbs {}
    set -l path
    set -l words (commandline -opc)
    contains -- -- $words; and return 1
    for word in $words[2..-1]
        if contains -- (string join ' ' -- $path $word) $verbs
            set -a path $word
        end
    end
    test "$path" = "$argv[1]"
end
function __headway_command
    contains -- -- (commandline -opc)
end
complete -c headway -f
complete -c headway -n __headway_command -F -a '(__fish_complete_command)'
)",
                                   fmt::join(paths, " "));
    for (const Place& place : places) text += fish_place(place);
    return text;
}

}  // namespace headway
