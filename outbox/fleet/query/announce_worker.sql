-- Announces a process and its configuration, and returns the configuration's number. The process's
-- start is stored by the server's clock, so that the starts of two processes can be compared. A
-- known configuration keeps its number. Therefore, a restarted process does not make an older
-- configuration the newest. A configuration that no process has run for :unused_seconds gets a new
-- number, unless the process renews its announcement, or no process could announce anything in that
-- time. A worker counts as having run the configuration from its second announcement on: a worker that
-- fails at every start does not count.
WITH outage AS (
    SELECT max(seen_at) AS began_at
    FROM hooklatch.configurations
    HAVING max(seen_at) < now() - make_interval(secs => :unused_seconds::float8)
), announced AS (
    INSERT INTO hooklatch.configurations AS known (hash, began_by, dispatched_at)
    VALUES (:configuration, :id, CASE WHEN :dispatches AND :renewed::boolean THEN now() ELSE '-infinity' END)
    ON CONFLICT (hash) DO UPDATE
    SET
        seen_at = now(),
        dispatched_at = GREATEST(known.dispatched_at, EXCLUDED.dispatched_at),
        number = CASE WHEN {{unused}} THEN EXCLUDED.number ELSE known.number END,
        began_at = CASE WHEN {{unused}} THEN now() ELSE known.began_at END,
        began_by = CASE WHEN {{unused}} THEN EXCLUDED.began_by ELSE known.began_by END
    RETURNING known.number, known.began_at
), resumed AS (
    -- The first announcement after an outage counts for every configuration that was in use when
    -- the outage began. A row that is locked is left out, because another process is announcing it.
    -- Therefore, no two processes wait for each other.
    UPDATE hooklatch.configurations AS c
    SET seen_at = now()
    FROM (
        SELECT stale.hash
        FROM announced
        CROSS JOIN outage
        JOIN hooklatch.configurations AS stale ON stale.seen_at > outage.began_at - make_interval(secs => :unused_seconds::float8)
        WHERE stale.hash <> :configuration
        FOR UPDATE OF stale SKIP LOCKED
    ) AS used
    WHERE c.hash = used.hash
)
INSERT INTO hooklatch.workers (id, started_at, config_hash, destinations, queues, configuration, configured_at, routes, sources, handler_sources, dispatches, accepts)
SELECT
    :id, now() - make_interval(secs => :running_seconds::float8), :config_hash, :destinations::text[], :queues::text[],
    announced.number, announced.began_at, :routes, :sources::text[], :handler_sources::text[], :dispatches, :accepts
FROM announced
ON CONFLICT (id) DO UPDATE
SET
    seen_at = now(),
    config_hash = EXCLUDED.config_hash,
    destinations = EXCLUDED.destinations,
    queues = EXCLUDED.queues,
    configuration = EXCLUDED.configuration,
    configured_at = EXCLUDED.configured_at,
    routes = EXCLUDED.routes,
    sources = EXCLUDED.sources,
    handler_sources = EXCLUDED.handler_sources,
    dispatches = EXCLUDED.dispatches,
    accepts = EXCLUDED.accepts
RETURNING configuration
