/*
 * Event streams and whole answers of the Messages API.
 */
#include <config.h>

#include "worker/providers/anthropic_messages.h"
#include "tests/fuzz/stream_fuzzer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return stream_fuzzer(&dialect_anthropic_messages, true, data, size);
}
