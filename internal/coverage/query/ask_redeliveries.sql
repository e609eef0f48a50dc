-- Records redeliveries before they are requested from a provider. Ended redeliveries are not
-- reopened. :asked contains the total number of tries, not an increment: a retry after a lost
-- COMMIT response changes nothing.
INSERT INTO hooklatch.redeliveries AS r (source, event_id, stream, ref, happened_at, asked_at, tries)
SELECT :source, a.event_id, :name, a.ref, a.happened_at, CASE WHEN a.tries > 0 THEN now() END, a.tries
FROM :asked AS a (event_id text, ref text, happened_at timestamptz, tries integer)
ORDER BY a.event_id COLLATE "C"
ON CONFLICT (source, event_id) DO UPDATE
SET
    ref = EXCLUDED.ref,
    asked_at = CASE WHEN EXCLUDED.tries > r.tries THEN now() ELSE r.asked_at END,
    tries = GREATEST(EXCLUDED.tries, r.tries)
WHERE r.ended_at IS NULL
RETURNING event_id, tries
