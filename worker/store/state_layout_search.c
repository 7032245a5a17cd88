/*
 * The layout of state.db: full-text tables with the views that they read through, and the
 * triggers on messages. The triggers do all the indexing; a writer only inserts rows.
 */
#include <config.h>

#include "worker/store/state_layout.h"

#include <stddef.h>

/* A whole number in state_meta, -1 when it is not there. */
#define MARK(key)                                                                              \
	"coalesce((SELECT CAST(value AS INTEGER) FROM state_meta WHERE key = '" key "'), -1)"
/* While an index is rebuilt in the background, a row between progress and high water is not in
 * it, and taking it out would damage the index. */
#define INDEXED(row)                                                                           \
	"(" row ".id > " MARK("fts_rebuild_high_water") " OR " row ".id <= " MARK(             \
	    "fts_rebuild_progress") ")"
/* Of a tool's result only the beginning is searched. */
#define SEARCHED(row)                                                                          \
	"CASE " row ".role WHEN 'tool' THEN substr(coalesce(" row ".content, ''), 1, 8192) "   \
	"ELSE " row ".content END"

/* Sessions whose rows the trigram index leaves out are those of machines. */
#define FOR_PEOPLE(session)                                                                    \
	session ".source NOT IN ('cron', 'subagent') AND CASE WHEN json_valid(" session        \
		".model_config) THEN json_extract(" session                                    \
		".model_config, '$._delegate_from') END IS NULL"
#define TRIGRAM(row)                                                                           \
	row ".role <> 'tool' AND EXISTS (SELECT 1 FROM sessions AS owner WHERE owner.id "      \
	    "= " row ".session_id AND " FOR_PEOPLE("owner") ")"

#define WORDS_IN                                                                               \
	"INSERT INTO messages_fts(rowid, content, tool_name, tool_calls) "                     \
	"VALUES (new.id, " SEARCHED("new") ", new.tool_name, new.tool_calls); "
#define WORDS_OUT                                                                              \
	"INSERT INTO messages_fts(messages_fts, rowid, content, tool_name, tool_calls) "       \
	"VALUES ('delete', old.id, " SEARCHED("old") ", old.tool_name, old.tool_calls); "
#define TRIGRAMS_IN                                                                            \
	"INSERT INTO messages_fts_trigram(rowid, content, tool_name) "                         \
	"SELECT new.id, new.content, new.tool_name WHERE " TRIGRAM("new") "; "
#define TRIGRAMS_OUT                                                                           \
	"INSERT INTO messages_fts_trigram(messages_fts_trigram, rowid, content, tool_name) "   \
	"SELECT 'delete', old.id, old.content, old.tool_name WHERE " TRIGRAM("old") "; "

/* What is shown: rows in use, and those that a summary stands for. */
#define VISIBLE(row) "(" row ".active = 1 OR " row ".compacted = 1)"
/* The same row under another number, as compaction makes them. */
#define TWIN(twin, row)                                                                        \
	twin ".session_id = " row ".session_id AND " twin ".display_identity = " row           \
	     ".display_identity AND " VISIBLE(twin)
#define PLACE_OF_TWIN                                                                          \
	"(SELECT min(twin.display_order) FROM messages AS twin WHERE twin.id <> new.id "       \
	"AND " TWIN("twin", "new") ")"
#define GATHER_TWINS                                                                           \
	"UPDATE messages SET display_order = (SELECT min(twin.id) FROM messages AS twin "      \
	"WHERE " TWIN("twin", "old") ") WHERE " TWIN("messages", "old")

/* The same for the rows that triggers and views know. */
#define NEW_IS_INDEXED INDEXED("new")
#define OLD_IS_INDEXED INDEXED("old")
#define ROW_SEARCHED SEARCHED("row")
#define OWNED_BY_PEOPLE FOR_PEOPLE("owner")
#define NEW_IS_VISIBLE VISIBLE("new")
#define OLD_IS_VISIBLE VISIBLE("old")
#define IS_TWIN_OF_OLD TWIN("messages", "old")

