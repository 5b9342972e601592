// SPDX-License-Identifier: Apache-2.0
// What headwayd reads from headway-etcd, and what stands in the store: reports
// within the bounds, or a reason; records whatever the text.
#include "fuzz_text.hh"
#include "trunk/etcd_link.hpp"
#include "trunk/member_record.hpp"

namespace headway::fuzz {
namespace {

HostNumbers trunk_hosts() { return HostNumbers({"a0", "a1"}); }

void check(const std::string& text) {
    const MemberRecord read = record_from_text(text, 1);
    require(read.demands.size() <= demands_per_host_max, "bounded demands");
    require(record_from_text(record_to_text(read), 1) == read || read.configuration == 0,
            "the same record");
}

void check(HostNumber host, const MemberRecordPtr& record) {
    require(host < 2 + HostNumbers::others_max, "a bounded number");
    require(record != nullptr && record->demands.size() <= demands_per_host_max, "a bounded record");
}

struct Check {
    void operator()(const SnapshotMember& member) const { check(member.host, member.keys.record); }
    void operator()(const StoreChanges& changes) const {
        require(changes.revision >= 0, "a revision");
        for (const StoreChangeAt& one : changes.changes) {
            if (const auto* put = std::get_if<RecordPut>(&one.change)) check(put->host, put->record);
        }
    }
    void operator()(const StoreCondition& condition) const {
        require(condition.text.size() <= 1024, "a bounded text");
    }
    void operator()(const StoreAnswer& answer) const { require(answer.revision >= 0, "a revision"); }
    void operator()(const SnapshotBegins& begins) const { require(begins.revision >= 0, "a revision"); }
};

}  // namespace
}  // namespace headway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto text = fuzz::text_of(data, size);
    fuzz::check(std::string(text.substr(0, record_text_max_bytes)));
    HostNumbers hosts = fuzz::trunk_hosts();
    const auto report = parse_store_report(text, hosts);
    if (report) {
        std::visit(fuzz::Check{}, *report);
    } else {
        fuzz::require(!report.error().message.empty(), "a reason");
    }
    (void)parse_store_request(text);
    return 0;
}
