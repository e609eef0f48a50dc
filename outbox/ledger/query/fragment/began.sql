-- When the latest attempt of the effect e began: never after now, even if the clock was set
-- back.
LEAST(e.last_attempt_at, now())
