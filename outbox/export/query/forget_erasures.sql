-- Deletes the notes about complete erasures. A note stays if its event was erased again meanwhile.
DELETE FROM hooklatch.export_erasures AS n
USING :notes AS a (source text, event_id text, requested_at timestamptz)
WHERE n.source = a.source
    AND n.event_id = a.event_id
    AND n.requested_at = a.requested_at
