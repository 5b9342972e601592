// SPDX-License-Identifier: Apache-2.0
#include "json_object.hpp"

#include <gtest/gtest.h>

#include <random>

#include <nlohmann/json.hpp>

namespace headway::glue::test {

using Json = nlohmann::json;

namespace {

using Texts = std::vector<std::string>;

/// Reads an object whose member "x" is `json`.
JsonObject of(const std::string& json) { return *JsonObject::read("{\"x\":" + json + "}"); }

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int at = 0; at < times; ++at) all += text;
    return all;
}

TEST(JsonObjects, HaveMembersByTheirPath) {
    const std::string text = R"( {"ok": true, "id": 7, "node": "a\"0\u00e9", "predicted": {"low_s": 1, "high_s": 2.5,
        "of": {"x": "y"}}, "after": null} )";
    const auto answer = JsonObject::read(text);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->flag("ok"), true);
    EXPECT_EQ(answer->whole_number("id"), 7U);
    EXPECT_EQ(answer->text("node"), "a\"0\u00e9");
    EXPECT_EQ(answer->number("predicted.low_s"), 1.0);
    EXPECT_EQ(answer->number("predicted.high_s"), 2.5);
    EXPECT_EQ(answer->text("predicted.of.x"), "y");
    EXPECT_TRUE(answer->has("predicted"));
    EXPECT_TRUE(answer->is_null("after"));
    EXPECT_FALSE(answer->has("after"));
    EXPECT_FALSE(answer->has("low_s"));
    EXPECT_EQ(answer->received(), text);
}

TEST(JsonObjects, OfAnotherTypeAreNone) {
    for (const char* json : {"null", "{}", "[]", "[true,1,2.5]", "{\"x\":1}"}) {
        const JsonObject answer = of(json);
        EXPECT_FALSE(answer.flag("x") || answer.whole_number("x") || answer.number("x") || answer.text("x")) << json;
        EXPECT_EQ(answer.texts("x"), Texts()) << json;
    }
    EXPECT_FALSE(of("1").flag("x") || of("1").text("x") || of("\"1\"").number("x") || of("true").number("x"));
    EXPECT_EQ(of("\"text\"").texts("x"), Texts());
}

TEST(JsonObjects, HaveNumbersOfEverySize) {
    EXPECT_EQ(of("9223372036854775808").whole_number("x"), 1ULL << 63);
    EXPECT_EQ(of("18446744073709551615").whole_number("x"), ~0ULL);
    EXPECT_EQ(of("18446744073709551616").whole_number("x"), std::nullopt);
    EXPECT_EQ(of("18446744073709551616").number("x"), 18446744073709551616.0);
    EXPECT_EQ(of("-3").whole_number("x"), std::nullopt);
    EXPECT_EQ(of("-3").number("x"), -3.0);
    EXPECT_EQ(of("7.0").whole_number("x"), std::nullopt);
}

TEST(JsonObjects, HaveListsOfTexts) {
    EXPECT_EQ(of(R"(["a",["b"],{"c":"d"},{"e":["f"]},7,"g"])").texts("x"), (Texts{"a", "b", "g"}));
    const auto answer = JsonObject::read(R"({"x":[{"y":"in a list"}],"y":"member","z":{"x":["q"]}})");
    EXPECT_EQ(answer->texts("x"), Texts());
    EXPECT_EQ(answer->text("y"), "member");
    EXPECT_EQ(answer->texts("z.x"), (Texts{"q"}));
}

TEST(JsonObjects, HaveListsOfNumbers) {
    const auto numbers = of(R"([[1,2],[],[18446744073709551615,-4],{"x":5},6.5,"7",8])");
    EXPECT_EQ(numbers.whole_numbers("x"), (std::vector<std::uint64_t>{1, 2, ~0ULL, 8}));
    EXPECT_EQ(numbers.list_size("x"), 8U);
    EXPECT_EQ(of("[]").list_size("x"), 0U);
    EXPECT_FALSE(of("{}").list_size("x") || of("1").list_size("x") || of("[]").list_size("y"));
}

TEST(JsonObjects, InListsAreTakenTheInnermostFirst) {
    std::vector<std::string> taken;
    const auto take = [&](std::string_view path, const JsonObject& json) {
        std::string text = std::string(path) + ":";
        for (const char* name : {"n", "in.n", "b.n", "a.n"})
            text += json.whole_number(name) ? std::string(" ") + name + "=" + std::to_string(*json.whole_number(name)) : "";
        text += json.list_size("b") ? " b" : "";
        taken.push_back(text);
    };
    const auto whole = JsonObject::read(
        R"({"a":[{"n":1,"b":[{"n":2},{"n":3,"in":{"n":4}}],"in":{"n":5}},{"b":7}],"n":8,"in":{"a":[[{"n":9}]],"n":10}})", take);
    ASSERT_TRUE(whole);
    EXPECT_EQ(taken, (Texts{"a.b: n=2", "a.b: n=3 in.n=4", "a: n=1 in.n=5 b", "a:", "in.a: n=9"}));
    EXPECT_EQ(whole->whole_number("n"), 8U);
    EXPECT_EQ(whole->whole_number("in.n"), 10U);
    EXPECT_TRUE(whole->list_size("a") == 2U && whole->list_size("in.a") == 1U);
    EXPECT_FALSE(whole->has("a.n") || whole->has("a.b") || whole->has("in.a.n"));
}

TEST(JsonObjects, TakeTheLastOfOneName) {
    const auto answer = JsonObject::read(R"({"x":1,"y":["a"],"x":"text","y":["b"]})");
    EXPECT_EQ(answer->text("x"), "text");
    EXPECT_FALSE(answer->number("x"));
    EXPECT_EQ(answer->texts("y"), (Texts{"b"}));
}

