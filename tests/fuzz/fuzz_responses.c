/*
 * Event streams and whole answers of OpenAI's Responses.
 */
#include <config.h>

#include "worker/providers/responses.h"
#include "tests/fuzz/stream_fuzzer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return stream_fuzzer(&dialect_codex_responses, false, data, size);
}
