/*
 * Redirections and here documents. The text of a here document must end where the shell ends
 * it, or commands behind it would be taken for data.
 */
#include <config.h>

#include "worker/tools/shell_reader.h"

#include <ctype.h>
#include <string.h>

static void
want_document(struct shell_reader *reader, struct shell_redirection *redirection,
    bool strip_tabs, bool literal)
{
	struct shell_pending *pending;

	if (reader->pending_count == sizeof reader->pending / sizeof *reader->pending) {
		reader->out->problem = "too many here documents";
		return;
	}
	pending = &reader->pending[reader->pending_count++];
	pending->redirection = redirection;
	pending->end = redirection->word.text;
	pending->strip_tabs = strip_tabs;
	pending->literal = literal;
}

struct shell_redirection *
shell_redirection_read(struct shell_reader *reader)
{
	struct shell_redirection *redirection;
	bool document = false, strip_tabs = false;
	enum shell_redirection_kind kind = SHELL_REDIRECTION_WRITE;

	if (shell_reader_peek(reader, 0) == '&')
		reader->at++;
	if (shell_reader_peek(reader, 0) == '<') {
		kind = SHELL_REDIRECTION_READ;
		if (shell_reader_peek(reader, 1) == '<') {
			kind = SHELL_REDIRECTION_TEXT;
			document = shell_reader_peek(reader, 2) != '<';
			strip_tabs = shell_reader_peek(reader, 2) == '-';
			reader->at += 1 + (strip_tabs || !document);
		} else if (shell_reader_peek(reader, 1) == '>') {
			kind = SHELL_REDIRECTION_WRITE;
			reader->at++;
		}
	} else if (shell_reader_peek(reader, 1) == '>' || shell_reader_peek(reader, 1) == '|') {
		reader->at++;
	}
	reader->at++;
	if (shell_reader_peek(reader, 0) == '&') {
		reader->at++;
		/* >&word writes to a file unless the word is a number or "-". */
		if (isdigit((unsigned char)shell_reader_peek(reader, 0)) ||
		    shell_reader_peek(reader, 0) == '-')
			kind = SHELL_REDIRECTION_COPY;
	}
	shell_reader_skip_blanks(reader);
	redirection = shell_words_allocate(reader->out, sizeof *redirection);
	redirection->kind = kind;
	if (!shell_word_read(reader, &redirection->word))
		return NULL;
	if (document && (redirection->word.inner_end > 0 ||
			    strchr(redirection->word.text, SHELL_WORDS_HOME) != NULL))
		reader->out->problem = "the end of a here document is not a plain word";
	if (document)
		want_document(reader, redirection, strip_tabs, redirection->word.quoted);
	return redirection;
}

void
shell_redirection_document(struct shell_reader *reader, const struct shell_pending *pending)
{
	struct buffer body = BUFFER_EMPTY;
	struct shell_word *word = &pending->redirection->word;
	size_t end_length = strlen(pending->end);

	while (reader->at < reader->length) {
		const char *line = reader->text + reader->at;
		const char *newline = memchr(line, '\n', reader->length - reader->at);
		size_t length =
		    newline == NULL ? reader->length - reader->at : (size_t)(newline - line);

		reader->at += length + (newline != NULL);
		while (pending->strip_tabs && length > 0 && *line == '\t') {
			line++;
			length--;
		}
		if (length == end_length && memcmp(line, pending->end, length) == 0)
			break;
		buffer_append(&body, line, length);
		buffer_append_byte(&body, '\n');
	}
	memset(word, 0, sizeof *word);
	word->text = shell_words_copy(reader->out, buffer_text(&body), body.length);
	word->quoted = pending->literal;
	if (!pending->literal)
		shell_word_scan(reader->out, word->text, body.length, reader->depth + 1, word);
	buffer_free(&body);
}
