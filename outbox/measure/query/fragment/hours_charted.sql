-- The last :steps hours, each with its number from 0. The last one ended at least :lag_seconds ago.
SELECT h.hour, (row_number() OVER (ORDER BY h.hour) - 1)::integer AS place
FROM (
    SELECT date_trunc('hour', now() - make_interval(secs => :lag_seconds::float8), 'UTC') AS at
) AS ended
CROSS JOIN LATERAL generate_series(ended.at - :steps::integer * interval '1 hour', ended.at - interval '1 hour', interval '1 hour') AS h (hour)
