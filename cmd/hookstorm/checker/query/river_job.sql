-- The unfinished jobs.
SELECT row_to_json(r)::text
FROM (
    SELECT j.id, j.kind, j.state, j.queue, j.attempt, j.scheduled_at, j.args
    FROM hooklatch.river_job AS j
    WHERE {{is_live}}
) AS r
