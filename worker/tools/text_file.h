/*
 * Reading a text file for the model: what it is encoded in, how its lines end, and whether
 * it is text at all. It opens regular files only and never waits for anything but the disk.
 */
#ifndef HERMES_WORKER_TOOLS_TEXT_FILE_H
#define HERMES_WORKER_TOOLS_TEXT_FILE_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum text_ending {
	TEXT_ENDING_NONE, /* no line end anywhere */
	TEXT_ENDING_LF,
	TEXT_ENDING_CRLF,
	TEXT_ENDING_CR,	  /* only lone carriage returns */
	TEXT_ENDING_MIXED /* LF and CRLF, or one of them beside lone CR */
};

enum text_encoding { TEXT_UTF8, TEXT_UTF16_LE, TEXT_UTF16_BE };

struct text_file {
	char *text; /* UTF-8 without byte order mark, line ends as in the file; NUL-terminated.
		     * UTF-16 was decoded. NULs and invalid bytes may stand in it */
	size_t length;
};

/* Why a file could not be read. */
enum text_failure {
	TEXT_READ = 0,
	TEXT_ABSENT,	  /* nothing of that name, or a parent is missing */
	TEXT_NOT_REGULAR, /* folder, fifo, socket, device */
	TEXT_TOO_BIG,
	TEXT_BINARY,
	TEXT_UNREADABLE /* permission, input error and all the rest */
};

/* What the first bytes of a file tell. */
struct text_sample {
	enum text_encoding encoding;
	size_t bom_length; /* bytes of the byte order mark: 0, 2 or 3 */
	bool binary;
	bool foreign;	  /* text, but not in UTF-8 (Latin-1 for example) */
	const char *type; /* binary: "PNG image"; NULL when it is not known */
};

#define TEXT_SAMPLE 1000 /* bytes that are looked at (as in Hermes) */

/* Opens a regular file for reading without ever waiting and without following a link in the
 * last component; -1 with a sentence in `error`. */
int text_file_open(
    const char *path, struct stat *status, enum text_failure *failure, struct buffer *error);

/* Judges the beginning of a file; `whole` when that is all of it. */
void
text_sample_judge(const char *bytes, size_t length, bool whole, struct text_sample *sample);

/* Reads a whole text file of at most `limit` bytes. `path` should have its symlinks resolved:
 * a link in the last component is refused. TEXT_READ (0), or what went wrong with a sentence
 * in `error` (which names the path); `file` then needs no clearing. */
enum text_failure
text_file_read(const char *path, size_t limit, struct text_file *file, struct buffer *error);
void text_file_clear(struct text_file *file);

/* How the lines of a text end. */
enum text_ending text_ending_detect(const char *text, size_t length);

/* Decodes UTF-16 to UTF-8; what is not valid becomes U+FFFD. Returns the bytes consumed: an
 * unfinished unit or pair at the end is left unless `last`. */
size_t text_decode_utf16(
    const char *bytes, size_t length, bool big_endian, bool last, struct buffer *text);

#endif
