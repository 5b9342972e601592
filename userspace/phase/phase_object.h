/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled programs for packets, as phase_object.S brings them into this program. */
#ifndef HEADWAY_PHASE_OBJECT_H
#define HEADWAY_PHASE_OBJECT_H

#ifdef __cplusplus
extern "C" {
#endif

extern const char headway_phase_object[];
extern const char headway_phase_object_end[];

extern const char headway_fq_object[];
extern const char headway_fq_object_end[];

extern const char headway_qdisc_object[];
extern const char headway_qdisc_object_end[];

#ifdef __cplusplus
}
#endif

#endif /* HEADWAY_PHASE_OBJECT_H */
