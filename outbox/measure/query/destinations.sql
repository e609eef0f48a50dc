-- The operator's pause and the breaker of each destination, with their reasons and times.
SELECT
    d.name, d.operator_paused, d.paused_by, d.pause_reason, d.paused_at,
    d.breaker_state <> 'closed' AS broken, d.breaker_reason, d.opened_at, d.probe_at
FROM hooklatch.destinations AS d
ORDER BY d.name
