-- This file grants rights to the roles that database.sh creates. The grants service of compose.yaml
-- runs it after each migration, as the role that owns the tables. docs/operations.md#roles
-- explains the statements for the gateway and the worker.

-- roles: the gateway accepts deliveries
GRANT USAGE ON SCHEMA hooklatch TO hooklatch_gateway;
GRANT SELECT ON hooklatch.schema_migrations, hooklatch.river_migration, hooklatch.installation, hooklatch.processed_events,
    hooklatch.destinations, hooklatch.retention_progress, hooklatch.replay_runs, hooklatch.hours, hooklatch.sizes,
    hooklatch.river_leader, hooklatch.coverage, hooklatch.backfill_runs, hooklatch.all_links, hooklatch.source_moves TO hooklatch_gateway;
GRANT UPDATE (next_at) ON hooklatch.coverage TO hooklatch_gateway;
GRANT INSERT ON hooklatch.processed_events, hooklatch.deliveries, hooklatch.delivery_copies TO hooklatch_gateway;
GRANT UPDATE (duplicates, last_duplicate_at, body_differs, duplicate_times) ON hooklatch.processed_events TO hooklatch_gateway;
GRANT SELECT, INSERT ON hooklatch.river_job TO hooklatch_gateway;
GRANT SELECT, INSERT, UPDATE ON hooklatch.replay_guards, hooklatch.content_guards, hooklatch.retry_statistics,
    hooklatch.minutes, hooklatch.last_seen TO hooklatch_gateway;
GRANT SELECT, INSERT, UPDATE, DELETE ON hooklatch.sender_keys, hooklatch.processes, hooklatch.collector,
    hooklatch.rejected_deliveries, hooklatch.known_addresses, hooklatch.console_logins, hooklatch.workers, hooklatch.configurations
    TO hooklatch_gateway;
GRANT SELECT ON hooklatch.quarantine_key TO hooklatch_gateway;
GRANT SELECT (scope, key, generation, idempotency_key, route, destination, queue, policy, source, event_id, event_type, state, attempt,
    next_attempt_at, created_at, first_attempt_at, last_attempt_at, finished_at, response_status, order_key, accept_seq, lease_until, on_park,
    traceparent) ON hooklatch.effects TO hooklatch_gateway;
GRANT USAGE ON SEQUENCE hooklatch.accept_seq, hooklatch.river_job_id_seq TO hooklatch_gateway;
GRANT EXECUTE ON FUNCTION hooklatch.delivery_days_ahead(), hooklatch.make_delivery_partitions(integer),
    hooklatch.this_server() TO hooklatch_gateway;

-- roles: the worker dispatches events, performs effects, and does maintenance
GRANT USAGE ON SCHEMA hooklatch TO hooklatch_worker;
GRANT SELECT ON hooklatch.schema_migrations, hooklatch.river_migration, hooklatch.deliveries,
    hooklatch.all_attempts, hooklatch.all_links, hooklatch.effect_transitions TO hooklatch_worker;
GRANT SELECT, UPDATE, DELETE ON hooklatch.processed_events, hooklatch.deliveries_kept, hooklatch.replay_guards TO hooklatch_worker;
GRANT SELECT, DELETE ON hooklatch.content_guards, hooklatch.effect_attempts, hooklatch.effect_events, hooklatch.former_transitions,
    hooklatch.delivery_copies TO hooklatch_worker;
GRANT SELECT, INSERT ON hooklatch.attempts, hooklatch.links, hooklatch.transitions, hooklatch.search_values TO hooklatch_worker;
GRANT SELECT, INSERT, UPDATE ON hooklatch.installation TO hooklatch_worker;
GRANT SELECT, INSERT, DELETE ON hooklatch.event_replays, hooklatch.operator_log, hooklatch.events_kept TO hooklatch_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON hooklatch.effects, hooklatch.destinations, hooklatch.destination_rates, hooklatch.object_versions,
    hooklatch.workers, hooklatch.configurations, hooklatch.processes, hooklatch.replay_runs, hooklatch.retention_progress, hooklatch.minutes, hooklatch.hours, hooklatch.last_seen, hooklatch.sizes,
    hooklatch.collector, hooklatch.alert_states, hooklatch.console_logins, hooklatch.river_job, hooklatch.river_queue, hooklatch.river_leader
    TO hooklatch_worker;
