-- Retention begins with all of the past anew, also with days and deliveries of which
-- runs before kept something, and is done with everything else. Where a source is new
-- beside others it would have nothing from before their last run, and with keys that
-- were imported it would begin now: it has come to nowhere yet with these. Versions are
-- taken to be as old as effects, of which a run that ended early may have left none.
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

-- Which of the events that are kept have gone is looked at when a source has events to
-- be deleted. Of the past there may be none left, and of the others nothing is old.
UPDATE hooklatch.retention_progress
SET horizon = horizon - interval '1 day'
WHERE what = 'events'
    AND source NOT IN ('', 'past');
