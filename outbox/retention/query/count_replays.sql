SELECT count(*), 0
FROM hooklatch.event_replays
WHERE requested_at < :before
