// SPDX-License-Identifier: Apache-2.0
#include "formats/goal_schedule.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include <fmt/core.h>

#include "base/text_lines.hpp"
#include "base/units.hpp"
#include "formats/file_mistakes.hpp"
#include "formats/goal_order.hpp"

namespace headway {
namespace {

using Kind = PlogptOperationKind;

constexpr const char* grammar_advice = "see headway-formats(5) for the grammar";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Token {
    enum class Kind { end, new_line, word, number, sign };
    Kind kind = Kind::end;
    std::string_view text;
    std::uint32_t line = 0;
};

/// Words, numbers (the unit of "10b" is a word of its own) and single signs.
class Tokens {
public:
    explicit Tokens(std::string_view text) : rest_(text) { next(); }

    [[nodiscard]] const Token& token() const { return token_; }
    [[nodiscard]] bool is(std::string_view text) const { return token_.text == text; }

    void next() {
        skip_blanks();
        token_.line = line_;
        if (rest_.empty()) {
            token_ = {Token::Kind::end, "", line_};
        } else if (rest_.front() == '\n') {
            take(Token::Kind::new_line, 1);
            ++line_;
        } else if (is_letter(rest_.front())) {
            take(Token::Kind::word,
                 length([](char c) { return is_letter(c) || is_digit(c) || c == '_'; }));
        } else if (is_digit(rest_.front())) {
            take(Token::Kind::number, length(is_digit));
        } else {
            take(Token::Kind::sign, 1);
        }
    }

    void skip_line() {
        while (token_.kind != Token::Kind::end && token_.kind != Token::Kind::new_line) next();
    }

private:
    void take(Token::Kind kind, std::size_t length) {
        token_ = {kind, rest_.substr(0, length), line_};
        rest_.remove_prefix(length);
    }

    template <class Predicate>
    [[nodiscard]] std::size_t length(Predicate predicate) const {
        return static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), predicate) -
                                        rest_.begin());
    }

    void skip_blanks() {
        while (true) {
            rest_.remove_prefix(length([](char c) { return c == ' ' || c == '\t' || c == '\r'; }));
            if (rest_.starts_with("//")) {
                rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
            } else if (rest_.starts_with("/*")) {
                const auto end = std::min(rest_.find("*/", 2), rest_.size());
                line_ += static_cast<std::uint32_t>(
                    std::count(rest_.begin(), rest_.begin() + static_cast<long>(end), '\n'));
                rest_.remove_prefix(std::min(end + 2, rest_.size()));
            } else {
                return;
            }
        }
    }

    std::string_view rest_;
    std::uint32_t line_ = 1;
    Token token_;
};

struct GoalOperation {
    enum class Kind { send, receive, calculate };
    Kind kind = Kind::calculate;
    std::uint32_t line = 0;
    std::uint64_t peer = 0;
    std::uint64_t bytes = 0;
    std::int64_t tag = 0;
};

/// One rank's block.
struct Block {
    std::vector<GoalOperation> operations;
    std::vector<GoalDependency> dependencies;
    std::unordered_map<std::string_view, std::uint32_t> labels;
};

class GoalReader {
public:
    GoalReader(std::string_view text, std::string_view file, const ProgramLimits& limits)
        : tokens_(text), mistakes_(file), limits_(limits), builder_(mistakes_, file, limits) {}

    FileResult<ProgramFile> read() {
        while (tokens_.token().kind != Token::Kind::end && !builder_.is_full()) {
            if (tokens_.token().kind == Token::Kind::new_line) tokens_.next();
            else if (tokens_.is("num_ranks")) read_ranks();
            else if (tokens_.is("rank")) read_rank();
            else wrong("num_ranks or rank");
        }
        if (builder_.ranks() == 0 && mistakes_.empty()) {
            mistakes_.add(0, "num_ranks", "it is missing", grammar_advice);
        }
        auto programs = builder_.finish();
        if (programs) return std::move(*programs);
        return mistakes_.take();
    }

private:
    /// Goes on in the next line.
    void wrong(const char* expected) {
        const Token& token = tokens_.token();
        const bool at_end = token.kind == Token::Kind::end || token.kind == Token::Kind::new_line;
        mistakes_.add(token.line, "", fmt::format("{} where {} should stand",
                                                  at_end ? "the line ends" : in_quotes(token.text),
                                                  expected),
                      grammar_advice);
        tokens_.skip_line();
    }

