INSERT INTO hooklatch.destinations (name, kind, queue, config_hash, operator_paused, paused_by, pause_reason, paused_at)
VALUES ('app', 'http', 'dst_app', '', true, 'ann', 'they migrate', now() - interval '10 minutes');
INSERT INTO hooklatch.destinations (name, kind, queue, config_hash, breaker_state, breaker_reason, opened_at, probe_at)
VALUES ('crm', 'http', 'dst_crm', '', 'open', '10 attempts in a row failed', now() - interval '2 hours', now() + interval '1 minute');
INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, next_attempt_at)
SELECT 's', d || i, 'hl_' || d || i, d, 'dst_' || d, 'at_least_once', now() - interval '5 minutes'
FROM unnest(ARRAY['app', 'crm', 'crm']) WITH ORDINALITY AS d (d, i);
