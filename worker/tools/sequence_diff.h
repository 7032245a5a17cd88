/*
 * Which elements of one sequence stand unchanged in another: the smallest edit where that is
 * affordable (Myers), anchors that occur once (patience) where it is not. Time and memory
 * are bounded; what is too different counts as replaced as a whole.
 */
#ifndef HERMES_WORKER_TOOLS_SEQUENCE_DIFF_H
#define HERMES_WORKER_TOOLS_SEQUENCE_DIFF_H

#include <stddef.h>
#include <stdint.h>

#define SEQUENCE_UNMATCHED SIZE_MAX

/* Gives equal byte strings equal numbers. */
struct sequence_names;

struct sequence_names *sequence_names_new(void);
void sequence_names_free(struct sequence_names *names);
/* `bytes` is borrowed until sequence_names_free(). */
uint32_t sequence_names_number(struct sequence_names *names, const char *bytes, size_t length);

/* Fills match[i] (i < old_count) with the place in `new` at which old[i] stands, ascending, or
 * SEQUENCE_UNMATCHED. */
void sequence_diff(const uint32_t *old, size_t old_count, const uint32_t *new, size_t new_count,
    size_t *match);

#endif