    bool take(std::string_view text) {
        if (!tokens_.is(text)) return false;
        tokens_.next();
        return true;
    }

    std::optional<std::uint64_t> take_number() {
        if (tokens_.token().kind != Token::Kind::number) return std::nullopt;
        const auto number = to_number<std::uint64_t>(tokens_.token().text);
        if (number) tokens_.next();
        return number;
    }

    void read_ranks() {
        tokens_.next();
        const std::uint32_t line = tokens_.token().line;
        const auto ranks = take_number();
        if (!ranks || *ranks == 0 || *ranks > limits_.ranks) {
            mistakes_.add(line, "num_ranks", fmt::format("it is not 1 .. {}", limits_.ranks),
                          grammar_advice);
            tokens_.skip_line();
        } else if (builder_.ranks() > 0) {
            mistakes_.add(line, "num_ranks", "it is given twice", "give it once");
        } else {
            builder_.set_ranks(static_cast<std::uint32_t>(*ranks));
            has_block_.assign(*ranks, false);
        }
    }

    void read_rank() {
        tokens_.next();
        const std::uint32_t line = tokens_.token().line;
        const auto rank = take_number();
        if (!rank) return wrong("the number of a rank");
        while (tokens_.token().kind == Token::Kind::new_line) tokens_.next();
        if (!take("{")) return wrong("{");
        const bool is_known = *rank < builder_.ranks();
        if (!is_known) {
            mistakes_.add(line, "rank", fmt::format("there is no rank {}", *rank),
                          "say num_ranks first, and a larger one");
        } else if (has_block_[*rank]) {
            mistakes_.add(line, "rank", fmt::format("rank {} has a block already", *rank),
                          "give every rank one block");
        } else {
            has_block_[*rank] = true;
        }
        const Block block = read_block();
        if (is_known) append(line, static_cast<std::uint32_t>(*rank), block);
    }

    Block read_block() {
        Block block;
        while (!take("}")) {
            if (tokens_.token().kind == Token::Kind::end) {
                wrong("}");
                break;
            }
            if (block.operations.size() + block.dependencies.size() > limits_.operations) {
                mistakes_.add(tokens_.token().line, "",
                              fmt::format("more than {} operations", limits_.operations), grammar_advice);
                while (tokens_.token().kind != Token::Kind::end) tokens_.next();
                break;
            }
            if (tokens_.token().kind == Token::Kind::new_line) tokens_.next();
            else if (!mistakes_.full()) read_statement(block);
            else tokens_.next();
        }
        return block;
    }

    static bool is_operation(std::string_view word) {
        return word == "send" || word == "recv" || word == "calc";
    }

    void read_statement(Block& block) {
        const Token first = tokens_.token();
        if (first.kind != Token::Kind::word) return wrong("a label or an operation");
        if (is_operation(first.text)) return read_operation(block, "");
        tokens_.next();
        if (take(":")) return read_operation(block, first.text);
        if (tokens_.is("requires") || tokens_.is("irequires")) {
            return read_dependency(block, first);
        }
        wrong("':', requires or irequires");
    }

    void read_operation(Block& block, std::string_view label) {
        GoalOperation operation;
        operation.line = tokens_.token().line;
        if (take("send")) operation.kind = GoalOperation::Kind::send;
        else if (take("recv")) operation.kind = GoalOperation::Kind::receive;
        else if (!take("calc")) return wrong("send, recv or calc");
        const auto size = take_number();
        if (!size) return wrong("a number");
        operation.bytes = *size;
        if (operation.kind != GoalOperation::Kind::calculate && !read_peer(operation)) return;
        if (!read_options(operation)) return;
        const auto index = static_cast<std::uint32_t>(block.operations.size());
        if (!label.empty() && !block.labels.emplace(label, index).second) {
            mistakes_.add(operation.line, "", fmt::format("label {} stands twice in this rank",
                                                          in_quotes(label)), grammar_advice);
        }
        block.operations.push_back(operation);
    }

