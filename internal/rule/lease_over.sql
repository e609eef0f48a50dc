-- Whether the lease of the effect e, which is started, has expired. If the attempt seems to
-- begin more than a minute after now, the clock has been set back: the lease may last for
-- years.
(e.lease_until < now() OR COALESCE(e.last_attempt_at > now() + interval '1 minute', false))
