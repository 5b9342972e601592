// SPDX-License-Identifier: Apache-2.0
#include "object_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace headway::glue::test {

using Json = nlohmann::json;

namespace {

TEST(ObjectTexts, HaveMembersOfEveryKind) {
    ObjectText request("traffic");
    request.text("job", "j").texts("hosts", {"a0", "b0"}).texts("none", {}).number("rank", -1);
    request.number("most", std::numeric_limits<std::uint64_t>::max()).flag("one_call", true).flag("not", false);
    request.numbers("flows", {{{0, 1, 1000}}, {{1, 0, 250}}}).numbers("no_flows", {});
    EXPECT_EQ(request.op(), "traffic");
    EXPECT_EQ(request.object(),
              R"({"op":"traffic","job":"j","hosts":["a0","b0"],"none":[],"rank":-1,"most":18446744073709551615,)"
              R"("one_call":true,"not":false,"flows":[[0,1,1000],[1,0,250]],"no_flows":[]})");
}

TEST(ObjectTexts, AreReadAsTheyWereMeant) {
    std::string all;
    for (char byte = 0; byte < 0x7f; ++byte) all += byte;
    all += "\x7f \u00e9 \u20ac \U0001f600";
    const auto read = Json::parse(ObjectText("hello").text("job", all).texts("hosts", {all, ""}).object());
    EXPECT_EQ(read, (Json{{"op", "hello"}, {"job", all}, {"hosts", {all, ""}}}));
}

TEST(ObjectTexts, HaveNumbersThatMayBeNone) {
    const auto text = [](std::optional<double> value) { return ObjectText().number("x", value).object(); };
    for (const double value : {0.0, 4.0, -0.25, 1e-5, 0.1 + 0.2, 1e300, std::numeric_limits<double>::min()})
        EXPECT_EQ(Json::parse(text(value))["x"].get<double>(), value);
    for (const double value : {HUGE_VAL, -HUGE_VAL, std::nan("")}) EXPECT_EQ(text(value), "{\"x\":null}");
    EXPECT_EQ(text(std::nullopt), "{\"x\":null}");
    EXPECT_EQ(ObjectText().number("x", std::optional<std::uint64_t>(7)).object(), "{\"x\":7}");
    EXPECT_EQ(ObjectText().number("x", std::optional<std::uint64_t>()).object(), "{\"x\":null}");
}

TEST(ObjectTexts, ReplaceWhatIsNoUtf8) {
    EXPECT_EQ(ObjectText("a\xff").text("job", "\xe2\x82 b \xc0").object(),
              "{\"op\":\"a\ufffd\",\"job\":\"\ufffd b \ufffd\"}");
}

}  // namespace
}  // namespace headway::glue::test
