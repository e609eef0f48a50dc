-- The destinations, with their pauses and breakers.
SELECT row_to_json(r)::text
FROM (
    SELECT name, kind, queue, policy, operator_paused, paused_by, pause_reason, paused_at, breaker_state, breaker_reason, opened_at, probe_at
    FROM hooklatch.destinations
) AS r
