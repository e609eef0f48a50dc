-- Returns the replays of an event, oldest first.
SELECT generation, new_keys, route, COALESCE(run_id, 0), requested_by, reason, requested_at, previous_outcome, previous_error, previous_at
FROM hooklatch.event_replays
WHERE source = :source
    AND event_id = :event_id
ORDER BY generation
