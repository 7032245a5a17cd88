/*
 * The bytes of a .env file as UTF-8 text. It must never refuse a file for a byte that no
 * encoding explains: what is nothing else is Latin-1.
 */
#include <config.h>

#include "worker/config/dotenv.h"

#include "common/alloc.h"
#include "common/utf8.h"

#include <stdint.h>
#include <string.h>

static void
append_code(struct buffer *out, uint32_t code)
{
	char bytes[4];
	size_t length = utf8_encode(code, bytes);

	if (code == 0)
		return;
	if (length == 0)
		buffer_append_text(out, UTF8_REPLACEMENT);
	else
		buffer_append(out, bytes, length);
}

static void
decode_utf16(struct buffer *out, const unsigned char *bytes, size_t length, bool big)
{
	uint32_t unit, high = 0;
	size_t i;

	for (i = 0; i + 1 < length; i += 2) {
		unit = (uint32_t)(bytes[i + big] | bytes[i + !big] << 8);
		if (unit >= 0xd800 && unit < 0xdc00) {
			high = unit;
			continue;
		}
		if (high != 0 && unit >= 0xdc00 && unit < 0xe000)
			unit = 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00);
		append_code(out, unit);
		high = 0;
	}
}

char *
dotenv_decode(const char *bytes, size_t length, const char **reason)
{
	struct buffer out = BUFFER_EMPTY;
	bool utf8;
	size_t i;

	*reason = NULL;
	if (length >= 4 &&
	    (memcmp(bytes, "\xff\xfe\0\0", 4) == 0 || memcmp(bytes, "\0\0\xfe\xff", 4) == 0)) {
		*reason = "the file is UTF-32; it must be UTF-8";
		return NULL;
	}
	buffer_append(&out, "", 0);
	if (length >= 2 &&
	    (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0)) {
		decode_utf16(&out, (const unsigned char *)bytes + 2, length - 2,
		    (unsigned char)bytes[0] == 0xfe);
	} else {
		i = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
		utf8 = utf8_valid(bytes + i, length - i);
		for (; i < length; i++)
			if (utf8 && bytes[i] != '\0')
				buffer_append_byte(&out, bytes[i]);
			else
				append_code(&out, (unsigned char)bytes[i]);
	}
	if (out.data == NULL)
		return xstrdup("");
	return buffer_take(&out);
}
