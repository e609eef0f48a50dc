-- The time of the destination's last success, with a success :succeeded_seconds ago. A time in the
-- future is from before the clock was set back.
CASE
            WHEN succeeded_at <= clock_timestamp() THEN GREATEST(succeeded_at, clock_timestamp() - make_interval(secs => :succeeded_seconds::float8))
            ELSE clock_timestamp() - make_interval(secs => :succeeded_seconds::float8)
        END
