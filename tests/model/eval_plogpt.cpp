// SPDX-License-Identifier: Apache-2.0
// The operations of model "plogpt": models/plogp.hpp and models/plogpt_*.hpp.
// Units: seconds, bytes, bytes/s.  Lists by height begin with height 1.
//
//   ps                 b, d, h, h2, eps_s (b is not clamped)
//                      -> exact (4), distance (left of (5); null: none), ps
//   rates              b, clamp, flows [[source, destination]]
//                      -> height [], rate [] (7)
//   gap                b1, g, t_start, profile [[time, throughput]] -> g_c (6)
//   alltoall           b, d, clamp, eps_s, P, m, g, L, t_rto
//                      -> plogp_a, plogp_b, plogpt_a, plogpt_b, rto_heights [], n_rto
//   simulate           b, d, clamp, eps_s, gap [[m, g]], L, rto, programs
//                      -> makespan, leave [rank][op], finish [rank][op]
//   simulate_alltoall  b, d, clamp, eps_s, eps_t, t_rto, P, m, g, L, algorithm, rto
//                      -> makespan, rto_count
//
// A program is a list of ["irecv", source, m], ["isend", destination, m] and
// ["wait", index of an operation].  rto is a policy of models/plogpt_rto.hpp; in
// simulate also an object of policy, eps_t and t_rto.
#include <array>
#include <bit>

#include "eval_interface.hpp"
#include "models/plogp.hpp"
#include "models/plogpt_closed.hpp"
#include "models/plogpt_gap.hpp"
#include "models/plogpt_program.hpp"
#include "models/plogpt_rates.hpp"
#include "models/plogpt_rto.hpp"
#include "models/plogpt_simulator.hpp"
#include "models/plogpt_tree.hpp"

namespace headway {
namespace {

constexpr std::size_t list_max = 4'000'000;
constexpr std::size_t processes_max = 1 << 16;

tl::unexpected<std::string> refused(const Error& error) { return tl::unexpected(error.message); }

std::uint32_t leaf(const EvalValue& value) {
    return static_cast<std::uint32_t>(
        value.count(0, (std::uint64_t{1} << PlogptTree::height_max) - 1));
}

// ------------------------------------------------------------------------ trees

struct TreeInput {
    PlogptLinks links;
    double eps_s = 0;
    PlogptTree::Clamp clamp = PlogptTree::Clamp::no;

