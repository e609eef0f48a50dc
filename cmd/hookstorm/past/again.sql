-- Makes retention start over with all of the past, including days and deliveries of which
-- earlier runs kept something. Retention is done with all other sources. A source that is new
-- beside others would have nothing from before their last run, and one with imported keys
-- would begin now. Neither would reach the past. Versions count as being as old as effects,
-- of which an earlier run may have left none.
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

-- Retention looks for deleted ones among the kept events only when a source has events to
-- delete. The past may have none left, and the other sources have nothing old.
UPDATE hooklatch.retention_progress
SET horizon = horizon - interval '1 day'
WHERE what = 'events'
    AND source NOT IN ('', 'past');
