-- Tells River's clients again of queues that one of them seems to treat otherwise:
-- Postgres keeps no notification for who is not listening, and a client asks for
-- the pauses of its queues only when it starts. A queue is not worked while its
-- oldest job has waited for long, or it is worked long after it was paused. Locked,
-- so that a pause which begins or ends meanwhile is told after this.
SELECT pg_notify(:topic, json_build_object('action', CASE WHEN q.paused_at IS NULL THEN 'resume' ELSE 'pause' END, 'queue', q.name)::text)
FROM (
    SELECT q.name, q.paused_at
    FROM hooklatch.river_queue AS q
    WHERE CASE
        WHEN q.paused_at IS NULL THEN (
            SELECT oldest.scheduled_at
            FROM hooklatch.river_job AS oldest
            WHERE oldest.state = 'available'
                AND oldest.queue = q.name
            ORDER BY oldest.priority, oldest.scheduled_at, oldest.id
            LIMIT 1
        ) < now() - make_interval(secs => :unheard_seconds)
        ELSE EXISTS (
            SELECT
            FROM hooklatch.river_job AS late
            WHERE late.state = 'running'
                AND late.queue = q.name
                AND late.attempted_at > q.paused_at + make_interval(secs => :unheard_seconds)
        )
    END
    FOR SHARE SKIP LOCKED
) AS q
