/*
 * What kind of text some bytes are. It looks at bytes only, never at files or names.
 */
#include <config.h>

#include "worker/tools/text_file.h"

#include "common/utf8.h"

#include <string.h>

struct magic {
	const char *type;
	const char *bytes;
	size_t length;
	size_t offset;
};

#define MAGIC(type, bytes, offset)                                                             \
	{                                                                                      \
		type, bytes, sizeof(bytes) - 1, offset                                         \
	}

static const struct magic magics[] = {
    MAGIC("PNG image", "\x89PNG\r\n\x1a\n", 0),
    MAGIC("JPEG image", "\xff\xd8\xff", 0),
    MAGIC("GIF image", "GIF87a", 0),
    MAGIC("GIF image", "GIF89a", 0),
    MAGIC("WebP image", "WEBP", 8),
    MAGIC("TIFF image", "II*\0", 0),
    MAGIC("TIFF image", "MM\0*", 0),
    MAGIC("icon", "\0\0\1\0", 0),
    MAGIC("PDF document", "%PDF-", 0),
    MAGIC("ELF program or library",
	"\x7f"
	"ELF",
	0),
    MAGIC("Mach-O program", "\xcf\xfa\xed\xfe", 0),
    MAGIC("Mach-O program", "\xca\xfe\xba\xbe", 0),
    MAGIC("zip archive or Office document", "PK\3\4", 0),
    MAGIC("zip archive", "PK\5\6", 0),
    MAGIC("gzip data", "\x1f\x8b", 0),
    MAGIC("bzip2 data", "BZh", 0),
    MAGIC("xz data",
	"\xfd"
	"7zXZ\0",
	0),
    MAGIC("zstd data", "\x28\xb5\x2f\xfd", 0),
    MAGIC("7-Zip archive", "7z\xbc\xaf\x27\x1c", 0),
    MAGIC("tar archive", "ustar", 257),
    MAGIC("SQLite database", "SQLite format 3\0", 0),
    MAGIC("WebAssembly module", "\0asm", 0),
    MAGIC("static library", "!<arch>\n", 0),
    MAGIC("Ogg media", "OggS", 0),
    MAGIC("MP3 audio", "ID3", 0),
    MAGIC("WAVE audio", "WAVE", 8),
    MAGIC("MP4 media", "ftyp", 4),
    MAGIC("Windows program", "MZ", 0),
};

static const char *
magic_type(const char *bytes, size_t length)
{
	size_t i;

	for (i = 0; i < sizeof magics / sizeof *magics; i++) {
		const struct magic *magic = &magics[i];

		if (length >= magic->offset + magic->length &&
		    memcmp(bytes + magic->offset, magic->bytes, magic->length) == 0)
			return magic->type;
	}
	return NULL;
}

static void
judge_bom(const char *bytes, size_t length, struct text_sample *sample)
{
	if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
		sample->bom_length = 3;
	} else if (length >= 4 && memcmp(bytes, "\xff\xfe\0\0", 4) == 0) {
		sample->binary = true;
		sample->type = "UTF-32 text";
	} else if (length >= 2 && memcmp(bytes, "\xff\xfe", 2) == 0) {
		sample->bom_length = 2;
		sample->encoding = TEXT_UTF16_LE;
	} else if (length >= 2 && memcmp(bytes, "\xfe\xff", 2) == 0) {
		sample->bom_length = 2;
		sample->encoding = TEXT_UTF16_BE;
	}
}

/* Control characters that text in some old encoding would not have. */
static bool
is_odd_control(unsigned char byte)
{
	return (byte < ' ' && strchr("\t\n\v\f\r\b\033", byte) == NULL) || byte == 0x7f;
}

/* Bytes that are not UTF-8: a legacy encoding has only some of them and no controls. */
static void
judge_foreign(const char *bytes, size_t length, struct text_sample *sample)
{
	size_t at, size, bad = 0;

	for (at = 0; at<length; at += size> 0 ? size : 1) {
		size = utf8_sequence(bytes + at, length - at);
		bad += size == 0;
		if (is_odd_control((unsigned char)bytes[at])) {
			sample->binary = true;
			return;
		}
	}
	sample->foreign = true;
	sample->binary = bad * 10 > length * 3;
}

void
text_sample_judge(const char *bytes, size_t length, bool whole, struct text_sample *sample)
{
	memset(sample, 0, sizeof *sample);
	if (length > TEXT_SAMPLE) {
		length = TEXT_SAMPLE;
		whole = false;
	}
	judge_bom(bytes, length, sample);
	if (sample->encoding != TEXT_UTF8 || sample->binary)
		return;
	bytes += sample->bom_length;
	length -= sample->bom_length;
	if (memchr(bytes, '\0', length) != NULL) {
		sample->binary = true;
		sample->type = magic_type(bytes, length);
		return;
	}
	/* The sample may end inside a character. */
	if (!whole)
		length -= utf8_cut_tail(bytes, length);
	if (!utf8_valid(bytes, length))
		judge_foreign(bytes, length, sample);
	if (sample->foreign || sample->binary) {
		sample->type = magic_type(bytes, length);
		sample->binary = sample->binary || sample->type != NULL;
	} else if (length >= 5 && memcmp(bytes, "%PDF-", 5) == 0) {
		/* The only one of these formats that can begin with plain text. */
		sample->binary = true;
		sample->type = "PDF document";
	}
}

enum text_ending
text_ending_detect(const char *text, size_t length)
{
	const char *end = text + length, *at = text;
	bool lf = false, crlf = false, cr = false;

	while (at < end && !(lf && crlf)) {
		const char *line_feed = memchr(at, '\n', (size_t)(end - at));
		const char *stop = line_feed != NULL ? line_feed : end;
		const char *before = stop;

		if (line_feed != NULL && stop > at && stop[-1] == '\r') {
			crlf = true;
			before--;
		} else if (line_feed != NULL) {
			lf = true;
		}
		cr = cr || memchr(at, '\r', (size_t)(before - at)) != NULL;
		if (line_feed == NULL)
			break;
		at = stop + 1;
	}
	if (lf && !crlf && !cr)
		return TEXT_ENDING_LF;
	if (crlf && !lf && !cr)
		return TEXT_ENDING_CRLF;
	if (cr && !lf && !crlf)
		return TEXT_ENDING_CR;
	return lf || crlf || cr ? TEXT_ENDING_MIXED : TEXT_ENDING_NONE;
}

static uint32_t
unit_at(const char *bytes, bool big_endian)
{
	unsigned char first = (unsigned char)bytes[0], second = (unsigned char)bytes[1];

	return big_endian ? (uint32_t)first << 8 | second : (uint32_t)second << 8 | first;
}

size_t
text_decode_utf16(
    const char *bytes, size_t length, bool big_endian, bool last, struct buffer *text)
{
	size_t at = 0, size;
	uint32_t code, low;
	char out[4];

	while (length - at >= 2) {
		size_t used = 2;

		code = unit_at(bytes + at, big_endian);
		if (code >= 0xd800 && code < 0xdc00 && length - at < 4 && !last)
			break;
		if (code >= 0xd800 && code < 0xdc00 && length - at >= 4) {
			low = unit_at(bytes + at + 2, big_endian);
			if (low >= 0xdc00 && low < 0xe000) {
				code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
				used = 4;
			}
		}
		size = utf8_encode(code, out);
		if (size > 0)
			buffer_append(text, out, size);
		else
			buffer_append_text(text, UTF8_REPLACEMENT);
		at += used;
	}
	if (last && at < length) {
		buffer_append_text(text, UTF8_REPLACEMENT);
		at = length;
	}
	return at;
}
