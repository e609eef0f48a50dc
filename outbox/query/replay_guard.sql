-- Remembers proofs in key order, before any event is inserted. No row for one
-- means that it came before. A retry of the same acceptance gets its own back.
INSERT INTO hooklatch.replay_guards AS known (source, hash, acceptance_id)
SELECT g.source, g.hash, g.acceptance_id
FROM unnest($1::text[], $2::bytea[], $3::uuid[]) AS g (source, hash, acceptance_id)
ORDER BY g.source COLLATE "C", g.hash
ON CONFLICT (source, hash) DO UPDATE
SET seen_at = known.seen_at
WHERE known.acceptance_id = EXCLUDED.acceptance_id
RETURNING source, hash
