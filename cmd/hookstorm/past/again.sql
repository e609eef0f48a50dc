-- Makes retention start over with the whole past, including days and deliveries from which earlier
-- runs kept some rows. Without the rows inserted below, retention would not reach the past.
-- Retention assumes that a source that is new beside known sources has no rows from before the last
-- run of the known sources. Retention treats the imported keys of a new source as imported just
-- now. Retention derives the age of versions from the oldest effect, and an earlier run may have
-- left no effects.
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

-- Retention rechecks kept events only in a run in which the events of a source are due. The past
-- may have no events left, so this statement makes the events of the other sources due.
UPDATE hooklatch.retention_progress
SET horizon = horizon - interval '1 day'
WHERE what = 'events'
    AND source NOT IN ('', 'past');
