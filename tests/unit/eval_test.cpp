// SPDX-License-Identifier: Apache-2.0
// What headway-eval does around the models: lines, ids, mistakes.
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "eval_interface.hpp"
#include "eval_lines.hpp"

namespace headway::test {
namespace {

EvalJson answer_to(std::string_view line) { return EvalJson::parse(eval_line(line).line); }

std::string error_of(std::string_view line) {
    const EvalJson answer = answer_to(line);
    EXPECT_FALSE(answer.contains("result"));
    return answer.value("error", "");
}

TEST(EvalLine, FindsTheIdOfABrokenLine) {
    EXPECT_EQ(answer_to(R"({"id":7,"model":)")["id"], 7);
    EXPECT_EQ(answer_to(R"({"id":"a","x":1e999})")["id"], "a");
    EXPECT_EQ(answer_to(R"({"x":{"id":1},"id":"b",)")["id"], "b");
    EXPECT_TRUE(answer_to(R"({"x":{"id":1},)")["id"].is_null());
    EXPECT_TRUE(answer_to("").contains("error"));
}

TEST(EvalLine, RefusesDeepNesting) {
    const std::string deep = R"({"id":3,"input":)" + std::string(1'000'000, '[');
    EXPECT_EQ(error_of(deep), "nested deeper than 32");
    EXPECT_EQ(answer_to(deep)["id"], 3);
}

TEST(EvalLine, NamesWhatIsWrongAroundTheInput) {
    EXPECT_EQ(error_of("[]"), "a line must be a JSON object");
    EXPECT_EQ(error_of(R"({"id":1,"model":"m","op":"o"})"), "input: is missing");
    EXPECT_EQ(error_of(R"({"id":1,"model":"m","op":"o","input":{},"x":1})"), "x: unknown key");
    EXPECT_EQ(error_of(R"({"id":[],"model":"m","op":"o","input":{}})"),
              "id: must be a string or a number");
    EXPECT_EQ(error_of(R"({"id":1,"model":2,"op":"o","input":{}})"), "model: must be a string");
    EXPECT_NE(error_of(R"({"id":1,"model":"m","op":"o","input":{}})").find("unknown model \"m\""),
              std::string::npos);
}

TEST(EvalStream, AnswersEveryLineInOrder) {
    std::istringstream in("\n{\"id\":1}\nnonsense\n{\"id\":2}");
    std::ostringstream out;
    EXPECT_FALSE(eval_stream(in, out));
    std::istringstream lines(out.str());
    std::vector<EvalJson> ids;
    for (std::string line; std::getline(lines, line);) {
        ids.push_back(EvalJson::parse(line)["id"]);
    }
    EXPECT_EQ(ids, (std::vector<EvalJson>{nullptr, 1, nullptr, 2}));
}

// Any bytes: as many answers as lines, each of them JSON with an error.
TEST(EvalStream, AnswersAnyBytes) {
    std::mt19937 random(1);
    const std::string_view alphabet = "{}[]\":,0123456789eE+-.truefalsn\\u \n\xff\xc3\0id";
    std::string bytes;
    for (int i = 0; i < 200'000; ++i) {
        bytes += i % 3 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    }
    bytes += '\n';
    std::istringstream in(bytes);
    std::ostringstream out;
    EXPECT_FALSE(eval_stream(in, out));
    const std::string answers = out.str();
    EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'),
              std::count(bytes.begin(), bytes.end(), '\n'));
    std::istringstream lines(answers);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_TRUE(EvalJson::parse(line).contains("error")) << line;
    }
}

// Questions with a few bytes replaced: an answer that is JSON, whatever comes of it.
TEST(EvalLine, AnswersBrokenQuestions) {
    const std::vector<std::string> lines{
        R"({"id":1,"model":"plogpt","op":"simulate","input":{"b":[3,4],"d":[1,2],"clamp":true,)"
        R"("eps_s":0.01,"gap":[[1,8],[5,9]],"L":3,"rto":{"policy":"all","eps_t":1,"t_rto":2},)"
        R"("programs":[[["irecv",1,1],["isend",1,1],["wait",1]],[["isend",0,1],["irecv",0,2],["wait",0]]]}})",
        R"({"id":1,"model":"plogpt","op":"simulate_alltoall","input":{"b":[3,4],"d":[2,2],"clamp":true,)"
        R"("eps_s":0.01,"eps_t":1e-3,"t_rto":100,"P":4,"m":9,"g":8,"L":3,"algorithm":"b","rto":"random:1"}})",
        R"({"id":1,"model":"plogpt","op":"rates","input":{"b":[3,4],"clamp":true,"flows":[[0,2],[1,3],[0,1]]}})",
        R"({"id":1,"model":"congestion","op":"algorithm1","input":{"nic":940,"backbone":9400,"nodes":["a","b","c"],)"
        R"("rack":[0,0,1],"links":[["b","a"],["c","a"]]}})",
        R"({"id":1,"model":"contention","op":"fit","input":{"n":11,"samples":[[500,0.01],[1000,0.02],[2000,0.07]],)"
        R"("alpha":0,"beta":1e-6,"M":2000,"cov":[[2,1,0],[1,2,0],[0,0,2]],"which":"all"}})",
        R"({"id":1,"model":"manytoone","op":"one_to_many","input":{"root":{"C":0.01,"t":1e-6},)"
        R"("dests":[{"C":0.001,"t":0}],"rates":[1e6],"M":1000,"S":999}})",
        R"({"id":1,"model":"matb","op":"tree","input":{"edges":[["a","r",8,2],["x","a",9,9]],)"
        R"("pairs":[["x","a"]],"links":"trunk+up"}})",
    };
    constexpr std::string_view bytes = "0123456789.-eE[]{}\",:ntrue ";
    std::mt19937 random(2);
    for (int i = 0; i < 7000; ++i) {
        std::string line = lines[random() % lines.size()];
        for (auto broken = 1 + random() % 4; broken > 0; --broken) {
            line[random() % line.size()] = bytes[random() % bytes.size()];
        }
        const EvalAnswer answered = eval_line(line);
        const auto json = EvalJson::parse(answered.line);
        EXPECT_EQ(json.contains("result"), answered.good) << line;
        EXPECT_NE(json.contains("error"), answered.good) << line;
    }
}

