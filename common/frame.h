/*
 * Frames of the supervisor-worker socket: a header of 20 bytes and a payload. A payload that
 * is bigger than MESSAGE_FRAME_MAX travels in several frames of the same header, all but the
 * last with FRAME_MORE.
 */
#ifndef HERMES_COMMON_FRAME_H
#define HERMES_COMMON_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_SIZE 20
#define FRAME_MORE 1u /* further parts of the same payload follow */

/* Little-endian on the wire: u32 length, u16 type, u16 flags, u32 request, u32 turn,
 * u32 generation. */
struct frame_header {
	uint32_t length; /* of this frame's payload */
	uint16_t type;	 /* enum message_type */
	uint16_t flags;
	uint32_t request;    /* pairs a request with its answer; 0 = none */
	uint32_t turn;	     /* the turn it belongs to; 0 = none */
	uint32_t generation; /* of the worker, counted by the supervisor */
};

void frame_encode(const struct frame_header *header, unsigned char bytes[FRAME_HEADER_SIZE]);
void frame_decode(const unsigned char bytes[FRAME_HEADER_SIZE], struct frame_header *header);

#endif
