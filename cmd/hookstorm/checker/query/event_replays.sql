-- Every replay of an event.
SELECT row_to_json(r)::text
FROM (
    SELECT source, event_id, generation, new_keys, requested_by, requested_at, reason, previous_outcome, previous_at
    FROM hooklatch.event_replays
) AS r
