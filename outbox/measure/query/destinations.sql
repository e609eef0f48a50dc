-- The reasons that block each destination, and the operator who paused it.
SELECT
    d.name, d.operator_paused, d.paused_by, d.pause_reason, d.paused_at,
    d.breaker_state <> 'closed' AS broken, d.breaker_reason, d.opened_at, d.probe_at
FROM hooklatch.destinations AS d
ORDER BY d.name
