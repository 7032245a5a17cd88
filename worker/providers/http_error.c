/*
 * Error answers. It must never show a secret that a server echoes, and never call an error
 * temporary that waiting does not heal.
 */
#include <config.h>

#include "worker/providers/http_error.h"
#include "worker/providers/http_error_words.h"
#include "common/alloc.h"
#include "common/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MAX_S 31536000.0 /* a year: what is longer is no number to calculate with */

/* Status codes; the first row that fits counts. The ranges 4xx and 5xx end the table. */
static const struct {
	int first, last;
	enum model_error kind;
	const char *meaning;
} statuses[] = {
    {300, 399, MODEL_ERROR_REQUEST,
	"a redirect, which is not followed so that the key "
	"goes to no other host"},
    {401, 401, MODEL_ERROR_AUTH, "the key was not accepted"},
    {402, 402, MODEL_ERROR_BILLING, "payment is needed"},
    {403, 403, MODEL_ERROR_AUTH, "access denied"},
    {404, 404, MODEL_ERROR_REQUEST, "not found: is the model's name right?"},
    {407, 407, MODEL_ERROR_CONNECT, "the proxy wants a password"},
    {408, 409, MODEL_ERROR_SERVER, "try again"},
    {413, 413, MODEL_ERROR_TOO_LONG, "the request is too big"},
    {425, 425, MODEL_ERROR_SERVER, "try again"},
    {429, 429, MODEL_ERROR_RATE_LIMIT, "too many requests"},
    {400, 499, MODEL_ERROR_REQUEST, "the request was refused"},
    {503, 503, MODEL_ERROR_OVERLOADED, "overloaded"},
    {529, 529, MODEL_ERROR_OVERLOADED, "overloaded"},
    {500, 599, MODEL_ERROR_SERVER, "server error"},
};

static enum model_error
kind_of_status(int status, const char **meaning)
{
	size_t i;

	for (i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
		if (status >= statuses[i].first && status <= statuses[i].last) {
			*meaning = statuses[i].meaning;
			return statuses[i].kind;
		}
	}
	*meaning = "no answer to a request";
	return MODEL_ERROR_ANSWER;
}

/* A number of seconds, decimals allowed; -1 for anything else. */
static int64_t
plain_seconds(const char *value)
{
	double seconds;
	char *end;

	if (value[0] < '0' || value[0] > '9')
		return -1;
	seconds = strtod(value, &end);
	while (*end == ' ' || *end == 's')
		end++;
	if (*end != '\0' || !(seconds >= 0))
		return -1;
	return (int64_t)((seconds < WAIT_MAX_S ? seconds : WAIT_MAX_S) * 1000);
}

/* "Sun, 06 Nov 1994 08:49:37 GMT"; not strptime(), which follows the locale. */
static bool
parse_date(const char *value, time_t *date)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm tm = {0};
	char month[4];
	const char *found, *comma = strchr(value, ',');

	if (comma == NULL ||
	    sscanf(comma + 1, " %2d %3s %4d %2d:%2d:%2d", &tm.tm_mday, month, &tm.tm_year,
		&tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6 ||
	    strlen(month) != 3 || (found = strstr(months, month)) == NULL ||
	    (found - months) % 3 != 0 || tm.tm_year < 1970)
		return false;
	tm.tm_mon = (int)(found - months) / 3;
	tm.tm_year -= 1900;
	*date = timegm(&tm);
	return true;
}

int64_t
http_error_retry_after(const char *value, time_t now)
{
	time_t date;
	int64_t wait;

	if (value == NULL)
		return -1;
	while (*value == ' ' || *value == '\t')
		value++;
	wait = plain_seconds(value);
	if (wait != -1 || !parse_date(value, &date))
		return wait;
	if (date <= now)
		return 0;
	wait = (int64_t)(date - now);
	return wait < (int64_t)WAIT_MAX_S ? wait * 1000 : (int64_t)WAIT_MAX_S * 1000;
}

