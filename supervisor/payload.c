/*
 * The scan of what a worker sends before it becomes part of a line. It allocates nothing and
 * must let nothing through that could end the line or be anything but one JSON value.
 */
#include <config.h>

#include "supervisor/payload.h"
#include "common/json.h"
#include "common/json_scan.h"

/* A worker wraps values that it took from outside (at most JSON_DEPTH_MAX deep) into objects
 * of its own, so its payloads may be deeper than that. */
#define DEPTH_MAX JSON_SCAN_DEPTH

bool
payload_is_object(const char *text, size_t length, const char *forbidden, const char *required)
{
	struct json_watch watches[2] = {{.key = forbidden != NULL ? forbidden : ""},
	    {.key = required != NULL ? required : ""}};
	struct json_scan scan;

	if (length == 0 || text[0] != '{')
		return false;
	json_scan_start(&scan, DEPTH_MAX, true, watches, 2);
	if (json_scan_feed(&scan, text, length) == -1 || json_scan_end(&scan) == -1)
		return false;
	if (forbidden != NULL && watches[0].seen > 0)
		return false;
	return required == NULL || (watches[1].seen == 1 && watches[1].first == '"');
}

bool
payload_is_line(const char *text, size_t length)
{
	struct json_scan scan;

	json_scan_start(&scan, DEPTH_MAX, true, NULL, 0);
	return json_scan_feed(&scan, text, length) == 0 && json_scan_end(&scan) == 0;
}
