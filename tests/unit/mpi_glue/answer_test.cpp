// SPDX-License-Identifier: Apache-2.0
#include "answer.hpp"

#include <gtest/gtest.h>

namespace headway::glue::test {
namespace {

using Texts = std::vector<std::string>;

/// Of an answer whose member "x" is `json`.
Answer of(const std::string& json) { return *Answer::read("{\"x\":" + json + "}"); }

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int at = 0; at < times; ++at) all += text;
    return all;
}

TEST(Answers, HaveMembersByTheirPath) {
    const std::string text = R"( {"ok": true, "id": 7, "node": "a\"0\u00e9", "predicted": {"low_s": 1, "high_s": 2.5,
        "of": {"x": "y"}}, "after": null} )";
    const auto answer = Answer::read(text);
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

TEST(Answers, OfAnotherTypeAreNone) {
    for (const char* json : {"null", "{}", "[]", "[true,1,2.5]", "{\"x\":1}"}) {
        const Answer answer = of(json);
        EXPECT_FALSE(answer.flag("x") || answer.whole_number("x") || answer.number("x") || answer.text("x")) << json;
        EXPECT_EQ(answer.texts("x"), Texts()) << json;
    }
    EXPECT_FALSE(of("1").flag("x") || of("1").text("x") || of("\"1\"").number("x") || of("true").number("x"));
    EXPECT_EQ(of("\"text\"").texts("x"), Texts());
}

TEST(Answers, HaveNumbersOfEverySize) {
    EXPECT_EQ(of("9223372036854775808").whole_number("x"), 1ULL << 63);
    EXPECT_EQ(of("18446744073709551615").whole_number("x"), ~0ULL);
    EXPECT_EQ(of("18446744073709551616").whole_number("x"), std::nullopt);
    EXPECT_EQ(of("18446744073709551616").number("x"), 18446744073709551616.0);
    EXPECT_EQ(of("-3").whole_number("x"), std::nullopt);
    EXPECT_EQ(of("-3").number("x"), -3.0);
    EXPECT_EQ(of("7.0").whole_number("x"), std::nullopt);
}

TEST(Answers, HaveListsOfTexts) {
    EXPECT_EQ(of(R"(["a",["b"],{"c":"d"},{"e":["f"]},7,"g"])").texts("x"), (Texts{"a", "g"}));
    const auto answer = Answer::read(R"({"x":[{"y":"in a list"}],"y":"member","z":{"x":["q"]}})");
    EXPECT_EQ(answer->texts("x"), Texts());
    EXPECT_EQ(answer->text("y"), "member");
    EXPECT_EQ(answer->texts("z.x"), (Texts{"q"}));
}

TEST(Answers, TakeTheLastOfOneName) {
    const auto answer = Answer::read(R"({"x":1,"y":["a"],"x":"text","y":["b"]})");
    EXPECT_EQ(answer->text("x"), "text");
    EXPECT_FALSE(answer->number("x"));
    EXPECT_EQ(answer->texts("y"), (Texts{"b"}));
}

TEST(Answers, ThatAreNoObjectAreNone) {
    for (const char* text : {"", " ", "{", "{\"a\":1", "{\"a\":1}}", "{\"a\"}", "{a:1}", "[]", "[{}]", "7", "\"text\"", "null",
                             "{\"a\":1e999}", "{\"a\":\"\xff\"}", "{} x", "{\"a\":\"\\ud800\"}", "{\"a\":01}"})
        EXPECT_FALSE(Answer::read(text)) << text;
    EXPECT_TRUE(Answer::read("{}"));
}

TEST(Answers, AreReadHoweverDeepTheyAre) {
    constexpr int deep = 20000;
    EXPECT_EQ(of(repeated("[", deep) + repeated("]", deep)).texts("x"), Texts());
    EXPECT_EQ(of("[" + repeated("{\"x\":", deep) + "1" + repeated("}", deep) + ",\"a\"]").texts("x"), (Texts{"a"}));
    EXPECT_TRUE(of(repeated("{\"x\":", 100) + "1" + repeated("}", 100)).has("x.x.x.x"));
    EXPECT_FALSE(Answer::read(repeated("{\"x\":", deep) + "1" + repeated("}", deep))) << "no such names are in the protocol";
}

}  // namespace
}  // namespace headway::glue::test
