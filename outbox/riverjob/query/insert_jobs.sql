-- Inserts jobs as River's client does, except that times are the database's and that
-- nobody is notified.
INSERT INTO hooklatch.river_job (kind, queue, args, metadata, max_attempts, tags, scheduled_at)
SELECT
    j.kind, j.queue, j.args, j.metadata, j.max_attempts, string_to_array(j.tags, ',')::varchar(255)[],
    -- River fetches by it. One of the future would need another state.
    LEAST(j.since, now())
FROM :jobs AS j (kind text, queue text, args jsonb, metadata jsonb, max_attempts smallint, tags text, since timestamptz)
