// All limits in one place. At a limit the caller gets `invalid_argument`, `payload_too_large` or `overloaded`; nothing
// is dropped silently. Values are bytes unless the name says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flowfabric::limits {

// Names and texts of callers.
inline constexpr std::size_t max_namespace_bytes = 128;
inline constexpr std::size_t max_lane_bytes = 64;
inline constexpr std::size_t max_kind_bytes = 128;
inline constexpr std::size_t max_creator_bytes = 256;
inline constexpr std::size_t max_worker_id_bytes = 256;
inline constexpr std::size_t max_reason_bytes = 1024;
inline constexpr std::size_t max_message_bytes = 4096;
inline constexpr std::size_t max_category_bytes = 128;
inline constexpr std::size_t max_encoding_bytes = 128;
inline constexpr std::size_t max_idempotency_key_bytes = 256;
inline constexpr std::size_t max_submit_key_bytes = 256;  // of unique, debounce, throttle
inline constexpr std::size_t max_step_name_bytes = 128;
inline constexpr std::uint32_t max_steps = 10000;                  // of one execution
inline constexpr std::uint32_t max_claimed_steps = 100;            // that a claim brings along
inline constexpr std::size_t max_claimed_step_bytes = 256 * 1024;  // that a claim brings along; the rest is read
inline constexpr std::size_t max_tag_key_bytes = 128;
inline constexpr std::size_t max_tag_value_bytes = 1024;
inline constexpr std::size_t max_tags = 64;
inline constexpr std::size_t max_capabilities = 256;
inline constexpr std::size_t max_capabilities_bytes = 4096;  // joined by commas
inline constexpr std::size_t max_policy_json_bytes = 64 * 1024;
inline constexpr std::size_t max_retry_categories = 64;
inline constexpr std::size_t max_failure_detail_bytes = 64 * 1024;
inline constexpr std::size_t max_toml_line_bytes = 8192;  // of a configuration file
inline constexpr std::size_t max_toml_name_parts = 16;

// User data. These are the defaults; EngineOptions can change them up to the ceiling.
inline constexpr std::size_t default_max_payload_bytes = 1024 * 1024;
inline constexpr std::size_t ceiling_max_payload_bytes = 64 * 1024 * 1024;
// Payloads and results up to this size are stored in the record, larger ones separately as a satellite.
inline constexpr std::size_t max_inline_bytes = 1024;

// Limits of executions (docs/limits.md).
inline constexpr std::size_t max_limits = 200;  // definitions on a store
inline constexpr std::size_t max_limit_name_bytes = 128;
inline constexpr std::size_t max_limit_keys = 4;  // names in `per`
inline constexpr std::uint32_t max_concurrency = 10000;
inline constexpr std::uint32_t max_rate_count = 1000000;
inline constexpr std::int64_t max_rate_period_ms = 31LL * 24 * 3600 * 1000;
inline constexpr std::size_t max_rate_entries = 256;     // times of starts that a pool remembers; then they are merged
inline constexpr std::uint32_t max_called = 256;         // executions of one pool and route that one sweep calls
inline constexpr std::uint32_t max_visited_pools = 500;  // of a changed limit, in one sweep
inline constexpr std::int64_t pool_visit_ms = 10 * 60 * 1000;  // after which an unused pool is removed
inline constexpr std::uint32_t first_look_past = 16;  // how far a claim searches past those that limits hold back
inline constexpr std::uint32_t max_counted_held =
    1000;  // executions that a limit holds back, as far as they are counted
inline constexpr std::size_t max_shown_holders = 100;
inline constexpr std::size_t max_explained_holders = 3;
inline constexpr std::uint32_t max_measured_pools = 5000;  // of all limits together, that metrics of one moment count
inline constexpr std::uint32_t max_weight = 1000;          // of a key of a share, and of a lane of a claim
inline constexpr std::size_t max_share_weights = 100;      // of one share; every claim reads them
inline constexpr std::size_t max_share_key_bytes = 1024;   // the name of one of them
// Of one key of a share, by route and priority, as long as they are in use. The order within a key is kept for no more.
inline constexpr std::size_t max_share_lines = 64;
inline constexpr std::size_t max_known_heads = 10000;  // routes and priorities under shares that an engine remembers
inline constexpr std::size_t max_lane_turns = 1000;    // different weights of lanes that claims of an engine ask for

