// SPDX-License-Identifier: Apache-2.0
#include "trunk/etcd/etcd_watch.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string_view>
#include <thread>

#include "base/hostlist.hpp"
#include "trunk/etcd/watch_stream.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds first_pause = 200ms;
constexpr std::chrono::milliseconds longest_pause = 2s;
constexpr std::size_t complaints_max = 4;

std::string text_of(const grpc::Status& status) {
    return status.error_message().empty() ? "the connection has ended" : status.error_message();
}

bool is_plain(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

/// A packet has to hold it; what is longer or no text is nobody's record.
std::string record_of(const etcd::KeyValue& pair) {
    const std::string& value = pair.value();
    return value.size() <= record_text_max_bytes && is_plain(value) ? value : std::string();
}

bool fits(const EtcdKeys::Parsed& key) {
    return key.host.size() <= host_name_max_bytes && is_plain(key.host);
}

std::chrono::milliseconds with_jitter(std::chrono::milliseconds pause) {
    static std::minstd_rand random{std::random_device()()};
    return pause / 2 + pause * (random() % 100) / 200;
}

}  // namespace

void EtcdWatch::run() {
    auto pause = first_pause;
    for (std::size_t failures = 0;;) {
        EtcdEndpoint& endpoint = connection_.current();
        // a connection is made only while somebody waits for it
        endpoint.channel->WaitForConnected(std::chrono::system_clock::now() + with_jitter(pause));
        watched_ = false;
        complain(endpoint.name + ": " + watch(endpoint));
        connection_.give_up(endpoint);
        if (watched_) {
            pause = first_pause;
            failures = 0;
        } else if (++failures % connection_.endpoints() == 0) {
            std::this_thread::sleep_for(with_jitter(pause / 2));
            pause = std::min(pause * 2, longest_pause);
        }
    }
}

/// Logs each reason of an outage once, even if several take turns, and not too many.
void EtcdWatch::complain(const std::string& why) {
    if (watched_) complaints_.clear();
    if (complaints_.size() >= complaints_max || !complaints_.insert(why).second) return;
    sink_.send(StoreCondition{false, why.substr(0, 512)});
}

std::string EtcdWatch::need_snapshot(std::string why) {
    told_ = 0;
    return why;
}

std::string EtcdWatch::watch(EtcdEndpoint& endpoint) {
    WatchStream stream(connection_, endpoint, progress_, options_.silence);
    Responses early;
    if (auto why = begin(endpoint, stream, early)) return *why;
    watched_ = true;
    sink_.send(StoreCondition{true, endpoint.name});
    for (const etcd::WatchResponse& one : early) {
        if (auto why = tell(one)) return *why;
    }
    etcd::WatchResponse response;
    for (;;) {
        stream.told(told_);
        if (!stream.read(response)) return why_ended(stream);
        if (auto why = tell(response)) return *why;
    }
}

std::string EtcdWatch::why_ended(WatchStream& stream) {
    const grpc::Status status = stream.finish();
    (void)connection_.forget_expired_token(status);
    return text_of(status);
}

/// Up to the moment at which the watch is believed.
std::optional<std::string> EtcdWatch::begin(EtcdEndpoint& endpoint, WatchStream& stream,
                                            Responses& early) {
    // without what the store is known by nothing can be gone on with
    if (settled_by_ == 0) told_ = 0;
    etcd::WatchResponse response;
    if (!stream.create(keys_, told_ == 0 ? 0 : told_ + 1)) return why_ended(stream);
    while (!response.created()) {
        if (!stream.read(response)) return why_ended(stream);
    }
    if (response.canceled()) {
        if (response.compact_revision() == 0) return "the watch is refused: " + response.cancel_reason();
        return need_snapshot("changes since the last one have been compacted");
    }
    const std::uint64_t cluster = response.header().cluster_id();
    if (told_ != 0 && cluster != cluster_) return need_snapshot("the store is another one");

    std::vector<std::string> snapshot;
    Revision revision = told_;
    auto refused = told_ == 0 ? read_snapshot(endpoint, snapshot, revision) : check_settled(endpoint);
    if (refused) return refused;
    const std::uint64_t before = stream.asked();
    if (!stream.ask_progress()) return why_ended(stream);
    while (stream.answered() <= before) {
        if (!stream.read(response)) return why_ended(stream);
        if (response.header().cluster_id() != cluster) return need_snapshot("the store has changed");
        // etcd 3.5 tells nothing of the progress of a watch that it has ended
        if (response.canceled()) return tell(response);
        if (!response.events().empty()) early.push_back(response);
    }
    for (const std::string& packet : snapshot) sink_.send_packet(packet);
    cluster_ = cluster;
    told_ = revision;
    stream.told(told_);
    return std::nullopt;
}

