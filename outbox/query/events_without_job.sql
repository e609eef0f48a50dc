-- Returns a source's undispatched events that no live job will dispatch. The grace excludes events
-- whose job is being inserted or finished right now. A replayed event's job has waited in its queue
-- since the replay, not since the event was received. Replayed events are therefore returned only
-- if every job was read.
WITH job AS MATERIALIZED {{live_jobs}}, known AS MATERIALIZED (
    -- The time of receipt up to which the rows of job are complete. A failed dispatch may be tried
    -- again hours after its event was received. If the list of such later jobs was not read to its
    -- end, the job of any event may be missing.
    SELECT COALESCE(min(CASE list.state WHEN 'available' THEN list.last ELSE '-infinity' END), 'infinity') AS until
    FROM {{full_lists}} AS list
), undispatched AS MATERIALIZED (
    -- Later events are checked once the earlier events are dispatched.
    SELECT p.source, p.event_id, p.event_type, p.origin, p.received_at, p.queue, p.traceparent, p.generation
    FROM hooklatch.processed_events AS p
    WHERE p.source = :source
        AND p.outcome = 'received'
    ORDER BY p.accept_seq
    LIMIT 3 * :look::bigint
)
SELECT p.source, p.event_id, p.event_type, p.origin, p.received_at, p.queue, p.traceparent
FROM undispatched AS p
WHERE p.received_at < LEAST(now() - make_interval(secs => :grace_seconds::float8), (SELECT until FROM known))
    AND (p.generation = 1 OR (SELECT until FROM known) = 'infinity')
    AND (p.source, p.event_id) NOT IN (
        SELECT job.args ->> 'source', job.args ->> 'event_id'
        FROM job
        WHERE job.kind = 'dispatch'
            AND (job.args ->> 'source', job.args ->> 'event_id') IS NOT NULL
    )
ORDER BY p.received_at
LIMIT :look
