-- Runs whose actions the version before does not know are stopped. What such a run looked
-- for does not stay.
--
-- Locks: ACCESS EXCLUSIVE on replay_runs, for as long as it takes to read it once.
UPDATE hooklatch.replay_runs
SET
    state = 'stopped', since = now(), error = 'its action is not known to the version that the schema was taken back to',
    filter = filter - 'when' - 'contains'
WHERE state IN ('working', 'resting')
    AND action IN ('event.erase', 'quarantine.retry', 'quarantine.drop');

ALTER TABLE hooklatch.replay_runs DROP COLUMN came;
