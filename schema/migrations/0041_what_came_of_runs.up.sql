-- What a run says of those that it selected, besides the counts of every run.
--
-- Locks: ACCESS EXCLUSIVE on replay_runs, for as long as it takes to add a column whose
-- default is a constant. No table is rewritten.

ALTER TABLE hooklatch.replay_runs ADD COLUMN came jsonb NOT NULL DEFAULT '{}';

COMMENT ON COLUMN hooklatch.replay_runs.came IS 'What came of those that it selected, where its action tells: how many events were left alone because something of them is unfinished, how many had no body to look at, how many refused deliveries were accepted as duplicates, and how many are still refused, by reason.';
