// SPDX-License-Identifier: Apache-2.0
#include "network/measured_document.hpp"

#include "base/json.hpp"

namespace headway {
namespace {

using Json = nlohmann::json;
using Document = MeasuredDocument;

constexpr std::size_t list_max = 10'000'000;
constexpr std::size_t text_max_bytes = 100'000;
constexpr std::uint64_t bytes_max = 1'000'000'000'000, rounds_max = 1'000'000'000;

/// None: null, or it is not there.
std::optional<double> known(const JsonValue& value, Sign sign = Sign::any) {
    if (!value.is_there() || value.is_null()) return std::nullopt;
    return value.number(sign);
}

std::vector<std::string> texts(const JsonValue& list) {
    std::vector<std::string> texts(list.size(0, list_max));
    for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = list[i].string(text_max_bytes);
    return texts;
}

class DocumentReader {
public:
    explicit DocumentReader(const Json& json) : top_(json) {
        each_row(json, "hosts", "hosts", [&](JsonReader& in, const Json&) { read_host(in); });
        read_circumstances();
        each_row(json, "links", "links", [&](JsonReader& in, const Json&) { read_link(in); });
        read_round_trips(top_.optional("round_trips"));
        each_row(json, "buffer_sharing", "buffer_sharing",
                 [&](JsonReader& in, const Json&) { read_sharing(in); });
        each_row(json, "heights", "heights", [&](JsonReader& in, const Json&) { read_height(in); });
        if (const auto found = json.find("messages"); found != json.end() && !found->is_null())
            read_messages(*found);
        read_models(json);
        document_.differences = texts(top_.optional("differences"));
        document_.remarks = texts(top_.optional("remarks"));
    }

    [[nodiscard]] tl::expected<Document, std::string> take() {
        if (top_.mistake()) return tl::unexpected(*top_.mistake());
        return std::move(document_);
    }

private:
    /// `read(reader, row)` of each row of an array of objects; nothing of one that is not there.
    void each_row(const Json& object, std::string_view key, std::string_view place,
                  const auto& read) {
        const auto rows = object.find(key);
        if (rows == object.end() || rows->is_null()) return;
        if (!rows->is_array()) return top_.fail("{}: it is no array", place);
        for (const Json& row : *rows) {
            if (top_.has_failed()) return;
            JsonReader in(row);
            read(in, row);
            if (const auto error = in.finish()) top_.fail("{}: {}", place, *error);
        }
    }

    void read_host(JsonReader& in) {
        Document::Host& host = document_.hosts.emplace_back();
        host.name = in["name"].string(text_max_bytes);
        host.address = in.optional("address").string(text_max_bytes);
        host.node = in.optional("node").string(text_max_bytes);
    }

    void read_circumstances() {
        document_.headway = top_.optional("headway").string(text_max_bytes);
        document_.bytes_sent = top_.optional("bytes_sent").count(0, UINT64_MAX);
        document_.seconds = known(top_.optional("seconds"));
        document_.start_skew_s = known(top_.optional("start_skew_s"));
        document_.resolution_s = known(top_.optional("resolution_s"));
    }

    bool choice(const JsonValue& value, std::string_view yes, std::string_view no) {
        const std::string_view text = value.string(text_max_bytes);
        if (text != yes && text != no) value.fail("must be \"{}\" or \"{}\"", yes, no);
        return text == yes;
    }

    void read_link(JsonReader& in) {
        Document::Link& link = document_.links.emplace_back();
        link.hosts = texts(in["hosts"]);
        link.is_trunk = in.optional("is_trunk").boolean();
        link.is_up = choice(in["direction"], "up", "down");
        link.bps = known(in["bps"], Sign::not_negative);
        link.is_exact = in["exact"].boolean();
        link.delay_s = known(in.optional("delay_s"));
        link.buffer_bytes = known(in.optional("buffer_bytes"), Sign::not_negative);
        link.buffer_error_bytes = known(in.optional("buffer_error_bytes"), Sign::not_negative);
        const JsonValue is_exact = in["buffer_exact"];
        link.is_buffer_exact = is_exact.boolean();
        if (link.is_buffer_exact && !(link.buffer_bytes && link.buffer_error_bytes))
            is_exact.fail("must be false where there is no buffer_bytes or buffer_error_bytes");
    }

