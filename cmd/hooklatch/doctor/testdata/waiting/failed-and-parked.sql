INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, attempt, finished_at, maybe_applied_since, error)
VALUES
    ('s', '1', 'hl_1', 'app', 'dst_app', 'at_least_once', 'failed', 1, now() - interval '3 hours', NULL, 'HTTP 404 Not Found'),
    ('s', '2', 'hl_2', 'app', 'dst_app', 'at_least_once', 'failed', 1, now() - interval '5 minutes', NULL, 'HTTP 403 Forbidden'),
    ('s', '3', 'hl_3', 'crm', 'dst_crm', 'at_most_once', 'parked', 1, now() - interval '49 hours', now() - interval '50 hours', 'timed out');