// Budgets (docs/budgets.md).
inline constexpr std::size_t max_dimensions = 8;  // of one budget, and of one call
inline constexpr std::size_t max_dimension_name_bytes = 64;
inline constexpr std::int64_t max_amount = 1'000'000'000'000'000;        // of one limit, and of one call
inline constexpr std::int64_t max_total_amount = 9'000'000'000'000'000;  // that counts as spent; more is not counted
inline constexpr std::size_t max_spend_key_bytes = 256;
inline constexpr std::size_t max_spend_keys = 512;                // that one account remembers,
inline constexpr std::int64_t spend_key_ms = 24LL * 3600 * 1000;  // and for how long
inline constexpr std::size_t max_usage_buckets = 48;              // of usage over time
inline constexpr std::size_t forecast_buckets = 12;               // from which a forecast is made
inline constexpr std::int64_t lifetime_bucket_ms = 3600LL * 1000;
inline constexpr std::int64_t min_budget_period_ms = 1000;
inline constexpr std::int64_t account_visit_ms = 3600LL * 1000;  // after which an account that nobody needs is removed
inline constexpr std::int64_t large_need_look_ms = 10'000;  // between two looks at one that reserves more than others

// Dead letters (docs/dead-letters.md).
inline constexpr std::size_t max_fingerprint_message_bytes = 512;  // of a message that the fingerprint looks at
inline constexpr std::size_t max_redrive_executions = 1000;        // given by their ids
inline constexpr std::size_t max_redrive_fingerprints = 100;       // given by the caller
inline constexpr std::size_t max_redrive_groups = 10000;           // that one redrive goes through
inline constexpr std::uint32_t max_redrive_piece = 100;            // executions that one step of the clock looks at
inline constexpr std::size_t max_redrive_refusals = 100;           // that a redrive names
inline constexpr std::size_t max_redrives = 1000;                  // of one namespace that are kept
inline constexpr std::int64_t max_redrive_period_ms = 31LL * 24 * 3600 * 1000;
inline constexpr std::int64_t redrive_retention_ms = 7LL * 24 * 3600 * 1000;  // after its end
inline constexpr std::uint32_t max_older_examined =
    1000;  // failed executions that one call looks at for those without a fingerprint

// Numbers of callers.
inline constexpr std::int32_t min_priority = -32768;
inline constexpr std::int32_t max_priority = 32767;
inline constexpr std::int64_t max_duration_ms = 10LL * 366 * 24 * 3600 * 1000;  // ten years
inline constexpr std::int64_t min_timestamp_ms = 946684800000;                  // the beginning of the year 2000
inline constexpr std::int64_t max_timestamp_ms = 253402300799999;               // the end of the year 9999
inline constexpr std::uint32_t min_lease_ttl_ms = 100;
inline constexpr std::uint32_t max_lease_ttl_ms = 24 * 3600 * 1000;
inline constexpr std::uint32_t min_liveness_ttl_ms = 1000;
inline constexpr std::uint32_t max_liveness_ttl_ms = 3600 * 1000;
inline constexpr std::uint32_t max_grant_ttl_ms = 60000;
inline constexpr std::uint32_t max_wait_ms = 3600 * 1000;
inline constexpr std::uint32_t max_claim = 1000;
inline constexpr std::size_t max_claim_bytes = 4 * 1024 * 1024;  // payload bytes of one claim's reply; one always fits
inline constexpr std::uint32_t max_claim_lanes = 64;
inline constexpr std::uint32_t max_http_wait_ms = 60000;  // that one HTTP call may wait
inline constexpr std::uint32_t max_http_items = 1000;     // that one HTTP call may carry
inline constexpr std::uint32_t min_multiplier_percent = 100;
inline constexpr std::uint32_t max_multiplier_percent = 10000;
inline constexpr std::size_t max_death_reason_bytes = 256;
inline constexpr std::size_t max_grant_key_chars = 1024;
inline constexpr std::size_t max_capability_hash_bytes = 256;
inline constexpr std::size_t max_grant_note_bytes = 4096;  // of a route snapshot, and of an admission summary
inline constexpr std::uint32_t max_bulk_items = 10000;
inline constexpr std::uint32_t max_max_retries = 1000000;
inline constexpr std::uint32_t max_max_reclaims = 1000000;
inline constexpr std::uint32_t max_max_replays = 1000000;

