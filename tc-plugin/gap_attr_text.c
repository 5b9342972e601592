// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* The words and sentences of gap_attr.h. */
#include "gap_attr.h"

#include <assert.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const backend_names[] = {
	[GAP_BACKEND_AUTO]	= "auto",
	[GAP_BACKEND_GAP]	= "gap",
	[GAP_BACKEND_TIMER]	= "timer",
};

static const char *const frame_names[] = {
	[GAP_FRAME_PAUSE]	= "pause",
	[GAP_FRAME_VOID]	= "void",
};

/* The sentences are those of the kernel's log. */
static const struct {
	const char *name;
	const char *text;
} verdicts[] = {
	[GAP_VERDICT_ASKED] = {
		"asked", "as asked" },
	[GAP_VERDICT_PENDING] = {
		"pending", "until the self-test is over" },
	[GAP_VERDICT_PASSED] = {
		"passed", "gap frames take their time on the wire" },
	[GAP_VERDICT_LOST] = {
		"lost", "gap frames take no time, something drops them" },
	[GAP_VERDICT_SLOW] = {
		"slow", "the device is slower than the link rate" },
	[GAP_VERDICT_NO_SPEED] = {
		"no_speed", "the link rate is unknown" },
	[GAP_VERDICT_VIRTUAL] = {
		"virtual", "gap frames take no time on this kind of device" },
	[GAP_VERDICT_NOT_ROOT] = {
		"not_root", "gap frames need the root qdisc" },
	[GAP_VERDICT_NO_CARRIER] = {
		"no_carrier", "the device is down" },
	[GAP_VERDICT_NO_MEMORY] = {
		"no_memory", "no memory for the self-test" },
};

static_assert(COUNT(backend_names) == __GAP_BACKEND_MAX, "a word is missing");
static_assert(COUNT(frame_names) == __GAP_FRAME_MAX, "a word is missing");
static_assert(COUNT(verdicts) == __GAP_VERDICT_MAX, "a word is missing");

static const char *name_of(const char *const names[], size_t count,
			   uint32_t value)
{
	return value < count ? names[value] : "unknown";
}

const char *gap_backend_name(uint32_t backend)
{
	return name_of(backend_names, COUNT(backend_names), backend);
}

const char *gap_frame_name(uint32_t frame)
{
	return name_of(frame_names, COUNT(frame_names), frame);
}

const char *gap_verdict_name(uint32_t verdict)
{
	return verdict < COUNT(verdicts) ? verdicts[verdict].name : "unknown";
}

const char *gap_verdict_text(uint32_t verdict)
{
	if (verdict < COUNT(verdicts))
		return verdicts[verdict].text;
	return "a reason that is newer than this program";
}

const char *gap_mistake_text(unsigned int mistake)
{
	/* The lowest bit alone. */
	switch (mistake & -mistake) {
	case GAP_MISTAKE_QDISC_RATE_RANGE:
		return "rate must be from 8bit to 8tbit";
	case GAP_MISTAKE_DEFAULT_NO_MINOR:
		return "default must name a class (1:10), not a qdisc (1:)";
	case GAP_MISTAKE_BACKEND_RANGE:
		return "backend must be auto, gap or timer";
	case GAP_MISTAKE_FRAME_RANGE:
		return "frame must be pause or void";
	case GAP_MISTAKE_FRAME_MAX_RANGE:
		return "frame-max must be from 60 to 65535 bytes, or mtu";
	case GAP_MISTAKE_HYBRID_RANGE:
		return "hybrid must be from 0 to 1s, or off";
	case GAP_MISTAKE_BURST_RANGE:
		return "burst must be from 0 to 1s";
	case GAP_MISTAKE_CLASS_RATE_RANGE:
		return "rate must be from 8bit to 8tbit, or unlimited";
	case GAP_MISTAKE_LINGER_RANGE:
		return "linger must be from 0 to 10s";
	case GAP_MISTAKE_FALLBACK_RANGE:
		return "fallback must be from 8bit to 8tbit, or unlimited";
	case GAP_MISTAKE_EXPIRES_RANGE:
		return "expires must be from 1ms to 86400s (1 day), or off";
	case GAP_MISTAKE_ORDERED_RANGE:
		return "ordered must be from 0 to 10s, or off";
	case GAP_MISTAKE_GROUP_RANGE:
		return "group must be from 0 to 7";
	case GAP_MISTAKE_LINGER_WITHOUT_RATE:
		return "linger needs a rate: it tells when the new rate takes effect";
	case GAP_MISTAKE_FALLBACK_NEVER:
		return "fallback has no use with expires off";
	case GAP_MISTAKE_DUMP_ONLY:
		return "an attribute that only the kernel may send is present";
	default:
		return "no mistake";
	}
}
