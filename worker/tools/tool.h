/*
 * What a tool is to the rest of the worker: a row in a table, and a run that is prepared,
 * perhaps permitted by the user, started, and finished exactly once. Tools know nothing of
 * the protocol, of the model or of the user interface.
 */
#ifndef HERMES_WORKER_TOOLS_TOOL_H
#define HERMES_WORKER_TOOLS_TOOL_H

#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>

struct editor;
struct editor_texts;
struct checkpoints;
struct event_base;
struct file_stamps;
struct grants;
struct memory;
struct shell_state;
struct state_queue;
struct todo_list;
struct tool_run;

/* ACP tool kinds (a closed list in version 1). */
enum tool_kind {
	TOOL_KIND_READ,
	TOOL_KIND_EDIT,
	TOOL_KIND_DELETE,
	TOOL_KIND_MOVE,
	TOOL_KIND_SEARCH,
	TOOL_KIND_EXECUTE,
	TOOL_KIND_THINK,
	TOOL_KIND_FETCH,
	TOOL_KIND_OTHER
};

/* What may run beside what: reads beside everything that reads; path-scoped calls beside
 * others with disjoint paths; exclusive calls alone. */
enum tool_class { TOOL_CLASS_READ, TOOL_CLASS_PATH_SCOPED, TOOL_CLASS_EXCLUSIVE };

enum session_mode {
	SESSION_MODE_DEFAULT,	   /* ask before every edit */
	SESSION_MODE_ACCEPT_EDITS, /* edits below the session's roots and the temp folder go
				      through */
	SESSION_MODE_DONT_ASK,	   /* every edit goes through but sensitive files */
	SESSION_MODE_PLAN	   /* nothing is changed and nothing is run */
};

/* One per session, shared by all its tools. The session owns everything in it. */
struct tool_context {
	struct event_base *base;
	const char *session_id;
	const char *cwd;	  /* the session's folder: absolute, symlinks resolved */
	const char *const *roots; /* cwd first, then the additional directories */
	size_t root_count;
	const char *home;      /* $HERMES_HOME */
	const char *user_home; /* $HOME */
	const char *guard;     /* absolute path of hermes-acp-guard */
	const char *scratch;   /* private folder (0700) for this session's temporary files */
	struct json_object *config; /* config.yaml as JSON; may be NULL */
	enum session_mode mode;	    /* read it when it is needed: it changes during a turn */
	struct file_stamps *stamps; /* what the model has seen of which file */
	struct checkpoints *checkpoints; /* NULL = nothing is kept */
	struct grants *grants;		 /* what the user allowed and refused */
	struct shell_state *shell;	 /* cwd and exports that commands carry over */
	struct todo_list *todo;
	struct memory *memory;	      /* NULL = it has none */
	const struct editor *editor;  /* files that the editor has open; NULL = none */
	struct state_queue *sessions; /* jobs on the database of all sessions; NULL = none */
};

struct tool_location {
	char *path; /* absolute */
	long line;  /* 1-based; 0 = none */
};

/* One item that a card shows. */
struct tool_content {
	bool is_diff;
	char *text;	/* Markdown, when it is not a diff */
	char *path;	/* diff: absolute path */
	char *old_text; /* diff: NULL = the file is new */
	char *new_text;
};

struct tool_contents {
	struct tool_content *items;
	size_t count;
};

/* What the user sees of a call before and while it runs. */
struct tool_card {
	char *title; /* one line */
	struct tool_location *locations;
	size_t location_count;
	struct tool_contents contents;
};

enum tool_verdict {
	TOOL_ALLOWED,
	TOOL_ASK,
	TOOL_REFUSED /* never, whatever the user says; `reason` tells the model why */
};

/* Filled by prepare(). All strings are owned by the run. */
struct tool_permission {
	enum tool_verdict verdict;
	char *reason;	   /* why it is asked or refused; NULL when the diff says it all */
	char *question;	   /* identifies the question: the same string is the same question */
	char *grant;	   /* what "always" would cover, for grants_add(); NULL = not offered */
	char *grant_label; /* the label of that choice; it must say the scope */
	bool grant_is_label; /* grant is a label of command_allowlist and is written there */
	char **paths;	     /* absolute real paths that the call changes */
	size_t path_count;
};