    /// [i, j] at the front of a list.
    Document::Pair pair_of(const JsonValue& list) {
        const std::size_t last = document_.hosts.empty() ? 0 : document_.hosts.size() - 1;
        return {list[0].count(0, last), list[1].count(0, last)};
    }

    std::vector<Document::Pair> pairs_of(const JsonValue& list, std::size_t least) {
        std::vector<Document::Pair> pairs;
        for (std::size_t i = 0, n = list.size(least, list_max); i < n; ++i) {
            const JsonValue pair = list[i];
            if (pair.size(2, 2) == 2) pairs.push_back(pair_of(pair));
        }
        return pairs;
    }

    void read_round_trips(const JsonValue& list) {
        for (std::size_t i = 0, n = list.size(0, list_max); i < n; ++i) {
            const JsonValue trip = list[i];
            if (trip.size(4, 4) == 4)
                document_.round_trips.push_back(
                    {pair_of(trip), trip[2].number(), trip[3].number()});
        }
    }

    void read_sharing(JsonReader& in) {
        Document::BufferSharing& sharing = document_.buffer_sharing.emplace_back();
        sharing.port = in["port"].string(text_max_bytes);
        sharing.other_port = in["other_port"].string(text_max_bytes);
        sharing.alone_bytes = in["alone_bytes"].number();
        sharing.together_bytes = in["together_bytes"].number();
        sharing.error_bytes = in["error_bytes"].number();
        const JsonValue is_shared = in.optional("shared");
        if (is_shared.is_there() && !is_shared.is_null()) sharing.is_shared = is_shared.boolean();
    }

    void read_height(JsonReader& in) {
        Document::Height& height = document_.heights.emplace_back();
        height.pairs = pairs_of(in["pairs"], 0);
        height.one_way_bytes_per_s = known(in["one_way_bytes_per_s"]);
        height.both_ways_bytes_per_s = known(in["both_ways_bytes_per_s"]);
        height.buffer_delay_s = known(in.optional("buffer_delay_s"));
        height.is_delay_exact = in.optional("buffer_delay_exact").boolean();
    }

    void read_messages(const Json& json) {
        if (!json.is_object()) return top_.fail("messages: it is no object");
        Document::Messages& messages = document_.messages.emplace();
        const auto rows = [&](std::string_view key, const auto& read) {
            each_row(json, key, fmt::format("messages.{}", key), read);
        };
        rows("pairs", [&](JsonReader& in, const Json& row) {
            messages.pairs.push_back(message_pair_of(in, row));
        });
        rows("hosts", [&](JsonReader& in, const Json&) {
            messages.hosts.push_back({known(in["C"]), known(in["t"])});
        });
        rows("shares",
             [&](JsonReader& in, const Json&) { messages.shares.push_back(share_of(in)); });
        rows("all_to_all", [&](JsonReader& in, const Json& row) {
            const auto hosts = in["hosts"].count(2, document_.hosts.size());
            static_cast<void>(in["times"]);
            messages.all_to_all.push_back({hosts, times_of(row, "times", "messages.all_to_all")});
        });
        rows("neighbours", [&](JsonReader& in, const Json& row) {
            auto flows = pairs_of(in["flows"], 1);
            static_cast<void>(in["times"]);
            messages.neighbours.push_back(
                {std::move(flows), times_of(row, "times", "messages.neighbours")});
        });
        messages.many_to_one = times_of(json, "many_to_one", "messages.many_to_one");
        messages.one_to_many = times_of(json, "one_to_many", "messages.one_to_many");
        read_limits(json, messages);
    }

    /// What has one value for all messages.
    void read_limits(const Json& json, Document::Messages& messages) {
        JsonReader in(json);
        messages.least_retransmission_timeout_s =
            known(in.optional("least_retransmission_timeout_s"), Sign::positive);
        if (const auto found = json.find("two_in_one_out");
            found != json.end() && !found->is_null()) {
            JsonReader both(*found);
            messages.two_in_one_out = {known(both["in_bytes_per_s"]),
                                       known(both["out_bytes_per_s"])};
            if (const auto error = both.finish()) top_.fail("messages.two_in_one_out: {}", *error);
        }
        if (in.mistake()) top_.fail("messages.{}", *in.mistake());
    }

