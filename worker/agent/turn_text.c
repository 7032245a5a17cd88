/*
 * The model's stream on its way to the client. Pieces that arrive together, or within a blink
 * of those before them, go out together; nothing waits longer, unless the client does not
 * read.
 */
#include <config.h>

#include "worker/agent/display.h"
#include "worker/agent/turn_internal.h"
#include "common/alloc.h"
#include "common/monotonic.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Longest piece, so that lines stay below 60 KiB even when every byte is escaped. */
#define PIECE_MAX (8 * 1024)
/* Least time between two pieces. Each wakes the supervisor and the client, which costs more
 * than all else about it; nobody sees a difference of a few milliseconds. */
#define PIECE_MS 5
/* A save is due after this many shown bytes (ARCHITECTURE.md). */
#define SAVE_BYTES (1024 * 1024)

static void
on_flush(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	turn_text_flush(arg, false);
}

void
turn_text_start(struct turn *turn)
{
	turn->text.flush = event_new(turn->agent->base, -1, 0, on_flush, turn);
}

/* The first piece goes out in this turn of the loop. */
static void
flush_soon(struct turn_text *text)
{
	int64_t age = monotonic_ms() - text->passed_on;
	struct timeval interval;

	if (age >= PIECE_MS) {
		event_active(text->flush, EV_TIMEOUT, 0);
	} else if (event_pending(text->flush, EV_TIMEOUT, NULL) == 0) {
		interval = monotonic_interval(PIECE_MS - age);
		event_add(text->flush, &interval);
	}
}

static void
pass_on(struct turn *turn)
{
	struct turn_text *text = &turn->text;
	struct output *output = &turn->agent->output;
	size_t length;

	text->passed_on = monotonic_ms();
	event_del(text->flush);
	while (text->waiting.length > 0) {
		length = utf8_floor(text->waiting.data, text->waiting.length, PIECE_MAX);
		output->text(
		    text->voice, text->message_id, text->waiting.data, length, output->arg);
		turn->unsaved += length;
		buffer_consume(&text->waiting, length);
	}
	if (turn->call != NULL && output->busy(output->arg))
		model_call_pause(turn->call, true);
	if (turn->unsaved >= SAVE_BYTES)
		turn->up->save_partial(turn);
}

void
turn_text_flush(struct turn *turn, bool end)
{
	pass_on(turn);
	if (end)
		turn->text.open = false;
}

void
turn_text_add(struct turn *turn, enum output_voice voice, const char *bytes, size_t length)
{
	struct turn_text *text = &turn->text;
	char *first_id;

	if (text->open && text->voice != voice)
		turn_text_flush(turn, true);
	if (!text->open) {
		identifier_uuid(text->message_id);
		text->voice = voice;
		text->open = true;
	}
	first_id = voice == OUTPUT_TEXT ? text->answer_id : text->thought_id;
	if (first_id[0] == '\0')
		memcpy(first_id, text->message_id, IDENTIFIER_SIZE);
	text->shown = true;
	buffer_append(voice == OUTPUT_TEXT ? &text->answer : &text->thought, bytes, length);
	buffer_append(&text->waiting, bytes, length);
	xrequire(!text->answer.failed && !text->thought.failed && !text->waiting.failed);
	if (text->waiting.length >= 2 * PIECE_MAX)
		pass_on(turn);
	else
		flush_soon(text);
}

void
turn_text_say(struct turn *turn, enum output_voice voice, const char *text)
{
	char message_id[IDENTIFIER_SIZE];
	struct output *output = &turn->agent->output;

	turn_text_flush(turn, true);
	identifier_uuid(message_id);
	output->say(voice, message_id, text, strlen(text), output->arg);
}

void
turn_text_notice(struct turn *turn, const char *text)
{
	char *line = xasprintf("%s\n", text);

	turn_text_say(turn, OUTPUT_THOUGHT, line);
	free(line);
}

void
turn_text_resume(struct turn *turn)
{
	if (turn->text.voice == OUTPUT_TEXT && turn->text.message_id[0] != '\0')
		turn->text.open = true;
}

void
turn_text_reset(struct turn *turn)
{
	buffer_clear(&turn->text.answer);
	buffer_clear(&turn->text.thought);
	turn->text.shown = false;
	turn->text.answer_id[0] = turn->text.thought_id[0] = '\0';
}

struct json_object *
turn_text_message(struct turn *turn, struct json_object *extra,
    const struct model_tool_call *calls, size_t count)
{
	struct turn_text *text = &turn->text;
	struct json_object *message;

	message = conversation_assistant(
	    buffer_text(&text->answer), text->answer.length, extra, calls, count);
	if (text->thought.length > 0 && !json_has(message, "reasoning"))
		json_set(message, "reasoning",
		    json_new_bytes(text->thought.data, text->thought.length));
	display_answer(message, text->answer_id, text->thought_id);
	return message;
}

void
turn_text_free(struct turn *turn)
{
	if (turn->text.flush != NULL)
		event_free(turn->text.flush);
	buffer_free(&turn->text.waiting);
	buffer_free(&turn->text.answer);
	buffer_free(&turn->text.thought);
}
