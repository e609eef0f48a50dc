INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, attempt, finished_at, maybe_applied_since, error)
VALUES
    ('s', '1', 'hl_1', 'app', 'dst_app', 'at_least_once', 'failed', 1, now() - interval '3 hours', NULL, 'HTTP 404 Not Found'),
    ('s', '2', 'hl_2', 'app', 'dst_app', 'at_least_once', 'failed', 1, now() - interval '5 minutes', NULL, 'HTTP 403 Forbidden'),
    ('s', '3', 'hl_3', 'crm', 'dst_crm', 'at_most_once', 'parked', 1, now() - interval '49 hours', now() - interval '50 hours', 'timed out');

-- Two effects, for events of two sources, have requests that could not be rendered. The request of
-- a third effect was sent.
INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, outcome, received_at)
VALUES
    ('stripe', '4', 4, gen_random_uuid(), 'stripe', 't', gen_random_uuid(), '', 'dispatch', 'dispatched', '2026-01-02 03:04:05.6Z'),
    ('github', '5', 5, gen_random_uuid(), 'github', 't', gen_random_uuid(), '', 'dispatch', 'dispatched', '2026-01-02 03:04:06Z');
INSERT INTO hooklatch.effects (
    scope, key, idempotency_key, destination, queue, policy, state, attempt, finished_at, maybe_applied_since, error, source, event_id, request_rendering
)
VALUES
    ('s', '4', 'hl_4', 'slack', 'dst_slack', 'at_least_once', 'parked', 0, now() - interval '3 hours', NULL, 'no such key: amont', 'stripe', '4', 'failed'),
    ('s', '5', 'hl_5', 'slack', 'dst_slack', 'at_least_once', 'parked', 0, now() - interval '2 hours', NULL, 'no such key: amont', 'github', '5', 'failed'),
    ('s', '6', 'hl_6', 'slack', 'dst_slack', 'at_least_once', 'parked', 9, now() - interval '1 hour', NULL, 'HTTP 500', 'github', '5', 'done');
