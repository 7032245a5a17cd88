/*
 * The way of text to the user. The order of text and thoughts is kept, and nothing is lost
 * between two pieces.
 */
#include <config.h>

#include "worker/providers/chat_output.h"

#include <string.h>

#define KEEP_MAX 65536	/* memory that is kept for the next piece */
#define PIECE_MAX 32768 /* bytes that are collected before they are passed on */

void
chat_output_flush(struct chat_output *output)
{
	struct buffer out = output->out;

	if (out.length == 0)
		return;
	/* Away first: the sink may do anything. */
	memset(&output->out, 0, sizeof output->out);
	if (output->out_thought)
		output->sink.thought(out.data, out.length, output->sink.arg);
	else
		output->sink.text(out.data, out.length, output->sink.arg);
	buffer_clear(&out);
	if (output->out.data == NULL && out.capacity <= KEEP_MAX)
		output->out = out;
	else
		buffer_free(&out);
}

static void
collect(bool thought, const char *bytes, size_t length, void *arg)
{
	struct chat_output *output = arg;

	if (output->out.length >= PIECE_MAX ||
	    (output->out.length > 0 && output->out_thought != thought))
		chat_output_flush(output);
	output->out_thought = thought;
	buffer_append(&output->out, bytes, length);
	if (thought)
		buffer_append(&output->thoughts, bytes, length);
}

void
chat_output_start(struct chat_output *output, const struct chat_sink *sink)
{
	memset(output, 0, sizeof *output);
	output->sink = *sink;
	think_tags_start(&output->tags, collect, output);
}

void
chat_output_free(struct chat_output *output)
{
	think_tags_free(&output->tags);
	buffer_free(&output->thoughts);
	buffer_free(&output->clean);
	buffer_free(&output->out);
}

void
chat_output_repair(struct delta_text *pending, bool armoured, const char *bytes, size_t length,
    struct buffer *out)
{
	struct buffer raw = BUFFER_EMPTY;

	if (armoured) {
		delta_text_unarmour(bytes, length, &raw);
		bytes = buffer_text(&raw);
		length = raw.length;
	}
	delta_text_append(pending, bytes, length, out);
	buffer_free(&raw);
}

/* Passes on the repaired piece. */
static void
pass(struct chat_output *output, bool thought)
{
	if (output->clean.length == 0)
		return;
	if (thought)
		collect(true, output->clean.data, output->clean.length, output);
	else
		think_tags_feed(&output->tags, output->clean.data, output->clean.length);
}

void
chat_output_add(
    struct chat_output *output, bool thought, bool armoured, const char *bytes, size_t length)
{
	buffer_clear(&output->clean);
	chat_output_repair(thought ? &output->thought_pending : &output->text_pending, armoured,
	    bytes, length, &output->clean);
	pass(output, thought);
}

void
chat_output_end(struct chat_output *output)
{
	buffer_clear(&output->clean);
	delta_text_end(&output->thought_pending, &output->clean);
	pass(output, true);
	buffer_clear(&output->clean);
	delta_text_end(&output->text_pending, &output->clean);
	pass(output, false);
	think_tags_end(&output->tags);
	chat_output_flush(output);
}