/* Called exactly once for a run, perhaps from within start(). `result` is borrowed. */
typedef void (*tool_finished)(
    struct tool_run *run, struct json_object *result, bool failed, void *arg);
/* The run has something new to show in run->shown. */
typedef void (*tool_progress)(struct tool_run *run, void *arg);

struct tool {
	const char *name;
	const char *description; /* for the model */
	const char *parameters;	 /* JSON schema of the arguments, as text */
	enum tool_kind kind;
	enum tool_class class;
	/* False: a model is not told of it in this session. May be NULL: always true. */
	bool (*offered)(const struct tool_context *context);
	/* Names the files whose text prepare() wants from the editor: editor_texts_want() on
	 * run->texts. May be NULL: none. */
	void (*sources)(struct tool_run *run);
	/* Checks the arguments, fills card and permission, keeps what it found in run->state.
	 * Changes nothing outside. Bad arguments: tool_finish_error() and return. */
	void (*prepare)(struct tool_run *run);
	/* Does it. Never blocks longer than 10 ms; long work goes to a child process or in
	 * slices over the event loop. Re-checks what the permission was given for. */
	void (*start)(struct tool_run *run);
	/* The user cancelled: finish soon (tool_finish_error) or have finished. May be NULL
	 * when start() always finishes before it returns. */
	void (*cancel)(struct tool_run *run);
	/* Frees run->state; called after the end, also when it was never started. May be NULL.
	 */
	void (*release)(struct tool_run *run);
};

struct tool_run {
	const struct tool *tool;
	struct tool_context *context;
	char *call_id;
	struct json_object *arguments; /* an object */
	struct tool_card card;
	struct tool_contents shown; /* what the card shows when the run has finished */
	struct tool_permission permission;
	struct editor_texts *texts; /* what the editor said; NULL = it was not asked */
	void *state;		    /* the tool's own */
	/* Private to tool_run.c. */
	bool prepared, started, ended;
	tool_finished on_finished;
	tool_progress on_progress;
	void (*on_gathered)(struct tool_run *run, void *arg);
	void *arg;
};

/* The table of all tools; ends with a row whose name is NULL. */
const struct tool *tool_table(void);
const struct tool *tool_find(const char *name);
bool tool_is_offered(const struct tool *tool, const struct tool_context *context);
const char *tool_kind_name(enum tool_kind kind);
const char *session_mode_name(enum session_mode mode);
/* False for an unknown name. */
bool session_mode_parse(const char *name, enum session_mode *mode);

/* Takes a reference to `arguments`. */
struct tool_run *tool_run_new(const struct tool *tool, struct tool_context *context,
    const char *call_id, struct json_object *arguments, tool_finished on_finished,
    tool_progress on_progress, void *arg);
/* Gets what prepare() needs and cannot be had at once. True when `gathered` will be called,
 * once and later, unless the run is cancelled; false when there is nothing to wait for. */
bool tool_run_gather(struct tool_run *run, void (*gathered)(struct tool_run *run, void *arg));
void tool_run_prepare(struct tool_run *run);
void tool_run_start(struct tool_run *run);
void tool_run_cancel(struct tool_run *run);
void tool_run_free(struct tool_run *run);

/* For tools: ends a run. The first takes over `result`. The error forms build
 * {"error": text} and mark the run as failed. */
void tool_finish(struct tool_run *run, struct json_object *result, bool failed);
void tool_finish_error(struct tool_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For tools: shows text on the running card. */
void tool_show_progress(struct tool_run *run, const char *text, size_t length);

/* For tools: filling cards. All copy. `title` is cut to one line of at most 200 bytes. */
void tool_card_title(struct tool_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tool_card_location(struct tool_run *run, const char *path, long line);
void tool_contents_text(struct tool_contents *contents, const char *text, size_t length);
void tool_contents_diff(struct tool_contents *contents, const char *path, const char *old_text,
    const char *new_text);
void tool_contents_clear(struct tool_contents *contents);
void tool_permission_path(struct tool_permission *permission, const char *path);

/* For tools: an argument that must be there; ends the run with an error that names it and
 * returns NULL when it is missing, of another type, or (unless `may_be_empty`) empty. */
const char *tool_string(struct tool_run *run, const char *name, bool may_be_empty);

#endif
