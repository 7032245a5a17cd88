/*
 * Reading V4A patches. It must never guess at a header: a line that begins with "***" and is
 * not known is a fault, because taking it for text would put it into a file.
 */
#include <config.h>

#include "worker/tools/patch_v4a_parse.h"

#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

struct parser {
	struct patch_operations *operations;
	struct buffer *faults;
	size_t number; /* of the line, from 1 */
	size_t empty;  /* empty lines whose meaning is open: text, or the end of a hunk */
	bool open;     /* the last operation still takes lines */
};

struct patch_line {
	const char *text;
	size_t length; /* without its line end */
};

static void
hunk_clear(struct patch_hunk *hunk)
{
	free(hunk->hint);
	free(hunk->first);
	buffer_free(&hunk->old);
	buffer_free(&hunk->new);
}

void
patch_operations_free(struct patch_operations *operations)
{
	struct patch_operation *operation;
	size_t i, j;

	for (i = 0; i < operations->count; i++) {
		operation = &operations->items[i];
		for (j = 0; j < operation->hunk_count; j++)
			hunk_clear(&operation->hunks[j]);
		free(operation->hunks);
		free(operation->path);
		free(operation->to);
		buffer_free(&operation->content);
	}
	free(operations->items);
	memset(operations, 0, sizeof *operations);
}

static bool
starts(const struct patch_line *line, const char *prefix)
{
	size_t length = strlen(prefix);

	return line->length >= length && memcmp(line->text, prefix, length) == 0;
}

