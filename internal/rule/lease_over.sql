-- True if the lease of the started effect e has expired, or if its attempt seems to begin more
-- than a minute from now. In that case the clock was set back, and the lease might last for years.
(e.lease_until < now() OR COALESCE(e.last_attempt_at > now() + interval '1 minute', false))
