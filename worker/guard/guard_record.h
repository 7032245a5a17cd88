/*
 * What hermes-acp-guard reports to the process that started it: records of one fixed size,
 * each written in one piece, so a reader never sees half of one.
 */
#ifndef HERMES_WORKER_GUARD_GUARD_RECORD_H
#define HERMES_WORKER_GUARD_GUARD_RECORD_H

#include <stdint.h>

enum guard_record_kind {
	GUARD_RECORD_STARTED =
	    'S',		  /* value: process id of the command, also its process group */
	GUARD_RECORD_ENDED = 'E', /* value: its wait status; leftover: others still live */
	GUARD_RECORD_GONE = 'G'	  /* nothing is left; leftover: what lives cannot be killed */
};

struct guard_record {
	int32_t kind;
	int32_t value;
	int32_t leftover;
};

/* Written to the control descriptor; closing it means the same. */
#define GUARD_STOP 'K'

#endif
