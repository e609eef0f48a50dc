-- Remembers proofs in key order, before any event is inserted, and returns each proof's stored row.
-- The row is from this acceptance if the proof is new, or if this is a retry of the same
-- acceptance. If two gateways store one proof simultaneously, the row lock makes the second wait
-- until the first transaction has ended.
INSERT INTO hooklatch.replay_guards AS known (source, hash, acceptance_id, content)
SELECT g.source, g.hash, g.acceptance_id, g.content
FROM :proofs AS g (source text, hash bytea, acceptance_id uuid, content bytea)
ORDER BY g.source COLLATE "C", g.hash
ON CONFLICT (source, hash) DO UPDATE
SET last_seen_at = now()
RETURNING known.source, known.hash, known.acceptance_id, known.content
