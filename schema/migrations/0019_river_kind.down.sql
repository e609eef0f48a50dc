-- Locks: SHARE on river_job while the index is made, about a second for a million jobs.
CREATE INDEX IF NOT EXISTS river_job_kind ON hooklatch.river_job USING btree (kind);
