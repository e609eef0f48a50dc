DROP INDEX IF EXISTS river_job_args_index, river_job_metadata_index