    Document::MessagePair message_pair_of(JsonReader& in, const Json& row) {
        Document::MessagePair pair;
        pair.from = in["from"].string(text_max_bytes);
        pair.to = in["to"].string(text_max_bytes);
        pair.latency_s = known(in["L_s"]);
        pair.empty_gap_s = known(in["g0_s"]);
        pair.startup_s = known(in["alpha_s"]);
        pair.per_byte_s = known(in["beta_s_per_byte"]);
        pair.one_way_bytes_per_s = known(in["one_way_bytes_per_s"]);
        pair.both_ways_bytes_per_s = known(in["both_ways_bytes_per_s"]);
        static_cast<void>(in["round_trips"]);
        pair.round_trips = times_of(row, "round_trips", "messages.pairs");
        const JsonValue gap = in["gap"];
        for (std::size_t i = 0, n = gap.size(0, list_max); i < n; ++i) {
            const auto point = gap[i].numbers(2, 2);
            if (point.size() == 2) pair.gap.push_back({point[0], point[1]});
        }
        return pair;
    }

    Document::Share share_of(JsonReader& in) {
        using Direction = Document::Share::Direction;
        Document::Share share;
        share.hosts = texts(in["hosts"]);
        const JsonValue direction = in["direction"];
        const std::string_view text = direction.string(text_max_bytes);
        if (text == "trunk") share.direction = Direction::trunk;
        else share.direction = choice(direction, "in", "out") ? Direction::in : Direction::out;
        share.flows = in["flows"].count(0, UINT64_MAX);
        share.total_bytes_per_s = known(in["total_bytes_per_s"]);
        share.least_bytes_per_s = known(in["least_bytes_per_s"]);
        share.most_bytes_per_s = known(in["most_bytes_per_s"]);
        return share;
    }

    std::vector<Document::Time> times_of(const Json& object, std::string_view key,
                                         std::string_view place) {
        std::vector<Document::Time> times;
        each_row(object, key, place,
                 [&](JsonReader& in, const Json&) { times.push_back(time_of(in)); });
        return times;
    }

    Document::Time time_of(JsonReader& in) {
        Document::Time time;
        const JsonValue seconds = in["seconds"];
        time.bytes = in["bytes"].count(1, bytes_max);
        time.mean_s = known(seconds, Sign::positive);
        time.half_width_s = known(in["half_width_s"]);
        time.rounds = in["rounds"].count(0, rounds_max);
        time.retransmissions = in["retransmissions"].count(0, UINT64_MAX);
        time.median_s = known(in.optional("median_s"), Sign::positive);
        const JsonValue levels = in.optional("levels");
        double on_levels = 0;
        for (std::size_t i = 0, n = levels.size(0, list_max); i < n; ++i) {
            const auto level = levels[i].numbers(2, 2, Sign::not_negative);
            if (level.size() != 2) continue;
            time.levels.push_back({level[0], level[1]});
            on_levels += level[1];
        }
        if (seconds.is_null() && time.rounds > 0 && on_levels == 0)
            seconds.fail("must be a positive number where no round is on a level");
        return time;
    }

    void read_models(const Json& json) {
        const auto models = json.find("models");
        if (models == json.end() || models->is_null()) return;
        if (!models->is_array()) return top_.fail("models: it is no array");
        for (const Json& model : *models) {
            if (!model.is_object()) return top_.fail("one of its models is no object");
            document_.models.emplace_back(model);
        }
    }

    JsonReader top_;
    Document document_;
};

}  // namespace

std::vector<std::string> MeasuredDocument::host_names() const {
    std::vector<std::string> names;
    for (const Host& host : hosts) names.push_back(host.name);
    return names;
}

bool is_measured_document(const Json& json) {
    return json.is_object() && json.value("format", Json()) == "headway-measure";
}

tl::expected<MeasuredDocument, std::string> read_measured_document(const Json& json) {
    if (!is_measured_document(json))
        return tl::unexpected(std::string("it is no document of headway measure"));
    return DocumentReader(json).take();
}

FileResult<MeasuredDocument> parse_measured_document(std::string_view text, std::string_view file) {
    auto document = read_measured_document(parse_json<Json>(text));
    if (document) return std::move(*document);
    return tl::unexpected(std::vector<FileError>{{std::string(file), 0, "", document.error(),
                                                  "write it with headway measure --json"}});
}

}  // namespace headway