/* A copy of the line behind `skip` bytes, without blanks around it. */
static char *
trimmed(const struct patch_line *line, size_t skip)
{
	const char *start = line->text + skip, *end = line->text + line->length;

	while (start < end && (*start == ' ' || *start == '\t'))
		start++;
	while (end > start && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return xstrndup(start, (size_t)(end - start));
}

static struct patch_operation *
last_operation(const struct parser *parser)
{
	struct patch_operations *operations = parser->operations;

	return operations->count > 0 ? &operations->items[operations->count - 1] : NULL;
}

static void
fault(struct parser *parser, const char *what)
{
	(void)buffer_printf(
	    parser->faults, "\n- line %zu of the patch: %s", parser->number, what);
}

/* A component ".." leads out of the folder that the reader of the patch sees. */
static bool
climbs(const char *path)
{
	const char *at;
	size_t length;

	for (at = path; *at != '\0'; at += length + (at[length] == '/')) {
		length = strcspn(at, "/");
		if (length == 2 && at[0] == '.' && at[1] == '.')
			return true;
	}
	return false;
}

static void
check_path(struct parser *parser, const char *path)
{
	if (path[0] == '\0')
		fault(parser, "the path is missing");
	else if (climbs(path))
		(void)buffer_printf(parser->faults,
		    "\n- line %zu of the patch: \"%s\" has \"..\" in it: use an absolute path",
		    parser->number, path);
}

static const struct header {
	const char *prefix;
	enum patch_kind kind;
} headers[] = {
    {"*** Update File:", PATCH_UPDATE},
    {"*** Add File:", PATCH_ADD},
    {"*** Delete File:", PATCH_DELETE},
    {"*** Move File:", PATCH_MOVE},
};

static void
split_move(struct parser *parser, struct patch_operation *operation)
{
	char *arrow = strstr(operation->path, "->"), *end = arrow;

	if (arrow == NULL) {
		fault(parser, "a move must be written \"*** Move File: old path -> new path\"");
		return;
	}
	arrow += 2;
	arrow += strspn(arrow, " \t");
	operation->to = xstrdup(arrow);
	while (end > operation->path && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
	check_path(parser, operation->to);
}

static void
begin_operation(struct parser *parser, enum patch_kind kind, char *path)
{
	struct patch_operations *operations = parser->operations;
	struct patch_operation *operation;

	operations->items =
	    xreallocarray(operations->items, operations->count + 1, sizeof *operations->items);
	operation = &operations->items[operations->count++];
	memset(operation, 0, sizeof *operation);
	operation->kind = kind;
	operation->path = path;
	parser->open = kind == PATCH_UPDATE || kind == PATCH_ADD;
	if (kind == PATCH_MOVE)
		split_move(parser, operation);
	check_path(parser, operation->path);
}

/* Handles a line that begins with "***". */
static void
read_header(struct parser *parser, const struct patch_line *line)
{
	size_t i;

	parser->empty = 0;
	for (i = 0; i < sizeof headers / sizeof headers[0]; i++)
		if (starts(line, headers[i].prefix)) {
			begin_operation(
			    parser, headers[i].kind, trimmed(line, strlen(headers[i].prefix)));
			return;
		}
	if (starts(line, "*** End of File") || starts(line, "*** Begin Patch"))
		return;
	if (starts(line, "*** End Patch"))
		parser->open = false;
	else if (starts(line, "*** Move to:"))
		fault(parser,
		    "\"*** Move to:\" is not known: write \"*** Move File: old path -> "
		    "new path\" after the update");
	else
		fault(parser, "unknown \"***\" line");
}

/* The hint in "@@ hint @@", "@@ hint" or "@@ -1,2 +1,3 @@ hint"; NULL when there is none. */
static char *
read_hint(const struct patch_line *line)
{
	char *hint = trimmed(line, 2), *end;

	if (hint[0] == '-' && hint[1] >= '0' && hint[1] <= '9' && strstr(hint, "@@") != NULL) {
		end = strstr(hint, "@@") + 2;
		end += strspn(end, " \t");
		memmove(hint, end, strlen(end) + 1);
	}
	end = hint + strlen(hint);
	if (end - hint >= 2 && end[-1] == '@' && end[-2] == '@')
		for (end -= 2, *end = '\0'; end > hint && (end[-1] == ' ' || end[-1] == '\t');)
			*--end = '\0';
	if (hint[0] != '\0')
		return hint;
	free(hint);
	return NULL;
}

static struct patch_hunk *
begin_hunk(struct patch_operation *operation, char *hint)
{
	struct patch_hunk *hunk;

	operation->hunks = xreallocarray(
	    operation->hunks, operation->hunk_count + 1, sizeof *operation->hunks);
	hunk = &operation->hunks[operation->hunk_count++];
	memset(hunk, 0, sizeof *hunk);
	hunk->hint = hint;
	return hunk;
}

static void
append(struct buffer *out, const char *text, size_t length)
{
	(void)buffer_append(out, text, length);
	(void)buffer_append_byte(out, '\n');
}

/* One line of a hunk: a sign and the text; without a sign it is context. */
static void
add_line(struct patch_hunk *hunk, const struct patch_line *line)
{
	char sign = line->length > 0 ? line->text[0] : ' ';
	bool signed_line = line->length > 0 && (sign == ' ' || sign == '-' || sign == '+');
	const char *text = line->text + (signed_line ? 1 : 0);
	size_t length = line->length - (signed_line ? 1 : 0);

	if (hunk->first == NULL)
		hunk->first = xstrndup(line->text, line->length);
	if (sign == '+') {
		hunk->added++;
		append(&hunk->new, text, length);
	} else if (sign == '-') {
		hunk->removed++;
		append(&hunk->old, text, length);
	} else {
		hunk->kept++;
		append(&hunk->old, text, length);
		append(&hunk->new, text, length);
	}
}

static void
update_line(
    struct parser *parser, struct patch_operation *operation, const struct patch_line *line)
{
	static const struct patch_line nothing = {"", 0};
	struct patch_hunk *hunk;

	if (starts(line, "@@")) {
		parser->empty = 0;
		(void)begin_hunk(operation, read_hint(line));
		return;
	}
	if (line->length == 0) {
		parser->empty++; /* decided by what follows */
		return;
	}
	hunk = operation->hunk_count > 0 ? &operation->hunks[operation->hunk_count - 1]
					 : begin_hunk(operation, NULL);
	for (; parser->empty > 0; parser->empty--)
		if (hunk->first != NULL)
			add_line(hunk, &nothing);
	add_line(hunk, line);
}

static void
content_line(
    struct parser *parser, struct patch_operation *operation, const struct patch_line *line)
{
	if (line->length == 0) {
		parser->empty++;
		return;
	}
	if (line->text[0] != '+') {
		fault(parser, "every line of an added file must start with \"+\"");
		return;
	}
	for (; parser->empty > 0; parser->empty--)
		if (operation->content.length > 0)
			(void)buffer_append_byte(&operation->content, '\n');
	append(&operation->content, line->text + 1, line->length - 1);
}

static void
read_line(struct parser *parser, const struct patch_line *line)
{
	struct patch_operation *operation = last_operation(parser);

	if (starts(line, "***"))
		read_header(parser, line);
	else if (operation != NULL && parser->open && operation->kind == PATCH_UPDATE)
		update_line(parser, operation, line);
	else if (operation != NULL && parser->open && operation->kind == PATCH_ADD)
		content_line(parser, operation, line);
	else if (line->length > 0 && operation == NULL)
		fault(parser, "text before the first operation (\"*** Update File: path\" …)");
	else if (line->length > 0)
		fault(parser, "text that belongs to no operation");
}

int
patch_v4a_parse(const char *patch, struct patch_operations *operations, struct buffer *faults)
{
	struct parser parser = {.operations = operations, .faults = faults};
	size_t before = faults->length;
	struct patch_line line;
	const char *end;

	memset(operations, 0, sizeof *operations);
	while (*patch != '\0') {
		end = strchr(patch, '\n');
		line.text = patch;
		line.length = end != NULL ? (size_t)(end - patch) : strlen(patch);
		patch += line.length + (end != NULL ? 1 : 0);
		if (line.length > 0 && line.text[line.length - 1] == '\r')
			line.length--;
		parser.number++;
		read_line(&parser, &line);
	}
	if (operations->count == 0 && faults->length == before)
		(void)buffer_append_text(faults, "\n- the patch has no operation (\"*** Update "
						 "File: path\", \"*** Add File: path\" …)");
	return faults->length == before ? 0 : -1;
}
