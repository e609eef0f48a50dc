-- The erasures of the given events that may still have to be carried out in the export.
SELECT n.source, n.event_id, n.note, n.redacting, n.requested_at, NULL::timestamptz
FROM :events AS a (source text, event_id text)
JOIN hooklatch.export_erasures AS n ON n.source = a.source AND n.event_id = a.event_id
