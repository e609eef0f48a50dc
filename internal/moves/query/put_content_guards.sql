-- Opens the content windows of the other cell here. If a content hash was noted twice, the later
-- window is kept.
INSERT INTO hooklatch.content_guards AS open (source, hash, event_id, acceptance_id, accepted_at, expires_at)
SELECT DISTINCT ON (m.hash) :source, m.hash, m.event_id, m.acceptance_id, m.accepted_at, m.expires_at
FROM jsonb_to_recordset(:contents::jsonb) AS m (hash bytea, event_id text, acceptance_id uuid, accepted_at timestamptz, expires_at timestamptz)
ORDER BY m.hash, m.accepted_at DESC
ON CONFLICT (source, hash) DO UPDATE
SET
    event_id = EXCLUDED.event_id,
    acceptance_id = EXCLUDED.acceptance_id,
    accepted_at = EXCLUDED.accepted_at,
    expires_at = EXCLUDED.expires_at
WHERE open.accepted_at <= EXCLUDED.accepted_at
