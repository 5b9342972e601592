// SPDX-License-Identifier: Apache-2.0
// What headwayd reads from headway-etcd, and what stands in the store: reports
// within the bounds, or a reason; records whatever the text.
#include "base/hostlist.hpp"
#include "fuzz_text.hh"
#include "trunk/member_record.hpp"
#include "trunk/store_link.hpp"

namespace headway::fuzz {
namespace {

void check(const std::string& host, const std::string& record) {
    require(host.size() <= host_name_max_bytes, "a bounded name");
    require(record.size() <= record_text_max_bytes, "a bounded record");
    const MemberRecord read = record_from_text(record, 1);
    require(read.demands.size() <= demands_per_host_max, "bounded demands");
    require(record_from_text(record_to_text(read), 1) == read || read.configuration == 0,
            "the same record");
}

struct Check {
    void operator()(const ReportedMember& member) const { check(member.host, member.text); }
    void operator()(const ReportedChanges& changes) const {
        require(changes.revision >= 0, "a revision");
        for (const ReportedChange& change : changes.changes) {
            if (const auto* record = std::get_if<ReportedRecord>(&change)) check(record->host, record->text);
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
    fuzz::check("", std::string(text.substr(0, record_text_max_bytes)));
    const auto report = parse_store_report(text);
    if (report) {
        std::visit(fuzz::Check{}, *report);
    } else {
        fuzz::require(!report.error().message.empty(), "a reason");
    }
    (void)parse_store_request(text);
    return 0;
}
