-- The current time, and the time of each kind's oldest row: one step into an index for each kind.
-- Versions have no index by time, so the time of the oldest effect is used for versions.
SELECT
    now(),
    EXISTS (SELECT FROM hooklatch.processed_events WHERE accept_seq < 0) AS imports,
    (SELECT min(created_at) FROM hooklatch.effects) AS effects,
    (SELECT min(seen_at) FROM hooklatch.replay_guards) AS guards,
    (SELECT min(expires_at) FROM hooklatch.content_guards) AS contents,
    (SELECT min(requested_at) FROM hooklatch.event_replays) AS replays,
    (SELECT min(created_at) FROM hooklatch.effects WHERE EXISTS (SELECT FROM hooklatch.object_versions)) AS versions,
    (SELECT min(at) FROM hooklatch.operator_log) AS operations
