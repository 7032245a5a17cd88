/*
 * The layout of state.db: tables and indexes. The names are an interface that other programs
 * use, and stay as they are.
 */
#include <config.h>

#include "worker/store/state_layout.h"

#include <stddef.h>

#define ZERO "INTEGER DEFAULT 0"
#define STRICT_ZERO "INTEGER NOT NULL DEFAULT 0"

static const struct state_layout_column schema_version[] = {
    {"version", "INTEGER NOT NULL", true},
    {0},
};

static const struct state_layout_column system_prompts[] = {
    {"hash", "TEXT PRIMARY KEY", true},
    {"prompt", "TEXT NOT NULL", true},
    {0},
};

static const struct state_layout_column sessions[] = {
    {"id", "TEXT PRIMARY KEY", true},
    {"source", "TEXT NOT NULL", true},
    {"created_source", "TEXT", false},
    {"user_id", "TEXT", false},
    {"session_key", "TEXT", false},
    {"chat_id", "TEXT", false},
    {"chat_type", "TEXT", false},
    {"thread_id", "TEXT", false},
    {"display_name", "TEXT", false},
    {"origin_json", "TEXT", false},
    {"expiry_finalized", ZERO, false},
    {"model", "TEXT", true},
    {"model_config", "TEXT", true},
    {"system_prompt", "TEXT", false},
    {"system_prompt_hash", "TEXT REFERENCES system_prompts(hash)", true},
    {"parent_session_id", "TEXT REFERENCES sessions(id)", true},
    {"started_at", "REAL NOT NULL", true},
    {"ended_at", "REAL", true},
    {"end_reason", "TEXT", true},
    {"message_count", ZERO, true},
    {"tool_call_count", ZERO, true},
    {"input_tokens", ZERO, true},
    {"output_tokens", ZERO, true},
    {"cache_read_tokens", ZERO, true},
    {"cache_write_tokens", ZERO, true},
    {"reasoning_tokens", ZERO, true},
    {"cwd", "TEXT", true},
    {"git_branch", "TEXT", true},
    {"git_repo_root", "TEXT", true},
    {"git_metadata_generation", STRICT_ZERO, true},
    {"billing_provider", "TEXT", true},
    {"billing_base_url", "TEXT", true},
    {"billing_mode", "TEXT", true},
    {"estimated_cost_usd", "REAL", true},
    {"actual_cost_usd", "REAL", false},
    {"cost_status", "TEXT", true},
    {"cost_source", "TEXT", true},
    {"pricing_version", "TEXT", false},
    {"title", "TEXT", true},
    {"title_source", "TEXT", true},
    {"last_activity_at", "REAL", true},
    {"last_activity_description", "TEXT", false},
    {"last_activity_provenance", "TEXT", false},
    {"api_call_count", ZERO, true},
    {"handoff_state", "TEXT", false},
    {"handoff_platform", "TEXT", false},
    {"handoff_error", "TEXT", false},
    {"compression_failure_cooldown_until", "REAL", false},
    {"compression_failure_error", "TEXT", false},
    {"compression_fallback_streak", STRICT_ZERO, false},
    {"compression_ineffective_count", STRICT_ZERO, false},
    {"compression_recovery_deadline", "REAL", false},
    {"compression_overload_streak", STRICT_ZERO, false},
    {"profile_name", "TEXT", false},
    {"transport_profile", "TEXT", false},
    {"rewind_count", STRICT_ZERO, false},
    {"archived", STRICT_ZERO, true},
    {"pinned", STRICT_ZERO, true},
    {"hidden", STRICT_ZERO, true},
    {"last_read_at", "REAL", false},
    {"tool_names", "TEXT", false},
    {0},
};