// Flows.
inline constexpr std::size_t max_node_name_bytes = 128;
inline constexpr std::size_t max_flow_nodes = 10000;             // in one request
inline constexpr std::size_t max_flow_edges = 50000;             // in one request
inline constexpr std::size_t max_flow_depth = 8;                 // flows within flows
inline constexpr std::size_t max_flow_bytes = 64 * 1024 * 1024;  // of all payloads in one request
inline constexpr std::size_t max_flow_fan = 10000;               // edges that lead to one node, or away from one
inline constexpr std::uint32_t max_flow_members = 100000;        // of a flow that grows
inline constexpr std::uint32_t max_flow_members_edges = 500000;  // of a flow that grows
inline constexpr std::size_t max_added_edges = 1000;       // to one existing node, or from one; its record repeats them
inline constexpr std::size_t max_flow_search = 10000;      // nodes that the search for a cycle visits
inline constexpr std::uint32_t max_graph_nodes = 20000;    // of a graph that is read as a whole
inline constexpr std::uint32_t max_flow_step = 256;        // edges or members that one step of the clock handles
inline constexpr std::size_t max_edges_at_once = 8;        // that a completion resolves itself
inline constexpr std::uint32_t max_members_at_once = 128;  // of a flow whose completions do so
inline constexpr std::uint32_t max_spared_step = 16;       // running members that one step of a cancellation lets go on
inline constexpr std::uint32_t max_sibling_step = 16;      // of upstream nodes that a group no longer needs
inline constexpr std::uint32_t max_sibling_edges = 64;     // a sibling with more outgoing edges is left alone
inline constexpr std::size_t max_sweep_keys = 8192;        // records that one sweep loads beside the due ones
inline constexpr std::uint32_t max_claimed_inputs = 1000;  // that a claim brings along
inline constexpr std::size_t max_claimed_input_bytes = 256 * 1024;  // results above that come as references
inline constexpr std::size_t max_large_inputs = 16;                 // results stored apart that a claim reads
inline constexpr std::uint32_t max_flow_outputs = 100;              // in the result of a flow
inline constexpr std::uint32_t max_explained_edges = 20;            // upstream nodes that an explanation names

// Waits and signals.
inline constexpr std::size_t max_waitpoint_name_bytes = 128;
inline constexpr std::size_t max_waitpoints = 32;  // open at an execution
inline constexpr std::size_t max_signal_name_bytes = 128;
inline constexpr std::size_t max_signal_source_bytes = 256;
inline constexpr std::size_t max_signal_bytes = 64 * 1024;        // of a payload
inline constexpr std::size_t max_kept_signals = 256;              // of an execution, that have not ended a wait
inline constexpr std::size_t max_waitpoint_signals = 100;         // of these, for waitpoints of one name
inline constexpr std::size_t max_kept_signal_bytes = 512 * 1024;  // of an execution; its record repeats them
inline constexpr std::size_t max_signal_keys = 256;               // idempotency keys that an execution remembers
inline constexpr std::size_t max_condition_depth = 8;
inline constexpr std::size_t max_condition_nodes = 64;
inline constexpr std::uint32_t max_condition_count = 256;
inline constexpr std::size_t max_match_sources = 64;
inline constexpr std::size_t max_match_fields = 16;
inline constexpr std::size_t max_match_field_bytes = 1024;  // of a pointer, and of a value
inline constexpr std::size_t max_approval_title_bytes = 256;
inline constexpr std::size_t max_approval_context_bytes = 64 * 1024;
inline constexpr std::size_t max_approvers = 64;
inline constexpr std::size_t max_comment_bytes = 4096;
inline constexpr std::size_t max_wait_token_chars = 1024;
inline constexpr std::uint32_t max_explained_signals = 10;  // missing ones that an explanation names

// Webhooks.
inline constexpr std::size_t max_hooks = 200;
inline constexpr std::size_t max_hook_name_bytes = 64;  // and of a header, and of a prefix
inline constexpr std::size_t min_hook_secret_bytes = 16;
inline constexpr std::size_t max_hook_secret_bytes = 256;
inline constexpr std::size_t max_hook_signatures = 8;  // of one request that are compared
inline constexpr std::size_t max_hook_challenge_bytes = 1024;
inline constexpr std::int64_t hook_tolerance_ms = 300'000;  // between the time that was signed and now

