// SPDX-License-Identifier: Apache-2.0
#include "formats/matrix_csv.hpp"
#include "formats/matrix_json.hpp"
#include "formats/open_mpi_monitoring.hpp"
#include "formats/open_mpi_rules.hpp"
#include "formats_golden.hpp"

namespace headway {
namespace {

using test::golden;
using test::told;

using Rows = std::vector<std::vector<std::uint64_t>>;

Rows bytes_of(const TrafficMatrix& matrix) {
    Rows rows(matrix.ranks(), std::vector<std::uint64_t>(matrix.ranks()));
    for (const TrafficFlow& flow : matrix.flows()) rows[flow.source][flow.destination] = flow.bytes;
    return rows;
}

TEST(TrafficMatrix, AddsUpAndSorts) {
    const auto matrix = TrafficMatrix::make(3, {{2, 0, 5, 1}, {0, 1, 1, 1}, {2, 0, 6, 2}, {1, 1, 0, 0}});
    ASSERT_TRUE(matrix);
    ASSERT_EQ(matrix->flows().size(), 2U);
    EXPECT_EQ(matrix->flows()[1], (TrafficFlow{2, 0, 11, 3}));
    EXPECT_EQ(matrix->bytes(0, 1), 1U);
    EXPECT_EQ(matrix->bytes(1, 0), 0U);
    EXPECT_EQ(TrafficMatrix::make(2, {{2, 0, 5, 1}}).error().message,
              "a message from rank 2 to rank 0, but there are 2 ranks");
    EXPECT_FALSE(TrafficMatrix::make(2, {{1, 0, UINT64_MAX, 1}, {1, 0, 1, 1}}));
    EXPECT_FALSE(TrafficMatrix::make(65537, {}));
}

// Written by Open MPI 4.1.4: an all-to-all of 5000 bytes between 3 ranks, then 4
// bytes to the next rank.
TEST(OpenMpiMonitoring, ReadsARun) {
    const std::vector<std::string> texts{golden("open_mpi_monitoring/p.0.prof"),
                                         golden("open_mpi_monitoring/p.1.prof"),
                                         golden("open_mpi_monitoring/p.2.prof")};
    std::vector<NamedText> files;
    for (const std::string& text : texts) files.push_back({"p", text});
    const auto matrix = read_open_mpi_monitoring(files);
    ASSERT_TRUE(matrix) << told(matrix);
    EXPECT_EQ(matrix->ranks(), 3U);
    EXPECT_EQ(bytes_of(*matrix), (Rows{{0, 5004, 5000}, {5000, 0, 5004}, {5004, 5000, 0}}));
    EXPECT_NEAR(matrix->message_bytes().value(), (6 * 5000 + 3 * 4) / 13.0, 1e-9) << "some are empty";
}

TEST(OpenMpiMonitoring, TellsMistakes) {
    const auto read = [](std::string_view text) {
        const NamedText file{"p", text};
        return told(read_open_mpi_monitoring(std::span(&file, 1)));
    };
    EXPECT_EQ(read("# POINT TO POINT\n"),
              "p: no message between two ranks is counted; name files that Open MPI's "
              "pml_monitoring has written, unchanged\n");
    EXPECT_NE(read("E\t0\t1\t5 bytes\t1 msgs sent\nX\t1\n").find("p:2: the line starts with \"X\""),
              std::string::npos);
    EXPECT_NE(read("E\t0\t1\t5 octets\t1 msgs sent\n").find("p:1: E: "), std::string::npos);
    EXPECT_NE(read("E\t0\t70000\t5 bytes\t1 msgs sent\n").find("a rank is not less than 65536"),
              std::string::npos);
    EXPECT_NE(read("E\t0\t1\n").find("p:1: E: "), std::string::npos);
}

// A fetch moves bytes to whoever fetches.
TEST(OpenMpiMonitoring, FetchesGoTheOtherWay) {
    const NamedText file{"p", "R\t0\t1\t5 bytes\t1 msgs sent\nS\t0\t1\t7 bytes\t1 msgs sent\n"};
    const auto matrix = read_open_mpi_monitoring(std::span(&file, 1));
    ASSERT_TRUE(matrix);
    EXPECT_EQ(matrix->bytes(1, 0), 5U);
    EXPECT_EQ(matrix->bytes(0, 1), 7U);
}

/// Each with the names that Open MPI gives, and of each what it sends to the next rank.
TEST(OpenMpiMonitoring, ARankWithoutAFileIsToldOf) {
    const auto read = [](const std::vector<std::uint32_t>& ranks, const std::string& name) {
        std::vector<std::string> names, texts;
        for (const std::uint32_t rank : ranks) {
            names.push_back(name + std::to_string(rank) + ".prof");
            texts.push_back("E\t" + std::to_string(rank) + "\t" + std::to_string((rank + 1) % 4) +
                            "\t5 bytes\t1 msgs sent\n");
        }
        std::vector<NamedText> files;
        for (std::size_t i = 0; i < names.size(); ++i) files.push_back({names[i], texts[i]});
        return told(read_open_mpi_monitoring(files));
    };
    EXPECT_EQ(read({3, 0, 2, 1}, "d/run."), "no mistakes");
    EXPECT_EQ(read({0, 1, 3}, "d/run."),
              "d/run.0.prof: of 4 ranks there is no file of 2; name the files of all ranks, "
              "d/run.*.prof\n");
    EXPECT_NE(read({0}, "run.").find("of 2 ranks there is no file of 1;"), std::string::npos);
    EXPECT_NE(read({12}, "run.").find("of 13 ranks there is no file of 0, 1, 2, 3, 4, ...;"),
              std::string::npos);
    EXPECT_EQ(read({0}, "ranks-of-all-"), "no mistakes")
        << "a name of somebody's own, perhaps of all in one";
}

/// 64 bits hold whatever is computed from the sums.
TEST(TrafficMatrix, RefusesMoreThanCanBeComputedWith) {
    constexpr std::uint64_t all = TrafficMatrix::bytes_max, most = TrafficMatrix::messages_max;
    EXPECT_TRUE(TrafficMatrix::make(3, {{0, 1, all - 5, most - 1}, {1, 2, 5, 1}}));
    for (const std::vector<TrafficFlow>& flows : {std::vector<TrafficFlow>{{0, 1, all + 1, 0}},
                                                  {{0, 1, all - 5, 0}, {1, 2, 6, 0}},
                                                  {{0, 1, all - 5, 0}, {0, 1, 6, 0}},
                                                  {{0, 1, ~std::uint64_t{0}, 0}, {1, 0, 2, 0}},
                                                  {{0, 1, 1, most}, {1, 2, 1, 1}},
                                                  {{0, 1, 1, ~std::uint64_t{0}}}}) {
        const auto matrix = TrafficMatrix::make(3, flows);
        ASSERT_FALSE(matrix);
        EXPECT_NE(matrix.error().message.find("more than 1 EiB or"), std::string::npos)
            << matrix.error().message;
    }
}

TEST(MatrixCsv, IsRead) {
    const auto matrix = read_matrix_csv(golden("matrix_csv/three.csv"), "m");
    ASSERT_TRUE(matrix) << told(matrix);
    EXPECT_EQ(bytes_of(*matrix), (Rows{{0, 1000, 2000}, {1000, 0, 1'152'921'504'606'842'976}, {0, 0, 0}}));
}

TEST(MatrixCsv, TellsMistakes) {
    const auto read = [](std::string_view text) { return told(read_matrix_csv(text, "m")); };
    EXPECT_NE(read("").find("m: it is empty"), std::string::npos);
    EXPECT_NE(read("0,1\n").find("m: 1 lines, but 2 columns"), std::string::npos);
    EXPECT_NE(read("0,1\n1\n").find("m:2: 1 columns, but the first line has 2"), std::string::npos);
    EXPECT_NE(read("0,x\n1,0\n").find("m:1: column 2: \"x\" is no whole number"), std::string::npos);
    EXPECT_NE(read("0,-1\n1,0\n").find("column 2"), std::string::npos);
    EXPECT_NE(read(std::string(5000, ',')).find("m:1: "), std::string::npos);
}

TEST(MatrixJson, BothFormsAreRead) {
    const auto dense = read_matrix_json(golden("matrix_json/dense.json"), "m");
    ASSERT_TRUE(dense) << told(dense);
    EXPECT_EQ(dense->bytes(1, 0), 2000U);
    const auto sparse = read_matrix_json(golden("matrix_json/sparse.json"), "m");
    ASSERT_TRUE(sparse) << told(sparse);
    EXPECT_EQ(sparse->ranks(), 3U);
    EXPECT_EQ(*sparse, *TrafficMatrix::make(3, {{0, 1, 1000, 2}, {1, 2, 2000, 0}}));
}

TEST(MatrixJson, TellsMistakes) {
    const auto read = [](std::string_view text) { return told(read_matrix_json(text, "m")); };
    EXPECT_NE(read("{\n\n x").find("m:3: syntax: it is no JSON"), std::string::npos);
    EXPECT_NE(read("[]").find("it is no JSON object"), std::string::npos);
    EXPECT_NE(read("{}").find("it has neither bytes nor"), std::string::npos);
    EXPECT_NE(read(R"({"bytes":[[1]],"x":1})").find("unknown member"), std::string::npos);
    EXPECT_NE(read(R"({"bytes":[[1,2]]})").find("bytes[0]: it is no array of 1"), std::string::npos);
    EXPECT_NE(read(R"({"bytes":[[1.5]]})").find("bytes[0][0]: it is no whole"), std::string::npos);
    EXPECT_NE(read(R"({"ranks":1,"flows":[{"source":1,"destination":0,"bytes":1}]})")
                  .find("flows[0]: a rank is not less than 1"), std::string::npos);
    EXPECT_NE(read(R"({"ranks":1,"flows":[{"source":0,"destination":0}]})")
                  .find("flows[0]: its member bytes is missing"), std::string::npos);
    EXPECT_NE(read(R"({"ranks":0,"flows":[]})").find("ranks: it is not 1 to"), std::string::npos);
    EXPECT_NE(read(R"({"bytes":[[1e999]]})").find("syntax"), std::string::npos);
    EXPECT_NE(read(std::string(1 << 20, '[')).find("syntax"), std::string::npos);
}

TEST(OpenMpiRules, AreWritten) {
    using Algorithm = OpenMpiAlltoall;
    const std::vector<OpenMpiCommunicatorRule> rules{
        {2, {{0, Algorithm::library_decides}}},
        {8, {{0, Algorithm::modified_bruck}, {65536, Algorithm::pairwise}}}};
    EXPECT_EQ(*write_open_mpi_alltoall_rules(rules),
              "1 # collectives with rules\n3 # is MPI_Alltoall\n2 # sizes of communicators\n"
              "2 # processes or more\n1 # sizes of messages\n"
              "0 0 0 0 # bytes or more, algorithm, fan-out, segment\n"
              "8 # processes or more\n2 # sizes of messages\n"
              "0 3 0 0 # bytes or more, algorithm, fan-out, segment\n"
              "65536 2 0 0 # bytes or more, algorithm, fan-out, segment\n");
    auto bad = rules;
    bad[1].processes = 2;
    EXPECT_EQ(write_open_mpi_alltoall_rules(bad).error().message,
              "the sizes of communicators do not rise at 2");
    bad = rules;
    bad[1].messages[0].sent_bytes = 1;
    EXPECT_FALSE(write_open_mpi_alltoall_rules(bad));
    bad = rules;
    bad[1].messages[1].sent_bytes = 0;
    EXPECT_FALSE(write_open_mpi_alltoall_rules(bad));
}

}  // namespace
}  // namespace headway