    bool read_peer(GoalOperation& operation) {
        const bool sends = operation.kind == GoalOperation::Kind::send;
        if (!take("b")) return wrong("b, for bytes,"), false;
        if (!take(sends ? "to" : "from")) return wrong(sends ? "to" : "from"), false;
        if (tokens_.is("-")) {
            mistakes_.add(operation.line, "from", "messages from any source cannot be read",
                          "name the source");
            tokens_.skip_line();
            return false;
        }
        const auto peer = take_number();
        if (!peer) return wrong("the number of a rank"), false;
        operation.peer = *peer;
        return true;
    }

    bool read_options(GoalOperation& operation) {
        while (tokens_.token().kind == Token::Kind::word) {
            const bool is_tag = tokens_.is("tag");
            if (!is_tag && !tokens_.is("cpu") && !tokens_.is("nic")) break;
            tokens_.next();
            const bool is_any = is_tag && take("-");
            const auto number = take_number();
            if (!number || (is_any && *number != 1)) return wrong("a number"), false;
            if (is_tag) {
                operation.tag = is_any ? ProgramBuilder::any_tag
                                       : static_cast<std::int64_t>(*number & INT64_MAX);
            }
        }
        const auto kind = tokens_.token().kind;
        if (kind == Token::Kind::end || kind == Token::Kind::new_line || tokens_.is("}")) {
            return true;
        }
        return wrong("the end of the line"), false;
    }

    void read_dependency(Block& block, const Token& after) {
        const bool at_start = tokens_.is("irequires");
        tokens_.next();
        const Token before = tokens_.token();
        if (before.kind != Token::Kind::word) return wrong("a label");
        tokens_.next();
        const auto known_after = block.labels.find(after.text);
        const auto known_before = block.labels.find(before.text);
        if (known_after == block.labels.end() || known_before == block.labels.end()) {
            const auto& unknown = known_after == block.labels.end() ? after : before;
            mistakes_.add(unknown.line, "",
                          fmt::format("there is no label {} before it", in_quotes(unknown.text)),
                          grammar_advice);
            return;
        }
        block.dependencies.push_back({known_before->second, known_after->second, at_start});
    }

    void append(std::uint32_t line, std::uint32_t rank, const Block& block) {
        const auto count = static_cast<std::uint32_t>(block.operations.size());
        std::vector<std::optional<std::uint32_t>> index(count);
        std::vector<bool> is_waited(count);
        const auto step = [&](GoalStep what, std::uint32_t at) {
            const GoalOperation& operation = block.operations[at];
            if (what == GoalStep::wait) {
                is_waited[at] = true;
                builder_.wait(operation.line, rank, index[at]);
            } else if (operation.kind == GoalOperation::Kind::calculate) {
                builder_.skip_computation();
            } else {
                const bool sends = operation.kind == GoalOperation::Kind::send;
                index[at] = builder_.add(operation.line, rank, sends ? Kind::isend : Kind::irecv,
                                         operation.peer, static_cast<double>(operation.bytes),
                                         operation.tag);
            }
        };
        if (!order_goal_operations(count, block.dependencies, step)) {
            mistakes_.add(line, "rank", fmt::format("operations of rank {} require each other in a "
                                                    "circle",
                                                    rank),
                          grammar_advice);
        }
        for (std::uint32_t at = 0; at < count; ++at) {
            if (!is_waited[at]) builder_.wait(block.operations[at].line, rank, index[at]);
        }
    }

    Tokens tokens_;
    FileMistakes mistakes_;
    ProgramLimits limits_;
    ProgramBuilder builder_;
    std::vector<bool> has_block_;
};

}  // namespace

FileResult<ProgramFile> read_goal_schedule(std::string_view text, std::string_view file,
                                           const ProgramLimits& limits) {
    return GoalReader(text, file, limits).read();
}

}  // namespace headway
