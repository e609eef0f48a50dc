-- Notifies River's clients again about queues whose pause state a client seems to ignore. Postgres
-- keeps no notification for a client that is not listening, and a client reads its queues' pauses
-- only when it starts. A client seems to ignore a resume if a queue's oldest job has waited for a
-- long time. It seems to ignore a pause if a job was fetched long after the pause. The rows are
-- locked, so that the notification of a concurrent pause or resume arrives after this notification.
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
