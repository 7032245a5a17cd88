/*
 * Event streams and whole answers of Chat Completions.
 */
#include <config.h>

#include "worker/providers/chat_completions.h"
#include "tests/fuzz/stream_fuzzer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return stream_fuzzer(&dialect_chat_completions, true, data, size);
}
