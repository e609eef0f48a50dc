-- The time since which the effect e may have been applied, once no process waits for an attempt's
-- response.
CASE
        WHEN e.state = 'started' AND e.request_rendering <> 'late' THEN COALESCE(e.maybe_applied_since, e.last_attempt_at)
        ELSE e.maybe_applied_since
    END
