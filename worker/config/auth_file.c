/*
 * Reading and changing auth.json. It must never lose a member that it does not know, and never
 * write over a file that it could not read.
 */
#include <config.h>

#include "worker/config/auth_file.h"

#include "worker/config/config_file.h"

#include "common/alloc.h"
#include "common/fd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILE_SIZE_MAX (4 * 1024 * 1024)
#define SCHEMA_VERSION 1

/* NULL when this is a file as we know it. */
static const char *
schema_problem(struct json_object *file)
{
	struct json_object *pool = json_member(file, "credential_pool");
	int64_t version = SCHEMA_VERSION;

	if (!json_object_is_type(file, json_type_object))
		return "it does not hold an object";
	if (json_has(file, "version") &&
	    (!json_member_integer(file, "version", &version) || version != SCHEMA_VERSION))
		return "its version is another than 1, the one that is known here";
	if (pool != NULL && !json_object_is_type(pool, json_type_object))
		return "credential_pool is not an object";
	return NULL;
}

static struct json_object *
parse(const struct buffer *text, struct buffer *problem)
{
	const char *reason = NULL;
	struct json_object *file = json_parse(buffer_text(text), text->length, &reason);

	if (reason != NULL)
		buffer_printf(problem, "this is not JSON (%s)", reason);
	else
		reason = schema_problem(file);
	if (reason == NULL)
		return file;
	if (problem->length == 0)
		buffer_append_text(problem, reason);
	json_object_put(file);
	return NULL;
}

struct json_object *
auth_file_read(const char *home, struct buffer *problem)
{
	char *path = xasprintf("%s/auth.json", home);
	struct buffer text = BUFFER_EMPTY;
	struct json_object *file = NULL;

	if (config_file_read(path, FILE_SIZE_MAX, &text, problem) == CONFIG_FILE_READ)
		file = parse(&text, problem);
	if (text.data != NULL)
		explicit_bzero(text.data, text.length);
	buffer_free(&text);
	free(path);
	return file;
}

static void
stamp(struct json_object *file)
{
	time_t now = time(NULL);
	char text[40];
	struct tm parts;

	gmtime_r(&now, &parts);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &parts);
	json_set_text(file, "updated_at", text);
}

static int
write_file(const char *home, struct json_object *file, struct buffer *error)
{
	char *path = xasprintf("%s/auth.json", home);
	const char *text;
	char *whole;
	int status;

	stamp(file);
	text = json_object_to_json_string_ext(file,
	    JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
	whole = xasprintf("%s\n", text);
	status = config_file_replace(path, whole, strlen(whole), error);
	explicit_bzero(whole, strlen(whole));
	free(whole);
	free(path);
	return status;
}

int
auth_file_change(const char *home, bool (*change)(struct json_object *file, void *arg),
    void *arg, struct buffer *error)
{
	/* The lock of Hermes is auth.lock, not auth.json.lock. */
	int lock = config_file_lock(home, "auth", error), status = 0;
	struct buffer problem = BUFFER_EMPTY;
	struct json_object *file;

	if (lock == -1)
		return -1;
	file = auth_file_read(home, &problem);
	if (problem.length > 0) {
		buffer_printf(
		    error, "%s/auth.json cannot be used: %s.", home, buffer_text(&problem));
		status = -1;
	} else if (file != NULL && change(file, arg)) {
		status = write_file(home, file, error);
	}
	json_object_put(file);
	buffer_free(&problem);
	fd_close(&lock);
	errno = 0;
	return status;
}

struct json_object *
auth_file_pool(struct json_object *file, const char *provider)
{
	return json_member_array(json_member_object(file, "credential_pool"), provider);
}
