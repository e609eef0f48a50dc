-- Makes retention start over with all of the past, including days and deliveries of which earlier
-- runs kept some. Retention is done with all other sources. A source that is new beside others
-- would have no rows from before their last run, and a source with imported keys would begin now.
-- Neither would reach the past. Versions count as being as old as effects, of which an earlier
-- run may have left none.
DELETE FROM hooklatch.retention_progress
WHERE source IN ('', 'past');

INSERT INTO hooklatch.retention_progress (what, source, horizon)
VALUES
    ('payloads', '', '1990-01-01 00:00:00+00'),
    ('details', '', '1990-01-01 00:00:00+00'),
    ('versions', '', '1990-01-01 00:00:00+00'),
    ('events', 'past', '1990-01-01 00:00:00+00'),
    ('imports', 'past', '1990-01-01 00:00:00+00'),
    ('guards', 'past', '1990-01-01 00:00:00+00')
ON CONFLICT DO NOTHING;

-- Retention looks for deleted events among the kept ones only when a source has events to delete.
-- The past may have none left, and the other sources have no old events.
UPDATE hooklatch.retention_progress
SET horizon = horizon - interval '1 day'
WHERE what = 'events'
    AND source NOT IN ('', 'past');