static int64_t
member_wait(struct json_object *object, const char *key, double unit_ms)
{
	const char *text = json_member_string(object, key);
	double number;

	if (text != NULL)
		return unit_ms == 1 ? -1 : http_error_retry_after(text, time(NULL));
	if (!json_member_double(object, key, &number) || !(number >= 0))
		return -1;
	number *= unit_ms;
	return (int64_t)(number < WAIT_MAX_S * 1000 ? number : WAIT_MAX_S * 1000);
}

static struct json_object *
first_of(struct json_object *array)
{
	return array != NULL ? json_object_array_get_idx(array, 0) : NULL;
}

/* The wait that a body asks for, in one of the places where servers put it. */
static int64_t
body_wait(struct json_object *json)
{
	static const struct {
		const char *key;
		double unit_ms;
	} keys[] = {{"retry_after", 1000}, {"retry_after_seconds", 1000}, {"retryDelay", 1000},
	    {"retry_after_ms", 1}};
	struct json_object *error = json_member_object(json, "error");
	struct json_object *places[] = {error, json_member_object(error, "metadata"), json,
	    first_of(json_member_array(error, "details"))};
	size_t i, k;
	int64_t wait;

	for (i = 0; i < sizeof places / sizeof places[0]; i++) {
		for (k = 0; k < sizeof keys / sizeof keys[0]; k++) {
			wait = member_wait(places[i], keys[k].key, keys[k].unit_ms);
			if (wait >= 0)
				return wait;
		}
	}
	return -1;
}

static int64_t
wait_of(const struct http_error *error, struct json_object *json)
{
	int64_t wait = -1;

	if (error->retry_after_ms != NULL && plain_seconds(error->retry_after_ms) != -1)
		return plain_seconds(error->retry_after_ms) / 1000;
	if (error->retry_after != NULL)
		wait = http_error_retry_after(error->retry_after, time(NULL));
	return wait >= 0 ? wait : body_wait(json);
}

void
http_error_set(struct model_answer *answer, enum model_error kind, const char *message)
{
	char *copy = xstrdup(message);

	secret_mask(copy);
	free(answer->message);
	answer->message = copy;
	answer->finish = FINISH_ERROR;
	answer->error = kind;
	answer->retry_after_ms = -1;
}

/* The error's own status, where an answer of status 200 carries one in "code". */
static int
inner_status(struct json_object *json)
{
	static const char *const keys[] = {"code", "status", "status_code"};
	struct json_object *error = json_member_object(json, "error");
	int64_t code;
	size_t i;

	for (i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (json_member_integer(error != NULL ? error : json, keys[i], &code) &&
		    code >= 400 && code <= 599)
			return (int)code;
	return 0;
}

void
http_error_answer(const struct http_error *error, struct model_answer *answer)
{
	struct json_object *json = error->json;
	struct buffer message = BUFFER_EMPTY;
	const char *meaning = "an error within the answer";
	enum model_error kind = MODEL_ERROR_SERVER;
	int status = error->status;
	char *words, *place;

	/* Some wrap the error object in an array. */
	if (json_object_is_type(json, json_type_array))
		json = json_object_array_get_idx(json, 0);
	if (status < 300)
		status = inner_status(json);
	if (status != 0)
		kind = kind_of_status(status, &meaning);
	words = http_error_words(json);
	if (words == NULL)
		words = http_error_page(error->body, error->body_length, 200);
	kind = http_error_refine(kind, status, json, words);
	if (error->status < 300)
		buffer_printf(&message, "%s reported an error", error->label);
	else
		buffer_printf(
		    &message, "%s answered HTTP %d (%s)", error->label, error->status, meaning);
	if (words[0] != '\0')
		buffer_printf(&message, ": %s", words);
	if (error->location != NULL && status >= 300 && status < 400) {
		place = http_error_excerpt(error->location, strlen(error->location), 200);
		buffer_printf(&message, ", to %s", place);
		free(place);
	}
	http_error_set(answer, kind, buffer_text(&message));
	answer->status = error->status;
	answer->retry_after_ms = wait_of(error, json);
	buffer_free(&message);
	free(words);
}
