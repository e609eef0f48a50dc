SELECT count(*) FILTER (WHERE last_seen_at < :before), count(*) FILTER (WHERE last_seen_at >= :before)
FROM hooklatch.replay_guards
WHERE source = :source
    AND seen_at < :before
