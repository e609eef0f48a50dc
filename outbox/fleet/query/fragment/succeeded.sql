-- The later of the destination's last success and a success :succeeded_seconds ago. A stored time
-- in the future is from before the clock was set back, and is ignored.
CASE
            WHEN succeeded_at <= clock_timestamp() THEN GREATEST(succeeded_at, clock_timestamp() - make_interval(secs => :succeeded_seconds::float8))
            ELSE clock_timestamp() - make_interval(secs => :succeeded_seconds::float8)
        END
