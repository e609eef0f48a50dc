-- The minutes of :steps periods of :step_seconds, with the number of each minute's period, from 0.
-- The last period ended at least :lag_seconds ago.
SELECT m.minute, floor(extract(epoch FROM m.minute - span.since) / :step_seconds::float8)::integer AS place
FROM (
    SELECT ended.at - :steps::integer * make_interval(secs => :step_seconds::float8) AS since, ended.at AS until
    FROM (
        SELECT date_bin(make_interval(secs => :step_seconds::float8), now() - make_interval(secs => :lag_seconds::float8), timestamptz '2000-01-01 00:00:00Z') AS at
    ) AS ended
) AS span
CROSS JOIN LATERAL generate_series(span.since, span.until - interval '1 minute', interval '1 minute') AS m (minute)