// Schedules.
inline constexpr std::size_t max_schedules = 1000;  // of one namespace
inline constexpr std::size_t max_schedule_name_bytes = 128;
inline constexpr std::size_t max_schedule_payload_bytes = 64 * 1024;  // every firing writes the record with it
inline constexpr std::size_t max_schedule_flow_bytes = 1024 * 1024;   // of the definition of a flow, as stored
inline constexpr std::size_t max_schedule_flow_nodes = 1000;          // with the nodes of flows in it
inline constexpr std::size_t max_cron_bytes = 256;
inline constexpr std::size_t max_time_zone_bytes = 64;
inline constexpr std::size_t max_exceptions = 400;  // of one schedule
inline constexpr std::size_t max_exception_bytes = 21;
inline constexpr std::int64_t min_schedule_interval_ms = 1000;
inline constexpr std::uint32_t max_catch_up = 1000;         // firings that one schedule makes up for
inline constexpr std::uint32_t max_backfill = 1000;         // firings of one call
inline constexpr std::uint32_t max_backfill_nodes = 10000;  // of all flows that one call creates
inline constexpr std::uint32_t max_next_runs = 1000;        // times that one preview computes
inline constexpr std::uint32_t described_next_runs = 10;    // times that a description brings along
inline constexpr std::uint32_t max_schedule_history = 100;  // firings that a schedule remembers
inline constexpr std::size_t max_schedule_running = 1000;   // executions that a schedule remembers as running
inline constexpr std::uint32_t max_schedule_steps = 4096;   // times that one step of the clock looks at
inline constexpr std::uint32_t max_schedule_firings = 100;  // firings of one step of the clock
inline constexpr std::uint32_t max_schedule_nodes = 1000;   // of all flows that one step of the clock creates
inline constexpr std::int64_t deleted_schedule_retention_ms = 24LL * 3600 * 1000;
inline constexpr std::int64_t unknown_zone_retry_ms = 60'000;

// Pages.
inline constexpr std::size_t max_listed_states = 64;
inline constexpr std::size_t max_cursor_bytes = 1024;
inline constexpr std::uint32_t default_page = 100;
inline constexpr std::uint32_t max_page = 1000;
inline constexpr std::uint32_t max_expired_leases_page = 10000;
inline constexpr std::size_t max_damaged_named = 1000;  // records that a server's log names as damaged
inline constexpr std::size_t max_findings = 10000;      // that an integrity check lists; it counts the rest
inline constexpr std::uint32_t inspection_page = 500;   // records or entries that it has in memory at once

// Internal limits of the engine.
inline constexpr std::size_t max_key_bytes = 400;
inline constexpr std::size_t max_queued_commands = 65536;
inline constexpr std::size_t worthwhile_batch_commands = 16;  // commands that must wait before a second writer starts
inline constexpr std::int64_t slow_batch_ms = 50;             // after which a second writer starts for fewer
inline constexpr std::size_t max_batch_commands = 512;
inline constexpr std::size_t max_batch_bytes = 8 * 1024 * 1024;  // payload bytes in one batch
inline constexpr std::size_t max_parked_claims = 65536;
inline constexpr std::size_t max_parked_waiters = 65536;
inline constexpr std::uint32_t max_due_batch = 2500;    // entries that one sweep reads
inline constexpr std::uint32_t lone_due_batch = 1000;   // if the only writer also serves commands
inline constexpr std::uint32_t shared_due_batch = 125;  // and where commands have come since the last sweep;
inline constexpr std::int64_t due_lag_step_ms = 250;    // as many again for each such step that the sweeps are late
inline constexpr std::uint32_t read_ahead_page = 1000;  // entries that the clock reads ahead at once
inline constexpr std::uint32_t max_read_ahead = 10000;  // and entries that it keeps
inline constexpr std::size_t max_read_ahead_bytes = 8 * 1024 * 1024;  // as stored: several times that in memory
inline constexpr std::int64_t heartbeat_patience_ms = 100;  // how long a heartbeat waits for others to share its commit
inline constexpr std::int64_t dead_worker_retention_ms = 24LL * 3600 * 1000;
inline constexpr std::size_t max_signing_keys = 16;
inline constexpr std::size_t max_api_keys = 1000;
inline constexpr std::size_t max_api_key_name_bytes = 64;
inline constexpr std::uint32_t max_route_candidates = 512;
// A command whose record was changed by others so often holds the record at its next try, so that nobody can be faster.
inline constexpr int max_hopeful_tries = 3;
inline constexpr int max_stale_retries =
    64;  // Then `contended`. Only a command that changes several records gets there
inline constexpr std::size_t max_routes = 100000;
inline constexpr std::size_t max_namespace_routes = 10000;   // of these, first used by one namespace
inline constexpr std::size_t quiet_namespace_routes = 1000;  // while it has no more, none of them is forgotten
inline constexpr std::int64_t idle_route_ms = 3600 * 1000;   // one that was not used for so long may be
inline constexpr std::size_t max_forgotten_routes = 1000;    // in one step
inline constexpr std::size_t max_announced_roots = 64;       // of sequences that grew; beyond it: look at everything
// From then on a transaction that stays open in the database is worth a warning.
inline constexpr std::int64_t events_held_back_warning_ms = 10'000;
inline constexpr std::int64_t uncleared_rows_warning_ms = 3600'000;

}  // namespace flowfabric::limits
