-- The start of the latest attempt of the effect e. It is never after now, even if the clock was set
-- back.
LEAST(e.last_attempt_at, now())