    [[nodiscard]] Result<PlogptTree> tree() const { return PlogptTree::make(links, eps_s, clamp); }
};

std::vector<double> bandwidths(EvalInput& in) {
    return in["b"].numbers_or_infinite(1, PlogptTree::height_max, Sign::positive);
}

PlogptTree::Clamp clamp(EvalInput& in) {
    return in["clamp"].boolean() ? PlogptTree::Clamp::yes : PlogptTree::Clamp::no;
}

PlogptLinks links(EvalInput& in) {
    return {bandwidths(in),
            in["d"].numbers_or_infinite(1, PlogptTree::height_max, Sign::not_negative)};
}

TreeInput tree_input(EvalInput& in) {
    return {links(in), in["eps_s"].number_or_infinite(Sign::not_negative), clamp(in)};
}

EvalResult ps(const EvalJson& input) {
    EvalInput in(input);
    const TreeInput given{links(in), in["eps_s"].number_or_infinite(Sign::not_negative)};
    const std::size_t heights = given.links.bandwidth_bytes_per_s.size();
    const auto h = static_cast<unsigned>(in["h"].count(1, heights));
    const auto h2 = static_cast<unsigned>(in["h2"].count(1, heights));
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto tree = given.tree();
    if (!tree) return refused(tree.error());
    return EvalJson{{"exact", tree->has_switches_exact(h, h2)},
                    {"distance", tree->switch_distance(h, h2)},
                    {"ps", tree->has_switches(h, h2)}};
}

// ------------------------------------------------------------------- throughput

EvalResult rates(const EvalJson& input) {
    EvalInput in(input);
    TreeInput given;
    given.links.bandwidth_bytes_per_s = bandwidths(in);
    given.links.buffer_delay_s.resize(given.links.bandwidth_bytes_per_s.size());
    given.clamp = clamp(in);
    const EvalValue pairs = in["flows"];
    std::vector<PlogptFlow> flows(pairs.size(0, list_max));
    for (std::size_t i = 0; i < flows.size(); ++i) {
        if (pairs[i].size(2, 2) == 2) flows[i] = {leaf(pairs[i][0]), leaf(pairs[i][1])};
    }
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto tree = given.tree();
    if (!tree) return refused(tree.error());
    const auto rates = plogpt_rates(*tree, flows);
    if (!rates) return refused(rates.error());
    EvalJson heights = EvalJson::array();
    for (const PlogptFlow& flow : flows) {
        heights.push_back(PlogptTree::height_of(flow.source, flow.destination));
    }
    return EvalJson{{"height", std::move(heights)}, {"rate", *rates}};
}

EvalResult gap(const EvalJson& input) {
    EvalInput in(input);
    const double b1 = in["b1"].number(Sign::positive);
    const double g = in["g"].number(Sign::not_negative);
    const double start_s = in["t_start"].number();
    const EvalValue steps = in["profile"];
    std::vector<ThroughputStep> profile(steps.size(0, list_max));
    for (std::size_t i = 0; i < profile.size(); ++i) {
        if (steps[i].size(2, 2) == 2) {
            profile[i] = {steps[i][0].number(),
                          steps[i][1].number_or_infinite(Sign::not_negative)};
        }
    }
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto gap_s = plogpt_gap_s(b1 * g, start_s, profile);
    if (!gap_s) return refused(gap_s.error());
    return EvalJson{{"g_c", *gap_s}};
}

// ------------------------------------------------------------------ closed forms

EvalResult alltoall(const EvalJson& input) {
    EvalInput in(input);
    const TreeInput given = tree_input(in);
    const EvalValue P = in["P"];
    const auto processes = P.count(1, std::uint64_t{1} << PlogptTree::height_max);
    PlogptAlltoallCase of;
    of.levels = static_cast<unsigned>(std::bit_width(processes)) - 1;
    of.message_bytes = in["m"].number(Sign::not_negative);
    of.gap_s = in["g"].number(Sign::not_negative);
    of.latency_s = in["L"].number_or_infinite(Sign::not_negative);
    of.timeout_s = in["t_rto"].number_or_infinite(Sign::not_negative);
    if (!std::has_single_bit(processes)) P.fail("must be a power of two");
    if (of.levels > given.links.bandwidth_bytes_per_s.size()) {
        P.fail("the tree has fewer leaves");
    }
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto tree = given.tree();
    if (!tree) return refused(tree.error());
    const PlogptAlltoallTimes times = plogpt_alltoall(*tree, of);
    return EvalJson{{"plogp_a", plogp_alltoall_a_s(processes, of.gap_s, of.latency_s)},
                    {"plogp_b", plogp_alltoall_b_s(processes, of.gap_s, of.latency_s)},
                    {"plogpt_a", times.a_s},
                    {"plogpt_b", times.b_s},
                    {"rto_heights", times.rto_heights},
                    {"n_rto", times.rto_heights.size()}};
}

// -------------------------------------------------------------------- simulation

PlogptRto rto_policy(const EvalValue& value) {
    const std::string text = value.text();
    if (!value.is_string()) return {};
    const auto rto = parse_plogpt_rto(text);
    if (!rto) value.fail("{}", rto.error().message);
    return rto.value_or(PlogptRto{});
}

/// A policy, with the times of the model; or an object that has its own.
PlogptRto rto_with_times(const EvalValue& value) {
    if (!value.is_object()) return rto_policy(value);
    if (!value.is_object_of({"policy", "eps_t", "t_rto"})) return {};
    PlogptRto rto = rto_policy(value.member("policy"));
    rto.window_s = value.member("eps_t").number_or_infinite(Sign::not_negative);
    rto.timeout_s = value.member("t_rto").number(Sign::not_negative);
    return rto;
}

PlogptOperation operation(const EvalValue& value) {
    PlogptOperation operation;
    if (value.size(2, 3) == 0) return operation;
    constexpr std::array kinds{PlogptOperationKind::irecv, PlogptOperationKind::isend,
                               PlogptOperationKind::wait};
    operation.kind = kinds[value[0].choice({"irecv", "isend", "wait"})];
    if (operation.kind == PlogptOperationKind::wait) {
        (void)value.size(2, 2);
        operation.waited = static_cast<std::uint32_t>(value[1].count(0, list_max));
    } else if (value.size(3, 3) == 3) {
        operation.peer = static_cast<std::uint32_t>(value[1].count(0, processes_max));
        operation.message_bytes = value[2].number(Sign::not_negative);
    }
    return operation;
}

using Operations = std::vector<std::vector<PlogptOperation>>;

Operations operations(const EvalValue& value) {
    Operations programs(value.size(0, processes_max));
    for (std::size_t p = 0; p < programs.size(); ++p) {
        const EvalValue program = value[p];
        programs[p].resize(program.size(0, list_max));
        for (std::size_t i = 0; i < programs[p].size(); ++i) {
            programs[p][i] = operation(program[i]);
        }
    }
    return programs;
}

/// O.f of every operation; null for a wait.
EvalJson finish_times(const PlogptListedPrograms& programs, const Operations& listed,
                      const PlogptRun& run, double latency_s) {
    EvalJson all = EvalJson::array();
    for (std::uint32_t p = 0; p < listed.size(); ++p) {
        EvalJson times(listed[p].size(), nullptr);
        for (std::uint32_t i = 0; i < listed[p].size(); ++i) {
            if (listed[p][i].kind == PlogptOperationKind::wait) continue;
            const PlogptStep step = programs.step(p, i);
            if (step.kind == PlogptStepKind::nothing) times[i] = run.leave_s[p][i];
            else if (step.kind == PlogptStepKind::isend) times[i] = run.sent_s[step.message];
            else times[i] = run.sent_s[step.message] + latency_s;
        }
        all.push_back(std::move(times));
    }
    return all;
}

std::vector<GapPoint> gap_points(const EvalValue& value) {
    std::vector<GapPoint> points(value.size(1, list_max));
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (value[i].size(2, 2) == 2) {
            points[i] = {value[i][0].number(Sign::not_negative),
                         value[i][1].number(Sign::not_negative)};
        }
    }
    return points;
}

EvalResult simulate(const EvalJson& input) {
    EvalInput in(input);
    const TreeInput given = tree_input(in);
    const std::vector<GapPoint> points = gap_points(in["gap"]);
    const double latency_s = in["L"].number(Sign::not_negative);
    const PlogptRto rto = rto_with_times(in["rto"]);
    const Operations listed = operations(in["programs"]);
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto tree = given.tree();
    if (!tree) return refused(tree.error());
    const auto gaps = GapTable::make(points);
    if (!gaps) return refused(gaps.error().within("gap"));
    const auto programs = PlogptListedPrograms::make(listed);
    if (!programs) return refused(programs.error());
    const auto run = simulate_plogpt({*tree, *gaps, latency_s}, *programs, rto,
                                     PlogptRecord::times);
    if (!run) return refused(run.error());
    return EvalJson{{"makespan", run->makespan_s},
                    {"leave", run->leave_s},
                    {"finish", finish_times(*programs, listed, *run, latency_s)}};
}

EvalResult simulate_alltoall(const EvalJson& input) {
    EvalInput in(input);
    const TreeInput given = tree_input(in);
    PlogptRto rto = rto_policy(in["rto"]);
    rto.window_s = in["eps_t"].number_or_infinite(Sign::not_negative);
    rto.timeout_s = in["t_rto"].number(Sign::not_negative);
    const auto processes = static_cast<std::uint32_t>(
        in["P"].count(1, PlogptAlltoall::processes_max));
    const double message_bytes = in["m"].number(Sign::not_negative);
    const double gap_s = in["g"].number(Sign::not_negative);
    const double latency_s = in["L"].number(Sign::not_negative);
    const auto algorithm = in["algorithm"].choice({"a", "b"}) == 0 ? PlogptAlltoall::Algorithm::a
                                                                   : PlogptAlltoall::Algorithm::b;
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto tree = given.tree();
    if (!tree) return refused(tree.error());
    const auto gaps = GapTable::make({{message_bytes, gap_s}});
    if (!gaps) return refused(gaps.error());
    const auto programs = PlogptAlltoall::make(algorithm, processes, message_bytes);
    if (!programs) return refused(programs.error());
    const auto run = simulate_plogpt({*tree, *gaps, latency_s}, *programs, rto);
    if (!run) return refused(run.error());
    return EvalJson{{"makespan", run->makespan_s}, {"rto_count", run->rto_count}};
}

constexpr std::array table{
    EvalOperation{"plogpt", "ps", ps},
    EvalOperation{"plogpt", "rates", rates},
    EvalOperation{"plogpt", "gap", gap},
    EvalOperation{"plogpt", "alltoall", alltoall},
    EvalOperation{"plogpt", "simulate", simulate},
    EvalOperation{"plogpt", "simulate_alltoall", simulate_alltoall},
};

}  // namespace

std::span<const EvalOperation> eval_plogpt_operations() { return table; }

}  // namespace headway
