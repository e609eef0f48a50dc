-- Remembers the newest version of each object that the other cell has applied. accept_seq is 0,
-- because positions of the other cell mean nothing here: every event of this cell counts as later.
INSERT INTO hooklatch.object_versions AS known (scope, latest_key, occurred_at, accept_seq, idempotency_key, applied_at)
SELECT DISTINCT ON (m.scope COLLATE "C", m.latest_key COLLATE "C") m.scope, m.latest_key, m.occurred_at, 0, m.idempotency_key, m.applied_at
FROM jsonb_to_recordset(:contents::jsonb) AS m (scope text, latest_key text, occurred_at timestamptz, idempotency_key text, applied_at timestamptz)
ORDER BY m.scope COLLATE "C", m.latest_key COLLATE "C", m.occurred_at DESC
ON CONFLICT (scope, latest_key) DO UPDATE
SET
    occurred_at = EXCLUDED.occurred_at,
    accept_seq = EXCLUDED.accept_seq,
    idempotency_key = EXCLUDED.idempotency_key,
    applied_at = EXCLUDED.applied_at
WHERE known.occurred_at <= EXCLUDED.occurred_at
