-- Records the redeliveries for which a provider is about to be asked. Ended redeliveries are not
-- reopened.
INSERT INTO hooklatch.redeliveries AS r (source, event_id, stream, ref, happened_at, asked_at, tries)
SELECT :source, a.event_id, :name, a.ref, a.happened_at, CASE WHEN a.counts THEN now() END, a.counts::integer
FROM :asked AS a (event_id text, ref text, happened_at timestamptz, counts boolean)
ORDER BY a.event_id COLLATE "C"
ON CONFLICT (source, event_id) DO UPDATE
SET
    ref = EXCLUDED.ref,
    asked_at = COALESCE(EXCLUDED.asked_at, r.asked_at),
    tries = r.tries + EXCLUDED.tries
WHERE r.ended_at IS NULL
RETURNING event_id
