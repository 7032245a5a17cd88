/*
 * The question before a deletion. Anything but a clear yes means no.
 */
#include <config.h>

#include "worker/sessions/sessions_confirm.h"
#include "worker/sessions/sessions_output.h"
#include "worker/sessions/sessions_table.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool
is_yes(char *answer)
{
	answer[strcspn(answer, "\r\n")] = '\0';
	return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

bool
sessions_confirm(const struct sessions_options *options, struct json_object *sessions)
{
	struct sessions_output *output;
	char answer[64];
	size_t count = json_object_array_length(sessions);

	if (options->yes)
		return true;
	if (!isatty(STDIN_FILENO)) {
		sessions_output_complain("nothing was deleted: there is no terminal to ask on; "
					 "--yes deletes without asking");
		return false;
	}
	output = sessions_output_new(STDERR_FILENO, "standard error");
	sessions_table_write(
	    output, sessions, sessions_table_width(STDERR_FILENO), options->all_sources);
	if (sessions_output_end(output) == -1)
		return false;
	fprintf(stderr, "Delete %zu session%s for good? [y/N] ", count, count == 1 ? "" : "s");
	if (fgets(answer, sizeof answer, stdin) != NULL && is_yes(answer))
		return true;
	sessions_output_complain("nothing was deleted");
	return false;
}
