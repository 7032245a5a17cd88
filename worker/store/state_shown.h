/*
 * Which sessions a list shows, as parts of a statement in which "s" is the row of a session.
 * It is text only; whoever puts a statement together runs it.
 */
#ifndef HERMES_WORKER_STORE_STATE_SHOWN_H
#define HERMES_WORKER_STORE_STATE_SHOWN_H

/* Times that a clock can have shown: later ones come from damaged rows (as in Hermes). */
#define STATE_SHOWN_PLAUSIBLE "BETWEEN 0 AND 32503680000"
#define STATE_SHOWN_MEMBER(name)                                                               \
	"CASE WHEN json_valid(s.model_config) THEN json_extract(s.model_config, '$." name      \
	"') END"
#define STATE_SHOWN_FOLDER "coalesce(s.cwd, " STATE_SHOWN_MEMBER("cwd") ", '')"
#define STATE_SHOWN_IS_HELPER STATE_SHOWN_MEMBER("_delegate_from") " IS NOT NULL"
#define STATE_SHOWN_IS_BRANCH STATE_SHOWN_MEMBER("_branched_from") " IS NOT NULL"
#define STATE_SHOWN_IS_RESET STATE_SHOWN_MEMBER("_reset_from") " IS NOT NULL"

/* A child without a mark is a helper, unless its parent was summed up or branched, or is gone.
 */
#define STATE_SHOWN_GOES_ALONE                                                                 \
	"NOT EXISTS (SELECT 1 FROM sessions AS p WHERE p.id = s.parent_session_id AND "        \
	"coalesce(p.end_reason, '') NOT IN ('compression', 'branched'))"
#define STATE_SHOWN_IS_ROOT                                                                    \
	"(s.parent_session_id IS NULL OR (NOT (" STATE_SHOWN_IS_HELPER                         \
	") AND (" STATE_SHOWN_IS_BRANCH " OR " STATE_SHOWN_IS_RESET                            \
	" OR " STATE_SHOWN_GOES_ALONE ")))"
/* Of a session that was summed up the one that it goes on in is shown. `sources`: a condition
 * on n.source. */
#define STATE_SHOWN_GOES_ON(sources)                                                           \
	"(s.end_reason = 'compression' AND EXISTS (SELECT 1 FROM sessions AS n WHERE "         \
	"n.parent_session_id = s.id AND " sources " AND n.started_at >= s.ended_at))"

/* Rows with their newest message, which is found by index; a session without one has never been
 * prompted. `which`: a condition on the columns. */
#define STATE_SHOWN_ROWS(which)                                                                \
	"(SELECT *, (SELECT max(m.timestamp) FROM messages AS m WHERE m.session_id = "         \
	"sessions.id) AS newest FROM sessions WHERE " which ")"
/* `sources`: a condition on source. */
#define STATE_SHOWN_CANDIDATES(sources)                                                        \
	STATE_SHOWN_ROWS(sources " AND archived = 0 AND hidden = 0")
#define STATE_SHOWN_ACTIVE                                                                     \
	"coalesce((SELECT max(t.v) FROM (SELECT s.last_activity_at AS v UNION ALL SELECT "     \
	"newest) AS t WHERE t.v " STATE_SHOWN_PLAUSIBLE "), s.started_at)"

#endif