const char *const state_layout_search[] = {
    "CREATE VIEW messages_fts_src AS SELECT row.id AS id, " ROW_SEARCHED " AS content, "
    "row.tool_name AS tool_name, row.tool_calls AS tool_calls FROM messages AS row",
    "CREATE VIRTUAL TABLE messages_fts USING fts5(content, tool_name, tool_calls, "
    "content='messages_fts_src', content_rowid='id')",
    "CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages WHEN " NEW_IS_INDEXED
    " BEGIN " WORDS_IN "END",
    "CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages WHEN " OLD_IS_INDEXED
    " BEGIN " WORDS_OUT "END",
    "CREATE TRIGGER messages_fts_update AFTER UPDATE OF content, tool_name, tool_calls, role "
    "ON messages WHEN (new.content IS NOT old.content OR new.tool_name IS NOT old.tool_name "
    "OR new.tool_calls IS NOT old.tool_calls OR new.role IS NOT old.role) AND " OLD_IS_INDEXED
    " BEGIN " WORDS_OUT WORDS_IN "END",

    "CREATE VIEW messages_fts_trigram_src AS SELECT row.id AS id, row.role AS role, "
    "row.content AS content, row.tool_name AS tool_name FROM messages AS row JOIN sessions "
    "AS owner ON owner.id = row.session_id WHERE row.role <> 'tool' AND " OWNED_BY_PEOPLE,
    "CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(content, tool_name, "
    "content='messages_fts_trigram_src', content_rowid='id', tokenize='trigram')",
    "CREATE TRIGGER messages_fts_trigram_insert AFTER INSERT ON messages WHEN " NEW_IS_INDEXED
    " BEGIN " TRIGRAMS_IN "END",
    "CREATE TRIGGER messages_fts_trigram_delete AFTER DELETE ON messages WHEN " OLD_IS_INDEXED
    " BEGIN " TRIGRAMS_OUT "END",
    "CREATE TRIGGER messages_fts_trigram_update AFTER UPDATE OF content, tool_name, role "
    "ON messages WHEN (new.content IS NOT old.content OR new.tool_name IS NOT old.tool_name "
    "OR new.role IS NOT old.role) AND " OLD_IS_INDEXED " BEGIN " TRIGRAMS_OUT TRIGRAMS_IN "END",

    "CREATE TRIGGER messages_display_order_insert AFTER INSERT ON messages "
    "WHEN new.display_order IS NULL BEGIN UPDATE messages SET display_order = "
    "coalesce(" PLACE_OF_TWIN ", new.id) WHERE id = new.id; END",
    "CREATE TRIGGER messages_display_visibility_update AFTER UPDATE OF active, compacted "
    "ON messages WHEN " NEW_IS_VISIBLE " <> " OLD_IS_VISIBLE " BEGIN "
    "UPDATE messages SET display_order = min(new.id, coalesce(" PLACE_OF_TWIN
    ", new.id)) WHERE id = new.id AND " NEW_IS_VISIBLE "; " GATHER_TWINS "; END",
    "CREATE TRIGGER messages_display_identity_update AFTER UPDATE OF role, content, timestamp, "
    "tool_call_id, tool_calls, tool_name, display_kind ON messages WHEN "
    "new.role IS NOT old.role OR new.content IS NOT old.content OR "
    "new.timestamp IS NOT old.timestamp OR new.tool_call_id IS NOT old.tool_call_id OR "
    "new.tool_calls IS NOT old.tool_calls OR new.tool_name IS NOT old.tool_name OR "
    "new.display_kind IS NOT old.display_kind BEGIN "
    "UPDATE messages SET display_identity = NULL, display_order = NULL "
    "WHERE messages.id = new.id OR (" IS_TWIN_OF_OLD "); END",
    "CREATE TRIGGER messages_display_identity_delete AFTER DELETE ON messages "
    "WHEN " OLD_IS_VISIBLE " BEGIN " GATHER_TWINS "; END",
    NULL,
};