// ---------------------------------------------------------------------- reader

/// Returns what `read` says of the input.
template <class Read>
std::string mistake(const char* input, Read read) {
    const EvalJson json = EvalJson::parse(input);
    EvalInput in(json);
    read(in);
    return in.finish().value_or("");
}

TEST(EvalInput, ChecksNumbers) {
    const auto read = [](EvalInput& in) { (void)in["x"].number(Sign::positive); };
    EXPECT_EQ(mistake(R"({"x":1e-9})", read), "");
    EXPECT_EQ(mistake(R"({"x":0})", read), "x: must be a positive number");
    EXPECT_EQ(mistake(R"({"x":"1"})", read), "x: must be a positive number");
    EXPECT_EQ(mistake(R"({"x":null})", read), "x: must be a positive number");
    EXPECT_EQ(mistake(R"({})", read), "x: is missing");
    EXPECT_EQ(mistake(R"({"x":1,"y":2})", read), "y: unknown key");
    EXPECT_EQ(mistake(R"([])", read), "input: must be an object");
}

TEST(EvalInput, TakesNullForInfiniteWhereAsked) {
    const EvalJson json = EvalJson::parse(R"({"x":null,"l":[1,null]})");
    EvalInput in(json);
    EXPECT_EQ(in["x"].number_or_infinite(), std::numeric_limits<double>::infinity());
    EXPECT_EQ(in["l"].numbers_or_infinite(0, 9).back(), std::numeric_limits<double>::infinity());
    EXPECT_EQ(in.finish(), std::nullopt);
}

TEST(EvalInput, ChecksCounts) {
    const auto read = [](EvalInput& in) { (void)in["n"].count(2, 10); };
    EXPECT_EQ(mistake(R"({"n":10})", read), "");
    EXPECT_EQ(mistake(R"({"n":2.0})", read), "");
    for (const char* wrong : {R"({"n":1})", R"({"n":11})", R"({"n":2.5})", R"({"n":-3})",
                              R"({"n":1e300})", R"({"n":true})"}) {
        EXPECT_EQ(mistake(wrong, read), "n: must be a whole number from 2 to 10") << wrong;
    }
}

TEST(EvalInput, TellsThePlace) {
    const auto read = [](EvalInput& in) {
        const EvalValue pairs = in["pairs"];
        for (std::size_t i = 0; i < pairs.size(0, 9); ++i) {
            if (pairs[i].size(2, 2) == 0) continue;
            if (!pairs[i][0].is_object_of({"C", "t"})) continue;
            (void)pairs[i][0].member("C").number();
            (void)pairs[i][1].number();
        }
    };
    EXPECT_EQ(mistake(R"({"pairs":[[{"C":1,"t":2},3]]})", read), "");
    EXPECT_EQ(mistake(R"({"pairs":[[{"C":"1","t":2},3]]})", read),
              "pairs[0][0].C: must be a number");
    EXPECT_EQ(mistake(R"({"pairs":[[{"C":1,"t":2},3],[{"C":1,"t":2},{}]]})", read),
              "pairs[1][1]: must be a number");
    EXPECT_EQ(mistake(R"({"pairs":[[{"C":1,"u":2},3]]})", read),
              "pairs[0][0]: must be an object of \"C\", \"t\"");
    EXPECT_EQ(mistake(R"({"pairs":[[1]]})", read), "pairs[0]: must be an array of 2");
    EXPECT_EQ(mistake(R"({"pairs":[1,1,1,1,1,1,1,1,1,1]})", read),
              "pairs: must be an array of 0 to 9");
}

TEST(EvalInput, ChecksChoices) {
    const auto read = [](EvalInput& in) { (void)in["c"].choice({"a", "b"}); };
    EXPECT_EQ(mistake(R"({"c":"b"})", read), "");
    EXPECT_EQ(mistake(R"({"c":"x"})", read), R"(c: must be one of "a", "b")");
    EXPECT_EQ(mistake(R"({"c":1})", read), R"(c: must be one of "a", "b")");
}

}  // namespace
}  // namespace headway::test