TEST(JsonObjects, ThatAreNoObjectAreNone) {
    for (const char* text : {"", " ", "{", "{\"a\":1", "{\"a\":1}}", "{\"a\"}", "{a:1}", "[]", "[{}]", "7", "\"text\"", "null",
                             "{\"a\":1e999}", "{\"a\":\"\xff\"}", "{} x", "{\"a\":\"\\ud800\"}", "{\"a\":01}"})
        EXPECT_FALSE(JsonObject::read(text)) << text;
    EXPECT_TRUE(JsonObject::read("{}"));
}

/// A random value, with members and elements of its own down to `depth`.
Json random_json(std::mt19937& random, int depth) {
    const auto below = [&](unsigned n) { return random() % n; };
    const auto some = [&](auto&& add) {
        for (unsigned left = below(4); left > 0; --left) add();
    };
    Json made;
    switch (below(depth > 0 ? 11 : 5)) {
        case 0: return nullptr;
        case 1: return below(2) == 0;
        case 2: return std::uint64_t{random()} << below(33);
        case 3: return -1.5 * below(1000);
        case 4: return repeated("\"\\\u00e9", static_cast<int>(below(3)));
        case 5:
        case 6:
        case 7:
            made = Json::array();
            some([&] { made.push_back(random_json(random, depth - 1)); });
            return made;
        default:
            made = Json::object();
            some([&] { made[std::string(1, static_cast<char>('a' + below(5)))] = random_json(random, depth - 1); });
            return made;
    }
}

using Taken = std::vector<std::pair<std::string, Json>>;

/// The objects that are in a list, and the path of that: those within others first.
void add_items(const Json& tree, const std::string& path, Taken& items) {
    if (!tree.is_structured()) return;
    for (const auto& [name, member] : tree.items()) {
        const bool is_item = tree.is_array() && member.is_object();
        add_items(member, tree.is_array() ? path : path + (path.empty() ? "" : ".") + name, items);
        if (is_item) items.emplace_back(path, member);
    }
}

void add_listed(const Json& list, Texts& texts, std::vector<std::uint64_t>& numbers) {
    for (const Json& element : list) {
        if (element.is_array()) add_listed(element, texts, numbers);
        if (element.is_string()) texts.push_back(element);
        if (element.is_number_unsigned()) numbers.push_back(element);
    }
}

std::size_t elements_of(const Json& list) {
    std::size_t elements = 0;
    for (const Json& element : list) elements += element.is_array() ? elements_of(element) : 1;
    return elements;
}

void expect_same(const JsonObject& read, const Json& tree, const std::string& path) {
    if (tree.is_object()) {
        for (const auto& [name, member] : tree.items()) expect_same(read, member, path + (path.empty() ? "" : ".") + name);
        return;
    }
    Texts texts;
    std::vector<std::uint64_t> numbers;
    if (tree.is_array()) add_listed(tree, texts, numbers);
    EXPECT_EQ(read.is_null(path), tree.is_null()) << path;
    EXPECT_EQ(read.flag(path), tree.is_boolean() ? std::optional(tree.get<bool>()) : std::nullopt) << path;
    EXPECT_EQ(read.whole_number(path), tree.is_number_unsigned() ? std::optional(tree.get<std::uint64_t>()) : std::nullopt);
    EXPECT_EQ(read.number(path), tree.is_number() ? std::optional(tree.get<double>()) : std::nullopt) << path;
    EXPECT_EQ(read.text(path), tree.is_string() ? std::optional(tree.get<std::string>()) : std::nullopt) << path;
    EXPECT_EQ(read.list_size(path), tree.is_array() ? std::optional(elements_of(tree)) : std::nullopt) << path;
    EXPECT_EQ(read.texts(path), texts) << path;
    EXPECT_EQ(read.whole_numbers(path), numbers) << path;
}

TEST(JsonObjects, HaveWhatATreeHas) {
    std::mt19937 random(1);
    std::size_t taken = 0;
    for (int round = 0; round < 3000; ++round) {
        Json tree = {{"x", random_json(random, 5)}, {"y", random_json(random, 5)}};
        Taken items;
        add_items(tree, "", items);
        std::size_t at = 0;
        const auto read = JsonObject::read(tree.dump(), [&](std::string_view path, const JsonObject& item) {
            ASSERT_LT(at, items.size());
            EXPECT_EQ(path, items[at].first) << tree;
            expect_same(item, items[at].second, "");
            ++at;
        });
        ASSERT_TRUE(read) << tree;
        EXPECT_EQ(at, items.size()) << tree;
        expect_same(*read, tree, "");
        taken += at;
    }
    EXPECT_GT(taken, 1000U);
}

TEST(JsonObjects, AreReadHoweverDeepListsAre) {
    constexpr int deep = 20000;
    EXPECT_EQ(of(repeated("[", deep) + "\"a\"" + repeated("]", deep)).texts("x"), (Texts{"a"}));
    EXPECT_TRUE(of(repeated("{\"x\":", 100) + "1" + repeated("}", 100)).has("x.x.x.x"));
    for (const auto& [begin, end] : {std::pair{"{\"x\":", "}"}, std::pair{"[{\"x\":", "}]"}})
        EXPECT_FALSE(JsonObject::read("{\"x\":" + repeated(begin, deep) + "1" + repeated(end, deep) + "}")) << "no such long paths";
}

}  // namespace
}  // namespace headway::glue::test
