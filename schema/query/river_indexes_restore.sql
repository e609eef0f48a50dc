CREATE INDEX IF NOT EXISTS river_job_args_index ON hooklatch.river_job USING gin (args);
CREATE INDEX IF NOT EXISTS river_job_metadata_index ON hooklatch.river_job USING gin (metadata);
CREATE INDEX IF NOT EXISTS river_job_kind ON hooklatch.river_job USING btree (kind);
