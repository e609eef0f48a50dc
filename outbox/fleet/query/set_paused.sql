UPDATE hooklatch.destinations
SET
    operator_paused = :paused,
    paused_by = CASE WHEN :paused THEN :who ELSE '' END,
    pause_reason = CASE WHEN :paused THEN :reason ELSE '' END,
    paused_at = CASE WHEN :paused THEN COALESCE(paused_at, clock_timestamp()) END,
    epoch = epoch + 1
WHERE name = :destination
    AND (operator_paused, paused_by, pause_reason)
        IS DISTINCT FROM (:paused, CASE WHEN :paused THEN :who ELSE '' END, CASE WHEN :paused THEN :reason ELSE '' END)
    AND (NOT :own OR operator_paused <> :paused AND (:paused OR pause_reason = :reason))
