/*
 * Building the system prompt, once per session, so that a provider's prefix cache holds. It
 * must never hold a secret.
 */
#include <config.h>

#include "worker/agent/system_prompt.h"
#include "worker/agent/agent.h"
#include "worker/agent/project_notes.h"
#include "worker/tools/memory_prompt.h"
#include "worker/tools/tool_rows.h"
#include "common/buffer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

static const char guidance[] =
    "\n\nHow to work:\n"
    "- Finish the task. Look before you change: read files and search instead of guessing.\n"
    "- Use write_file and patch for edits, not shell redirections: the user sees and permits "
    "them as diffs.\n"
    "- Independent reads go into one answer as several tool calls.\n"
    "- For work of several steps keep a list with the todo tool and update it as you go.\n"
    "- After a change run what proves it: the build, the tests, the program itself.\n"
    "- When the user refuses something, do not try to reach it by other means; say what you "
    "would need.\n"
    "- Say plainly what you did, what you did not do, and what you are not sure of.\n"
    "- You run inside an editor: answers are shown as Markdown, and file paths can be "
    "clicked.\n";

static const char memory_guidance[] =
    "- Save what will still matter in later sessions with the memory tool: what the user "
    "prefers and corrects, and lasting facts about this machine and its projects.\n";

static const char search_guidance[] =
    "- When the user refers to something that was said in an earlier session, look for it with "
    "session_search before you ask them to repeat it.\n";

static void
append_guidance(const struct agent *agent, struct buffer *prompt)
{
	static const struct {
		const struct tool *tool;
		const char *text;
	} lines[] = {{&tool_memory, memory_guidance}, {&tool_session_search, search_guidance}};
	size_t i;

	buffer_append_text(prompt, guidance);
	for (i = 0; i < sizeof lines / sizeof lines[0]; i++)
		if (tool_is_offered(lines[i].tool, &agent->tools))
			buffer_append_text(prompt, lines[i].text);
}

static void
append_identity(const struct agent *agent, struct buffer *prompt)
{
	char path[PATH_MAX];
	char *soul;

	snprintf(path, sizeof path, "%s/SOUL.md", agent->tools.home);
	soul = project_notes_read(path);
	buffer_append_text(prompt,
	    soul != NULL ? soul
			 : "You are Hermes Agent, a coding assistant created by Nous Research. "
			   "You are helpful and direct, and you admit what you do not know.");
	free(soul);
}

static void
append_folders(const struct agent *agent, struct buffer *prompt)
{
	size_t i;

	buffer_printf(prompt, "- Working folder: %s\n", agent->tools.cwd);
	for (i = 1; i < agent->tools.root_count; i++)
		buffer_printf(
		    prompt, "- Further folder of this project: %s\n", agent->tools.roots[i]);
	if (agent->tools.user_home != NULL)
		buffer_printf(
		    prompt, "- Home folder of the user: %s\n", agent->tools.user_home);
	buffer_append_text(prompt, "- The conversation began on ");
}

static void
append_model(const struct agent *agent, struct buffer *prompt)
{
	buffer_printf(prompt, "- Model: %s by %s\n", agent->chosen.model, agent->chosen.label);
}

static void
append_environment(const struct agent *agent, struct buffer *prompt)
{
	struct utsname system;
	struct tm tm;
	time_t now = time(NULL);
	char date[64];

	localtime_r(&now, &tm);
	strftime(date, sizeof date, "%A, %d %B %Y", &tm);
	uname(&system);
	buffer_printf(prompt, "\n\nEnvironment:\n- System: %s %s (%s)\n", system.sysname,
	    system.release, system.machine);
	append_folders(agent, prompt);
	buffer_printf(prompt, "%s\n", date);
	append_model(agent, prompt);
}

char *
system_prompt_build(const struct agent *agent)
{
	struct buffer prompt = BUFFER_EMPTY;

	append_identity(agent, &prompt);
	append_guidance(agent, &prompt);
	append_environment(agent, &prompt);
	project_notes_append(agent->tools.cwd, &prompt);
	memory_prompt_append(&agent->tools, &prompt);
	return buffer_take(&prompt);
}

static bool
holds(const struct agent *agent, const char *prompt,
    void (*append)(const struct agent *, struct buffer *))
{
	struct buffer lines = BUFFER_EMPTY;
	bool found;

	append(agent, &lines);
	found = strstr(prompt, buffer_text(&lines)) != NULL;
	buffer_free(&lines);
	return found;
}

bool
system_prompt_fits(const struct agent *agent, const char *prompt)
{
	return holds(agent, prompt, append_folders) && holds(agent, prompt, append_model);
}
