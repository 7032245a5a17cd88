/*
 * Seconds since the epoch as text.
 */
#include <config.h>

#include "worker/store/state_time.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void
state_time_set(struct json_object *object, const char *key, double seconds)
{
	char text[64], digits[16];
	long long milliseconds;
	time_t whole;
	struct tm utc;

	if (!(seconds >= 0 && seconds < 253402300799.0)) /* the year 9999 */
		seconds = 0;
	milliseconds = llround(seconds * 1000);
	whole = (time_t)(milliseconds / 1000);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", gmtime_r(&whole, &utc));
	snprintf(digits, sizeof digits, ".%03dZ", (int)(milliseconds % 1000));
	strncat(text, digits, sizeof text - strlen(text) - 1);
	json_set_text(object, key, text);
}
