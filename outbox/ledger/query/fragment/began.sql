-- When the latest attempt of the effect e began: not after now, whatever the clock said.
LEAST(e.last_attempt_at, now())
