-- Whether the lease of the effect e, which is started, is over. An attempt that began a
-- minute after now began by a clock that has been set back: its lease may last for years.
(e.lease_until < now() OR COALESCE(e.last_attempt_at > now() + interval '1 minute', false))
