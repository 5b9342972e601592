// SPDX-License-Identifier: Apache-2.0
// Random clients, random others, a kernel that refuses at random: once all is
// calm the kernel has what is desired, and after the end nothing.
#include <algorithm>
#include <cerrno>
#include <random>

#include "control_service_fixture.hpp"
#include "daemon/kernel_setup.hpp"
#include "fake_phase_maps.hpp"
#include "kernel/reconciler.hpp"

namespace headway::test {
namespace {

constexpr int operations = 10'000;
constexpr int operations_between_checks = 25;

class RandomOperations : public testing::TestWithParam<bool> {
protected:
    RandomOperations() {
        kernel_.add_device("eth0", {20 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        restart();
    }

    // ------------------------------------------------------------------ daemon

    KernelLayout layout(const NodePlanner& planner) const {
        const PhaseProgram program{generation_, static_cast<std::uint32_t>(generation_)};
        return GetParam() ? with_phases(planner.layout(), program) : planner.layout();
    }

    void restart() {
        kernel_.refuse = nullptr;
        kernel_.lost_acknowledgements = 0;
        if (device().ifindex < 0) kernel_.remake_device("eth0");
        if (!device().has_default() && device().root.kind != "gap") device().root = FakeDevice{}.root;
        clients_.clear();
        ++generation_;
        auto planner = *NodePlanner::make(demo_config(), "unused");
        ASSERT_TRUE(control_->find_device());
        const auto report = set_up_kernel(*control_, layout(planner), {0});
        ASSERT_TRUE(report) << report.error().message;
        service_.emplace(planner_.emplace(std::move(planner)), report->link_rate, *control_, clock_);
        maps_.emplace(2);
        if (GetParam()) service_->use_phases(*maps_, {generation_, static_cast<std::uint32_t>(generation_)});
        if (report->is_adopted) service_->adopt(report->found, report->earlier_program);
        reconciler_.emplace(service_->kernel(), clock_, *service_);
    }

    /// Does what the event loop does until nothing is due any more.
    void settle() {
        (void)service_->settle();
        kernel_.refuse = nullptr;
        kernel_.lost_acknowledgements = 0;
        kernel_.interrupted_dumps = 0;
        if (device().ifindex < 0) kernel_.remake_device("eth0");
        if (device().root.kind != "gap") device().root = FakeDevice{}.root;
        for (auto& [classid, one] : device().root.classes) one.backlog_bytes = 0;
        reconciler_->notice();
        service_->release_adopted();
        for (int i = 0; i < 50 && (reconciler_->due_at() || service_->retry_at()); ++i) {
            clock_.advance(10s);
            service_->retry();
            if (reconciler_->is_due()) reconciler_->run();
        }
    }

    void expect_as_desired() {
        settle();
        ASSERT_FALSE(reconciler_->status().error) << reconciler_->status().error->message;
        FakeKernel fresh;
        fresh.add_device("eth0", device().link_rate.bits());
        auto control = *NetlinkTrafficControl::open(fresh, "eth0");
        auto desire = service_->desired();
        for (Change& change : desire.build) {
            auto* const one = std::get_if<AddClass>(&change);
            if (one == nullptr) continue;
            forget_beyond_link(one->rate);
            for (auto& [number, rate] : one->table) forget_beyond_link(rate);
        }
        ASSERT_TRUE(control.apply(desire.build, ApplyMode::in_order));
        FakeQdisc wanted = fresh.device("eth0").root;
        FakeQdisc found = device().root;
        for (auto& [classid, one] : found.classes) {
            forget_beyond_link(one.rate);
            for (auto& [number, rate] : one.table) forget_beyond_link(rate);
            // Entries that no phase has: of requests that failed, perhaps.
            std::erase_if(one.table, [&, id = classid](const auto& entry) {
                const auto same = wanted.classes.find(id);
                return same == wanted.classes.end() || !same->second.table.contains(entry.first);
            });
        }
        for (FakeQdisc* qdisc : {&wanted, &found}) {
            std::sort(qdisc->filters.begin(), qdisc->filters.end(),
                      [](const auto& a, const auto& b) { return a.handle < b.handle; });
        }
        ASSERT_EQ(found, wanted) << text_of(found) << "instead of\n" << text_of(wanted);
        ASSERT_EQ(Json::parse(service_->answer(open(), R"({"v":1,"id":1,"op":"status"})").text)["in_step"],
                  true);
    }

    /// A rate that the link does not have is no limit, whether the kernel was told so or not.
    void forget_beyond_link(ClassRate& rate) {
        if (rate && *rate > device().link_rate) rate.reset();
    }

    static std::string text_of(const FakeQdisc& qdisc) {
        std::string text = qdisc.kind + "\n";
        for (const auto& [classid, one] : qdisc.classes) {
            text += fmt::format("class {:x} parent {:x} rate {} entries {} backlog {}\n", classid,
                                one.parent, one.rate ? one.rate->value : 0, one.table.size(),
                                one.backlog_bytes);
        }
        for (const FakeFilter& one : qdisc.filters) {
            text += fmt::format("filter pref {} handle {} {} to {:x} program {}\n", one.preference,
                                one.handle, one.destination, one.classid, one.program_fd);
        }
        return text;
    }

    // ----------------------------------------------------------------- clients

    ControlService::SessionId open() {
        if (clients_.size() > 20) clients_.erase(clients_.begin());
        clients_.push_back(*service_->open({.pid = 42, .uid = 1000}));
        return clients_.back();
    }
    void ask(const char* op, const Json& members = Json::object()) {
        if (clients_.empty()) open();
        Json request{{"v", 1}, {"id", 5}, {"op", op}};
        request.update(members);
        (void)service_->answer(clients_[below(clients_.size())], request.dump());
    }
    Json collective() {
        Json hosts{"a0", "b0"};
        for (const char* host : {"a1", "a2", "a3", "b1", "b2", "b3"}) {
            if (below(2) == 0) hosts.push_back(host);
        }
        return {{"operation", "alltoall"}, {"job_hosts", hosts}, {"comm_hosts", hosts}};
    }
    void client_does_something() {
        switch (below(7)) {
            case 0: open(); break;
            case 1: ask("enter", collective()); break;
            case 2: ask("leave"); break;
            case 3: ask("join", {{"job", std::to_string(below(3))}}); break;
            case 4: ask("phase", collective()); break;
            case 5: ask("rate", {{"bytes_per_s", 100'000 * (1 + below(30))}}); break;
            default:
                if (clients_.empty()) break;
                std::swap(clients_[below(clients_.size())], clients_.back());
                service_->close(clients_.back());
                clients_.pop_back();
        }
    }

    // ------------------------------------------------------------------ others

    FakeClass* some_class() {
        auto& classes = device().root.classes;
        if (classes.empty()) return nullptr;
        return &std::next(classes.begin(), static_cast<std::ptrdiff_t>(below(classes.size())))->second;
    }
    void delete_some_class() {
        auto& classes = device().root.classes;
        if (classes.empty()) return;
        const auto gone = std::next(classes.begin(), static_cast<std::ptrdiff_t>(below(classes.size())));
        const std::uint32_t classid = gone->first;
        std::erase_if(classes, [&](const auto& one) { return one.second.parent == classid; });
        std::erase_if(device().root.filters, [&](const auto& one) { return one.classid == classid; });
        classes.erase(classid);
    }
    void others_do_something() {
        FakeQdisc& root = device().root;
        FakeClass* const one = some_class();
        switch (below(12)) {
            case 0: root = FakeDevice{}.root; break;
            case 1: delete_some_class(); break;
            case 2:
                if (one != nullptr) one->rate = BytesPerSecond{1 + below(2'000'000)};
                break;
            case 3:
                if (one != nullptr) one->rate.reset();
                break;
            case 4:
                if (one != nullptr) one->table.clear();
                break;
            case 5:
                if (!root.filters.empty()) root.filters.erase(root.filters.begin());
                break;
            case 6: root.filters.push_back({3, 0x0800, 1 + below(5), "10.9.0.0/16", 0x10010}); break;
            case 7:
                if (root.kind == "gap") {
                    root.classes[0x10800 + below(4)].backlog_bytes = 1500 * below(2);
                }
                break;
            case 8:
                if (below(4) == 0) root = {"htb", 0x50000, {}, {}};
                break;
            case 9:
                if (below(4) == 0) kernel_.remake_device("eth0");
                break;
            case 10:
                if (below(4) == 0) kernel_.remove_device("eth0");
                break;
            default:
                device().link_rate = {(1 + below(3)) * 10 * mbit / 8};
        }
        // The monitor may have lost it, but not for ever.
        if (below(4) != 0) reconciler_->notice();
    }

    void trouble() {
        switch (below(4)) {
            case 0:
                kernel_.refuse = [this](const nlmsghdr&) -> std::optional<FakeKernel::Refusal> {
                    if (below(3) != 0) return std::nullopt;
                    return FakeKernel::Refusal{ENOMEM, "no memory for a test"};
                };
                break;
            case 1: kernel_.lost_acknowledgements = static_cast<int>(below(3)); break;
            case 2: kernel_.interrupted_dumps = static_cast<int>(below(12)); break;
            default: kernel_.refuse = nullptr;
        }
    }

    void time_passes() {
        clock_.advance(std::chrono::milliseconds(below(200)));
        service_->retry();
        if (reconciler_->is_due()) reconciler_->run();
    }

    void something_happens() {
        switch (below(10)) {
            case 0:
            case 1:
            case 2:
            case 3: client_does_something(); break;
            case 4:
            case 5: others_do_something(); break;
            case 6: trouble(); break;
            case 7:
                if (below(20) == 0) restart();
                break;
            default: time_passes();
        }
    }

    FakeDevice& device() { return kernel_.device("eth0"); }
    std::uint32_t below(std::size_t end) {
        return static_cast<std::uint32_t>(random_() % end);
    }

    std::mt19937 random_{20261122};
    FakeKernel kernel_;
    FakeClock clock_;
    std::optional<NetlinkTrafficControl> control_;
    std::optional<FakePhaseMaps> maps_;
    std::optional<NodePlanner> planner_;
    std::optional<ControlService> service_;
    std::optional<Reconciler> reconciler_;
    std::vector<ControlService::SessionId> clients_;
    int generation_ = 100;
};

TEST_P(RandomOperations, EndAsDesiredAndLeaveNothing) {
    for (int i = 0; i < operations; ++i) {
        something_happens();
        if (i % operations_between_checks != 0) continue;
        expect_as_desired();
        ASSERT_FALSE(HasFatalFailure()) << "after operation " << i;
    }
    for (const auto client : clients_) service_->close(client);
    expect_as_desired();
    for (const auto& [classid, one] : device().root.classes) {
        const bool is_phase = (classid & 0xffffU) >= first_phase_minor;
        EXPECT_TRUE(is_phase || !one.rate) << classid;
    }
    EXPECT_EQ(service_->pacer().active(), 0U);
    EXPECT_TRUE(tear_down_kernel(*control_, service_->planner().layout()));
    EXPECT_TRUE(device().has_default());
}

INSTANTIATE_TEST_SUITE_P(With, RandomOperations, testing::Bool(), [](const auto& with) {
    return with.param ? "Phases" : "Filters";
});

}  // namespace
}  // namespace headway::test
