-- The live jobs in :queues: the first :look of each queue, state and priority, and ten times as
-- many running ones. No more are read, however many wait.
(
    SELECT q.name AS queue, live.state, class.priority, j.scheduled_at, j.kind, j.args
    FROM unnest(:queues::text[]) AS q (name)
    CROSS JOIN unnest(ARRAY['available', 'pending', 'retryable', 'running', 'scheduled']::text[]) AS live (state)
    CROSS JOIN unnest(ARRAY[1, 2, 3, 4]::smallint[]) AS class (priority)
    CROSS JOIN LATERAL (
        SELECT j.scheduled_at, j.kind, j.args
        FROM hooklatch.river_job AS j
        WHERE j.state = live.state::hooklatch.river_job_state
            AND j.queue = q.name
            AND j.priority = class.priority
        ORDER BY j.scheduled_at, j.id
        LIMIT CASE live.state WHEN 'running' THEN 10 ELSE 1 END * :look::bigint
    ) AS j
)
