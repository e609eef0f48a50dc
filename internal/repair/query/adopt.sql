-- Makes this server the known server. Unless :restored_to is NULL, effects and events that already
-- exist count as uncertain.
INSERT INTO hooklatch.installation AS i (system_id, timeline, restored_to, restored_at, restored_seq)
SELECT
    s.system_id, s.timeline, restored.to_time,
    CASE WHEN restored.to_time IS NOT NULL THEN clock_timestamp() END,
    CASE WHEN restored.to_time IS NOT NULL THEN COALESCE((SELECT max(p.accept_seq) FROM hooklatch.processed_events AS p), 0) ELSE 0 END
FROM hooklatch.this_server() AS s
CROSS JOIN (SELECT :restored_to::timestamptz AS to_time) AS restored
ON CONFLICT (one) DO UPDATE
SET
    system_id = EXCLUDED.system_id,
    timeline = EXCLUDED.timeline,
    epoch = i.epoch + 1,
    changed_at = clock_timestamp(),
    restored_to = COALESCE(EXCLUDED.restored_to, i.restored_to),
    restored_at = COALESCE(EXCLUDED.restored_at, i.restored_at),
    restored_seq = GREATEST(EXCLUDED.restored_seq, i.restored_seq)
