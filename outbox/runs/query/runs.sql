-- Returns runs with ids below :before, newest first. If :id is not 0, the query returns only that
-- run.
SELECT
    id, name, action, filter, most, per_second, who, role, via, reason, request_id, created_at, {{state}}, since, error, place,
    selected, changed, reopened, in_doubt, unrendered, unclear, COALESCE(total, 0), came,
    {{at_work}} AND leased_until > now() AS worked,
    EXTRACT(epoch FROM GREATEST(next_at, now()) - now())::double precision AS waits_seconds
FROM hooklatch.replay_runs
WHERE id < :before
    AND (:id::bigint = 0 OR id = :id)
ORDER BY id DESC
LIMIT :limit
