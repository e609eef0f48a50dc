-- Remembers proofs that the other cell has seen.
INSERT INTO hooklatch.replay_guards (source, hash, acceptance_id, seen_at, content, last_seen_at)
SELECT :source, m.hash, m.acceptance_id, m.seen_at, m.content, m.last_seen_at
FROM jsonb_to_recordset(:contents::jsonb) AS m (hash bytea, acceptance_id uuid, seen_at timestamptz, content bytea, last_seen_at timestamptz)
ORDER BY m.hash
ON CONFLICT (source, hash) DO NOTHING
