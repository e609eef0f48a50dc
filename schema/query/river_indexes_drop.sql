DROP INDEX IF EXISTS hooklatch.river_job_args_index;
DROP INDEX IF EXISTS hooklatch.river_job_metadata_index;
DROP INDEX IF EXISTS hooklatch.river_job_kind;