static const struct state_layout_column messages[] = {
    {"id", "INTEGER PRIMARY KEY AUTOINCREMENT", true},
    {"session_id", "TEXT NOT NULL REFERENCES sessions(id)", true},
    {"role", "TEXT NOT NULL", true},
    {"content", "TEXT", true},
    {"tool_call_id", "TEXT", true},
    {"tool_calls", "TEXT", true},
    {"tool_name", "TEXT", true},
    {"effect_disposition", "TEXT", true},
    {"timestamp", "REAL NOT NULL", true},
    {"token_count", "INTEGER", false},
    {"finish_reason", "TEXT", true},
    {"reasoning", "TEXT", true},
    {"reasoning_content", "TEXT", true},
    {"reasoning_details", "TEXT", true},
    {"codex_reasoning_items", "TEXT", true},
    {"codex_message_items", "TEXT", true},
    {"platform_message_id", "TEXT", false},
    {"observed", ZERO, false},
    {"_compressed_summary", STRICT_ZERO, true},
    {"active", "INTEGER NOT NULL DEFAULT 1", true},
    {"compacted", STRICT_ZERO, true},
    {"api_content", "TEXT", true},
    {"display_kind", "TEXT", true},
    {"display_metadata", "TEXT", true},
    {"display_identity", "BLOB", false},
    {"display_order", "INTEGER", true},
    {0},
};

static const struct state_layout_column session_model_usage[] = {
    {"session_id", "TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE", false},
    {"model", "TEXT NOT NULL", false},
    {"billing_provider", "TEXT NOT NULL DEFAULT ''", false},
    {"billing_base_url", "TEXT NOT NULL DEFAULT ''", false},
    {"billing_mode", "TEXT NOT NULL DEFAULT ''", false},
    {"task", "TEXT NOT NULL DEFAULT ''", false},
    {"api_call_count", STRICT_ZERO, false},
    {"input_tokens", STRICT_ZERO, false},
    {"output_tokens", STRICT_ZERO, false},
    {"cache_read_tokens", STRICT_ZERO, false},
    {"cache_write_tokens", STRICT_ZERO, false},
    {"reasoning_tokens", STRICT_ZERO, false},
    {"estimated_cost_usd", "REAL NOT NULL DEFAULT 0", false},
    {"actual_cost_usd", "REAL NOT NULL DEFAULT 0", false},
    {"cost_status", "TEXT", false},
    {"cost_source", "TEXT", false},
    {"first_seen", "REAL", false},
    {"last_seen", "REAL", false},
    {0},
};

static const struct state_layout_column state_meta[] = {
    {"key", "TEXT PRIMARY KEY", true},
    {"value", "TEXT", true},
    {0},
};

static const struct state_layout_column compression_locks[] = {
    {"session_id", "TEXT PRIMARY KEY", true},
    {"holder", "TEXT NOT NULL", true},
    {"acquired_at", "REAL NOT NULL", true},
    {"expires_at", "REAL NOT NULL", true},
    {0},
};

static const struct state_layout_column session_turn_leases[] = {
    {"conversation_id", "TEXT PRIMARY KEY", true},
    {"holder", "TEXT NOT NULL", true},
    {"acquired_at", "REAL NOT NULL", true},
    {"expires_at", "REAL NOT NULL", true},
    {0},
};

static const struct state_layout_column async_delegations[] = {
    {"delegation_id", "TEXT PRIMARY KEY", false},
    {"origin_session", "TEXT NOT NULL", false},
    {"origin_ui_session_id", "TEXT NOT NULL DEFAULT ''", false},
    {"parent_session_id", "TEXT", false},
    {"state", "TEXT NOT NULL", false},
    {"dispatched_at", "REAL NOT NULL", false},
    {"completed_at", "REAL", false},
    {"updated_at", "REAL NOT NULL", false},
    {"event_json", "TEXT", false},
    {"result_json", "TEXT", false},
    {"delivery_state", "TEXT NOT NULL DEFAULT 'pending'", false},
    {"delivery_attempts", STRICT_ZERO, false},
    {"delivered_at", "REAL", false},
    {"owner_pid", "INTEGER", false},
    {"owner_started_at", "INTEGER", false},
    {"task_json", "TEXT", false},
    {"delivery_claim", "TEXT", false},
    {"delivery_claimed_at", "REAL", false},
    {"origin_session_id", "TEXT NOT NULL DEFAULT ''", false},
    {0},
};

static const struct state_layout_column gateway_routing[] = {
    {"scope", "TEXT NOT NULL DEFAULT ''", false},
    {"session_key", "TEXT NOT NULL", false},
    {"entry_json", "TEXT NOT NULL", false},
    {"updated_at", "REAL NOT NULL", false},
    {0},
};

static const struct state_layout_column gateway_hygiene_state[] = {
    {"session_key", "TEXT PRIMARY KEY", false},
    {"failure_streak", STRICT_ZERO, false},
    {0},
};

