// SPDX-License-Identifier: Apache-2.0
#include "eval_lines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <istream>
#include <ostream>
#include <optional>
#include <string_view>

#include "base/json.hpp"
#include "eval_interface.hpp"

namespace headway {
namespace {

/// Every operation there is: one line per model.
std::vector<EvalOperation> eval_operations() {
    std::vector<EvalOperation> all;
    const auto add = [&](std::span<const EvalOperation> some) {
        all.insert(all.end(), some.begin(), some.end());
    };
    add(eval_congestion_operations());
    add(eval_contention_operations());
    add(eval_manytoone_operations());
    add(eval_matb_operations());
    add(eval_plogpt_operations());
    return all;
}

// --------------------------------------------------------------------- parsing

/// Reads a line without keeping it: how deep it is, and the top-level id, even
/// if what follows is not JSON.
class LineScan final : public nlohmann::json_sax<EvalJson> {
public:
    EvalJson id;  ///< null: none seen
    bool too_deep = false;
    std::string complaint;

    bool null() override { return scalar(nullptr); }
    bool boolean(bool value) override { return scalar(value); }
    bool number_integer(number_integer_t value) override { return scalar(value); }
    bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
    bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
    bool string(string_t& value) override { return scalar(value); }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return enter(); }
    bool start_array(std::size_t) override { return enter(); }
    bool end_object() override { return leave(); }
    bool end_array() override { return leave(); }
    bool key(string_t& name) override {
        at_id_ = depth_ == 1 && name == "id";
        return true;
    }
    bool parse_error(std::size_t position, const std::string&,
                     const EvalJson::exception& error) override {
        // "[json.exception.parse_error.101] parse error at ...: what"
        std::string_view text = error.what();
        for (const std::string_view before : {"] ", ": "}) {
            if (const auto at = text.find(before); at != text.npos) {
                text.remove_prefix(at + before.size());
            }
        }
        complaint = fmt::format("column {}: {}", position, text);
        return false;
    }

private:
    template <class Value>
    bool scalar(const Value& value) {
        if (at_id_) id = value;
        at_id_ = false;
        return true;
    }
    bool enter() {
        at_id_ = false;
        too_deep = ++depth_ > eval_nesting_max;
        return !too_deep;
    }
    bool leave() {
        --depth_;
        return true;
    }

    std::size_t depth_ = 0;
    bool at_id_ = false;
};

// --------------------------------------------------------------------- answers

EvalAnswer answer(const EvalJson& id, const char* key, EvalJson value, bool good) {
    const EvalJson line{{"id", id}, {key, std::move(value)}};
    // what came in as broken UTF-8 leaves as replacement characters
    return {json_text(line), good};
}

EvalAnswer refusal(const EvalJson& id, std::string message) {
    return answer(id, "error", std::move(message), false);
}

/// Results are shallow: as deep as their adapters have made them.
bool holds_nan(const EvalJson& json) {
    if (json.is_number_float()) return std::isnan(json.get<double>());
    return json.is_structured() && std::any_of(json.begin(), json.end(), holds_nan);
}

/// Says what is wrong with the members around the input.
std::string request_mistake(const EvalJson& request) {
    constexpr std::array keys{"id", "model", "op", "input"};
    if (!request.is_object()) return "a line must be a JSON object";
    for (const char* key : keys) {
        if (!request.contains(key)) return fmt::format("{}: is missing", key);
    }
    for (const auto& [key, value] : request.items()) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
            return fmt::format("{}: unknown key", key.substr(0, 40));
        }
    }
    if (request["id"].is_structured()) return "id: must be a string or a number";
    if (!request["model"].is_string()) return "model: must be a string";
    if (!request["op"].is_string()) return "op: must be a string";
    return {};
}

std::string unknown_operation(const std::string& model, const std::string& op) {
    const auto operations = eval_operations();
    std::string models;
    std::string ops;
    for (const EvalOperation& operation : operations) {
        if (operation.model == model) ops += fmt::format(" {}", operation.op);
        const std::string entry = fmt::format(" {}", operation.model);
        if (models.find(entry) == models.npos) models += entry;
    }
    if (ops.empty()) return fmt::format("unknown model \"{}\"; there are:{}",
                                        model.substr(0, 40), models);
    return fmt::format("unknown operation \"{}\" of {}; there are:{}", op.substr(0, 40), model,
                       ops);
}

EvalResult run(const std::string& model, const std::string& op, const EvalJson& input) {
    for (const EvalOperation& operation : eval_operations()) {
        if (operation.model != model || operation.op != op) continue;
        EvalResult result = operation.run(input);
        if (result && holds_nan(*result)) return eval_failure("the result is not a number");
        return result;
    }
    return tl::unexpected(unknown_operation(model, op));
}

EvalAnswer answer_request(const EvalJson& request, const EvalJson& id) {
    if (auto mistake = request_mistake(request); !mistake.empty()) return refusal(id, mistake);
    auto result = run(request["model"].get_ref<const std::string&>(),
                      request["op"].get_ref<const std::string&>(), request["input"]);
    if (!result) return refusal(id, result.error());
    return answer(id, "result", std::move(*result), true);
}

/// A line of at most eval_line_max_bytes; the rest of a longer one is skipped.
/// No line: the end.
std::optional<std::string> read_line(std::istream& in, bool& too_long) {
    too_long = false;
    std::string line;
    std::streambuf& buffer = *in.rdbuf();
    constexpr int end = std::char_traits<char>::eof();
    int next = buffer.sbumpc();
    if (next == end) return std::nullopt;
    for (; next != end && next != '\n'; next = buffer.sbumpc()) {
        if (line.size() < eval_line_max_bytes) line.push_back(static_cast<char>(next));
        else too_long = true;
    }
    return line;
}

}  // namespace

EvalAnswer eval_line(std::string_view line) {
    LineScan scan;
    const bool parsed = EvalJson::sax_parse(line, &scan);
    if (scan.too_deep) {
        return refusal(scan.id, fmt::format("nested deeper than {}", eval_nesting_max));
    }
    if (!parsed) return refusal(scan.id, fmt::format("no JSON: {}", scan.complaint));
    try {
        return answer_request(parse_json<EvalJson>(line), scan.id);
    } catch (const std::exception& error) {  // no memory; nothing else is thrown
        return refusal(scan.id, error.what());
    }
}

bool eval_stream(std::istream& in, std::ostream& out,
                 const std::function<void(std::uint64_t)>& answered) {
    bool all_good = true;
    bool too_long = false;
    while (const auto line = read_line(in, too_long)) {
        const EvalAnswer answer =
            too_long ? refusal(nullptr, fmt::format("a line has at most {} bytes",
                                                    eval_line_max_bytes))
                     : eval_line(*line);
        all_good = all_good && answer.good;
        out << answer.line << '\n';
        if (answered) answered(line->size() + 1);
        // A caller that waits for this answer before it asks again gets it.
        if (in.rdbuf()->in_avail() <= 0) out.flush();
    }
    out.flush();
    return all_good;
}

}  // namespace headway
