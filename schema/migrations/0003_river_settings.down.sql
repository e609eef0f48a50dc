ALTER TABLE hooklatch.effects RESET (
    autovacuum_vacuum_scale_factor,
    autovacuum_analyze_scale_factor,
    autovacuum_vacuum_cost_delay
);
ALTER TABLE hooklatch.river_job RESET (
    fillfactor,
    autovacuum_vacuum_scale_factor,
    autovacuum_vacuum_threshold,
    autovacuum_vacuum_insert_scale_factor,
    autovacuum_vacuum_insert_threshold,
    autovacuum_analyze_scale_factor,
    autovacuum_vacuum_cost_delay
);
CREATE INDEX IF NOT EXISTS river_job_args_index ON hooklatch.river_job USING gin (args);
CREATE INDEX IF NOT EXISTS river_job_metadata_index ON hooklatch.river_job USING gin (metadata);