GRANT SELECT, INSERT, UPDATE ON hooklatch.alert_mutes TO hooklatch_worker;
GRANT SELECT ON hooklatch.source_moves TO hooklatch_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON hooklatch.coverage, hooklatch.backfill_runs, hooklatch.redeliveries TO hooklatch_worker;
GRANT SELECT (source, rejected_at, reason, known, bytes) ON hooklatch.rejected_deliveries TO hooklatch_worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA hooklatch TO hooklatch_worker;
GRANT EXECUTE ON FUNCTION hooklatch.delivery_days_ahead(), hooklatch.make_delivery_partitions(integer), hooklatch.detach_day(text, date),
    hooklatch.drop_day(text, date), hooklatch.keep_deliveries(date, bigint[]), hooklatch.thin_day(text, date, bigint[]),
    hooklatch.this_server() TO hooklatch_worker;

-- backfill: a worker accepts the events that providers list
GRANT INSERT ON hooklatch.processed_events, hooklatch.deliveries, hooklatch.delivery_copies TO hooklatch_worker;
GRANT INSERT, UPDATE ON hooklatch.content_guards TO hooklatch_worker;

-- export: a worker exports days before it drops them, and replays events of these days
GRANT SELECT, INSERT, UPDATE, DELETE ON hooklatch.exported_days, hooklatch.export_erasures TO hooklatch_worker;
GRANT INSERT ON hooklatch.processed_events, hooklatch.deliveries_kept TO hooklatch_worker;

-- runs: a worker erases many events, and verifies refused deliveries again
GRANT EXECUTE ON FUNCTION hooklatch.erase_event, hooklatch.erase_effect, hooklatch.stored_delivery, hooklatch.blot_delivery,
    hooklatch.empty_delivery, hooklatch.copies_of_event, hooklatch.events_of_delivery TO hooklatch_worker;
GRANT SELECT, DELETE ON hooklatch.rejected_deliveries TO hooklatch_worker;
GRANT SELECT ON hooklatch.quarantine_key TO hooklatch_worker;
GRANT INSERT ON hooklatch.processed_events, hooklatch.deliveries, hooklatch.delivery_copies, hooklatch.replay_guards TO hooklatch_worker;
GRANT INSERT, UPDATE ON hooklatch.content_guards TO hooklatch_worker;
GRANT SELECT, INSERT, UPDATE ON hooklatch.retry_statistics TO hooklatch_worker;

-- redact: a worker replaces values of stored events
GRANT EXECUTE ON FUNCTION hooklatch.erase_event, hooklatch.stored_delivery, hooklatch.blot_delivery, hooklatch.empty_delivery,
    hooklatch.copies_of_event, hooklatch.events_of_delivery TO hooklatch_worker;
GRANT SELECT, INSERT, UPDATE ON hooklatch.redaction_progress TO hooklatch_worker;
GRANT SELECT, INSERT, DELETE ON hooklatch.redaction_waiting TO hooklatch_worker;

-- River UI shows, cancels and deletes jobs. It can read neither deliveries nor effects.
GRANT USAGE ON SCHEMA hooklatch TO hooklatch_riverui;
GRANT SELECT ON hooklatch.river_migration TO hooklatch_riverui;
GRANT SELECT, INSERT, UPDATE, DELETE ON hooklatch.river_job, hooklatch.river_queue, hooklatch.river_leader,
    hooklatch.river_notification TO hooklatch_riverui;
GRANT USAGE ON SEQUENCE hooklatch.river_job_id_seq TO hooklatch_riverui;