static const struct state_layout_column conversation_generations[] = {
    {"source", "TEXT NOT NULL", false},
    {"session_key", "TEXT NOT NULL", false},
    {"generation", STRICT_ZERO, false},
    {0},
};

static const struct state_layout_column gateway_heartbeats[] = {
    {"backend_id", "TEXT PRIMARY KEY", false},
    {"pid", "INTEGER NOT NULL", false},
    {"started_at", "REAL NOT NULL", false},
    {"last_heartbeat", "REAL NOT NULL", false},
    {"profile", "TEXT NOT NULL DEFAULT ''", false},
    {"host", "TEXT NOT NULL DEFAULT ''", false},
    {0},
};

const struct state_layout_table state_layout_tables[] = {
    {"schema_version", schema_version, "", false},
    {"system_prompts", system_prompts, "", true},
    {"sessions", sessions, "", true},
    {"messages", messages, "", true},
    {"session_model_usage", session_model_usage,
	", PRIMARY KEY (session_id, model, billing_provider, billing_base_url, billing_mode, "
	"task)",
	true},
    {"state_meta", state_meta, "", true},
    {"compression_locks", compression_locks, "", true},
    {"session_turn_leases", session_turn_leases, "", true},
    {"async_delegations", async_delegations, "", false},
    {"gateway_routing", gateway_routing, ", PRIMARY KEY (scope, session_key)", false},
    {"gateway_hygiene_state", gateway_hygiene_state, "", false},
    {"conversation_generations", conversation_generations,
	", PRIMARY KEY (source, session_key)", false},
    {"gateway_heartbeats", gateway_heartbeats, "", false},
    {0},
};

const char *const state_layout_indexes[] = {
    "CREATE INDEX idx_sessions_source ON sessions(source)",
    "CREATE INDEX idx_sessions_source_id ON sessions(source, id)",
    "CREATE INDEX idx_sessions_parent ON sessions(parent_session_id)",
    "CREATE INDEX idx_sessions_started ON sessions(started_at DESC)",
    "CREATE UNIQUE INDEX idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL",
    "CREATE INDEX idx_sessions_session_key ON sessions(session_key, started_at DESC)",
    "CREATE INDEX idx_sessions_gateway_peer ON sessions(source, user_id, chat_id, chat_type, "
    "thread_id, started_at DESC)",
    "CREATE INDEX idx_sessions_handoff_state ON sessions(handoff_state, started_at)",
    "CREATE INDEX idx_sessions_system_prompt_hash ON sessions(system_prompt_hash)",
    "CREATE INDEX idx_sessions_tool_names ON sessions(tool_names)",
    "CREATE INDEX idx_sessions_effective_activity ON "
    "sessions(coalesce(last_activity_at, started_at) DESC, started_at DESC)",
    "CREATE INDEX idx_messages_session ON messages(session_id, timestamp)",
    "CREATE INDEX idx_messages_session_id ON messages(session_id, id)",
    "CREATE INDEX idx_messages_assistant_calls_by_session ON messages(session_id) "
    "WHERE role = 'assistant' AND tool_calls IS NOT NULL",
    "CREATE INDEX idx_messages_session_active ON messages(session_id, active, timestamp)",
    "CREATE INDEX idx_messages_display_page ON messages(session_id, display_order, active "
    "DESC, "
    "id DESC) WHERE active = 1 OR compacted = 1",
    "CREATE INDEX idx_messages_display_backfill ON messages(session_id) WHERE "
    "(display_order IS NULL OR display_identity IS NULL) AND (active = 1 OR compacted = 1)",
    "CREATE INDEX idx_messages_display_identity ON messages(session_id, display_identity, "
    "display_order) WHERE display_identity IS NOT NULL AND (active = 1 OR compacted = 1)",
    "CREATE INDEX idx_messages_active_null ON messages(active) WHERE active IS NULL",
    "CREATE INDEX idx_compression_locks_expires ON compression_locks(expires_at)",
    "CREATE INDEX idx_session_turn_leases_expires ON session_turn_leases(expires_at)",
    "CREATE INDEX idx_session_model_usage_session ON session_model_usage(session_id)",
    "CREATE INDEX idx_session_model_usage_model ON session_model_usage(model)",
    "CREATE INDEX idx_async_delegations_delivery ON async_delegations(delivery_state, "
    "completed_at)",
    NULL,
};
