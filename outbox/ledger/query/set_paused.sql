UPDATE hooklatch.destinations
SET
    operator_paused = $2,
    paused_by = CASE WHEN $2 THEN $3 ELSE '' END,
    pause_reason = CASE WHEN $2 THEN $4 ELSE '' END,
    paused_at = CASE WHEN $2 THEN COALESCE(paused_at, clock_timestamp()) END,
    epoch = epoch + 1
WHERE name = $1
    AND (operator_paused, paused_by, pause_reason)
        IS DISTINCT FROM ($2, CASE WHEN $2 THEN $3 ELSE '' END, CASE WHEN $2 THEN $4 ELSE '' END)