grpc::Status EtcdWatch::read(EtcdEndpoint& endpoint, const std::string& key, const std::string& end,
                             etcd::RangeResponse& response) {
    etcd::RangeRequest request;
    request.set_key(key);
    request.set_range_end(end);
    return connection_.call_at(endpoint, [&](EtcdEndpoint& at, grpc::ClientContext& context) {
        return at.keys->Range(&context, request, &response);
    });
}

std::optional<std::string> EtcdWatch::check_settled(EtcdEndpoint& endpoint) {
    etcd::RangeResponse response;
    const grpc::Status status = read(endpoint, keys_.settled(), "", response);
    if (!status.ok()) return text_of(status);
    if (response.kvs_size() == 1 && number_in(response.kvs(0).value()) == settled_by_ &&
        response.header().revision() >= told_)
        return std::nullopt;
    return need_snapshot("the store is another one");
}

std::optional<std::string> EtcdWatch::read_snapshot(EtcdEndpoint& endpoint,
                                                    std::vector<std::string>& packets,
                                                    Revision& revision) {
    etcd::RangeResponse response;
    const grpc::Status status = read(endpoint, keys_.prefix, keys_.end(), response);
    if (!status.ok()) return text_of(status);
    std::map<std::string, ReportedMember> members;
    std::map<std::string, Revision> acknowledged;
    settled_by_ = 0;
    for (const etcd::KeyValue& pair : response.kvs()) {
        const auto key = keys_.parse(pair.key());
        if (!fits(key)) continue;
        if (key.kind == EtcdKeys::Kind::settled) settled_by_ = number_in(pair.value());
        if (key.kind == EtcdKeys::Kind::acknowledgement) acknowledged[key.host] = number_in(pair.value());
        if (key.kind == EtcdKeys::Kind::record)
            members[key.host] = {key.host, pair.lease(), pair.mod_revision(), 0, record_of(pair)};
    }
    revision = response.header().revision();
    packets.push_back(to_packet(SnapshotBegins{revision, settled_by_, members.size()}));
    for (auto& [host, member] : members) {
        member.acknowledged = acknowledged[host];
        packets.push_back(to_packet(member));
    }
    return std::nullopt;
}

/// Changes by revision.  What it returns ends the watch.
std::optional<std::string> EtcdWatch::tell(const etcd::WatchResponse& response) {
    if (response.canceled()) {
        if (response.compact_revision() == 0) return "the watch was ended: " + response.cancel_reason();
        return need_snapshot("the watch has fallen behind what was compacted");
    }
    if (response.header().cluster_id() != cluster_) return need_snapshot("the store has changed");
    const auto& events = response.events();
    for (auto event = events.begin(); event != events.end();) {
        ReportedChanges changes{event->kv().mod_revision(), {}};
        for (; event != events.end() && event->kv().mod_revision() == changes.revision; ++event) {
            const etcd::KeyValue& pair = event->kv();
            const auto key = keys_.parse(pair.key());
            const bool is_put = event->type() == etcd::Event::PUT;
            if (!fits(key)) continue;
            if (key.kind == EtcdKeys::Kind::record && is_put)
                changes.changes.emplace_back(ReportedRecord{key.host, pair.lease(), record_of(pair)});
            if (key.kind == EtcdKeys::Kind::record && !is_put)
                changes.changes.emplace_back(ReportedGone{key.host});
            if (key.kind == EtcdKeys::Kind::acknowledgement && is_put)
                changes.changes.emplace_back(
                    ReportedAcknowledgement{key.host, number_in(pair.value())});
            if (key.kind != EtcdKeys::Kind::settled) continue;
            // it goes only when somebody has put back an earlier state of the store
            if (!is_put) return need_snapshot("the store is not settled any more");
            settled_by_ = number_in(pair.value());
            changes.changes.emplace_back(SettledPut{settled_by_});
        }
        if (changes.revision <= told_) continue;
        const std::string packet = to_packet(changes);
        if (packet.size() > store_packet_max_bytes) return need_snapshot("too many changes at once");
        if (!changes.changes.empty()) sink_.send_packet(packet);
        told_ = changes.revision;
    }
    return std::nullopt;
}

}  // namespace headway
