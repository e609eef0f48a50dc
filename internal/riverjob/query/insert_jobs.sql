-- Inserts jobs as River's client does, except that times are the database's and that no
-- client is notified. A positive id was assigned earlier. A job with not_before waits for
-- River's scheduler.
INSERT INTO hooklatch.river_job (id, state, kind, queue, priority, args, metadata, max_attempts, tags, scheduled_at)
SELECT
    CASE WHEN j.id > 0 THEN j.id ELSE nextval('hooklatch.river_job_id_seq') END,
    CASE WHEN j.not_before IS NULL THEN 'available' ELSE 'scheduled' END::hooklatch.river_job_state,
    j.kind, j.queue, j.priority, j.args, j.metadata, j.max_attempts, string_to_array(j.tags, ',')::varchar(255)[],
    -- River fetches jobs in the order of this time. A time in the future would need the state
    -- scheduled.
    COALESCE(j.not_before, LEAST(j.since, now()))
FROM :jobs AS j (
    id bigint, kind text, queue text, priority smallint, args jsonb, metadata jsonb, max_attempts smallint, tags text, since timestamptz, not_before timestamptz
)
