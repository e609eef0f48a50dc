-- Since when the effect e may have been applied, when nobody waits for the answer to an
-- attempt of it any more.
CASE
        WHEN e.state = 'started' AND e.request_rendering <> 'late' THEN COALESCE(e.maybe_applied_since, e.last_attempt_at)
        ELSE e.maybe_applied_since
    END
