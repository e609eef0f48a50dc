-- Ends the attempts of the effect e without an answer. One that runs may still be
-- applied, but settles nothing.
finished_at = now(),
    claim_id = NULL,
    lease_until = NULL,
    maybe_applied_since = CASE
        WHEN e.state = 'started' AND e.request_rendering <> 'late' THEN COALESCE(e.maybe_applied_since, e.last_attempt_at)
        ELSE e.maybe_applied_since
    END
