/*
 * The rests of keys. Members that say something else than when and why must stay as they are.
 */
#include <config.h>

#include "worker/config/credential_state.h"

#include "common/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds, as in Hermes. */
#define REST_REFUSED (5 * 60)
#define REST_NORMAL (60 * 60)
#define REST_SOLE 60
#define MILLISECONDS_FROM 1e12 /* a bigger number counts milliseconds */

/* "2026-12-01T03:00:00.5+00:00", "…Z"; 0 for anything else. */
static double
parse_date(const char *text)
{
	int year, month, day, hour, minute, used = 0, zone_hour = 0, zone_minute = 0;
	double second;
	struct tm parts = {0};
	char sign;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%lf%n", &year, &month, &day, &hour, &minute,
		&second, &used) != 6 ||
	    !(second >= 0 && second < 62))
		return 0;
	if (sscanf(text + used, "%c%2d:%2d", &sign, &zone_hour, &zone_minute) == 3 &&
	    (sign == '+' || sign == '-'))
		zone_minute = (sign == '-' ? -1 : 1) * (zone_hour * 60 + zone_minute);
	else
		zone_minute = 0;
	parts.tm_year = year - 1900;
	parts.tm_mon = month - 1;
	parts.tm_mday = day;
	parts.tm_hour = hour;
	parts.tm_min = minute - zone_minute;
	return (double)timegm(&parts) + second;
}

/* A moment as programs of the family write it: seconds, milliseconds or a date; 0 when none. */
static double
moment_of(struct json_object *entry, const char *key)
{
	const char *text = json_member_string(entry, key);
	double number = 0;

	if (!json_member_double(entry, key, &number))
		number = text != NULL ? parse_date(text) : 0;
	if (!(number > 0) || !isfinite(number))
		return 0;
	return number > MILLISECONDS_FROM ? number / 1000 : number;
}

static double
rest_of(struct json_object *entry, bool sole)
{
	bool billing = strcmp(json_member_text(entry, "failure_reason", ""), "billing") == 0;
	int64_t code = 0;

	json_member_integer(entry, "last_error_code", &code);
	if (code == 401)
		return REST_REFUSED;
	return sole && code != 402 && !billing ? REST_SOLE : REST_NORMAL;
}

double
credential_state_until(struct json_object *entry, bool sole)
{
	const char *status = json_member_text(entry, "last_status", "");
	double reset = moment_of(entry, "last_error_reset_at");
	double at = moment_of(entry, "last_status_at");

	if (strcmp(status, "dead") == 0)
		return HUGE_VAL;
	if (strcmp(status, "exhausted") != 0)
		return 0;
	if (reset > 0)
		return reset;
	return at > 0 ? at + rest_of(entry, sole) : 0;
}

static void
set_number(struct json_object *entry, const char *key, double number)
{
	json_set(entry, key, json_object_new_double(number));
}

void
credential_state_fail(
    struct json_object *entry, const struct credential_failure *failure, double now)
{
	json_set_text(entry, "last_status", "exhausted");
	set_number(entry, "last_status_at", now);
	if (failure->status != 0)
		json_set_integer(entry, "last_error_code", failure->status);
	else
		json_set(entry, "last_error_code", NULL);
	json_set(entry, "last_error_reason",
	    failure->reason != NULL ? json_new_text(failure->reason) : NULL);
	json_set(entry, "last_error_message",
	    failure->message != NULL ? json_new_text(failure->message) : NULL);
	if (failure->reset_after >= 0)
		set_number(entry, "last_error_reset_at", now + failure->reset_after);
	else
		json_set(entry, "last_error_reset_at", NULL);
	if (failure->billing)
		json_set_text(entry, "failure_reason", "billing");
	else
		json_object_object_del(entry, "failure_reason");
}
