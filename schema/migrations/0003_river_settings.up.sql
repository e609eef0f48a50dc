-- River's two GIN indexes cost 60 % of the WAL of an event and stall inserts
-- for up to a second. Nothing we or River UI ask needs them. The migrator puts
-- them back before a River migration that names them, and drops them again after.
DROP INDEX IF EXISTS hooklatch.river_job_args_index;
DROP INDEX IF EXISTS hooklatch.river_job_metadata_index;

-- A queue table must be vacuumed by the number of its dead rows, not by their
-- share of the table.
ALTER TABLE hooklatch.river_job SET (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.0,
    autovacuum_vacuum_insert_threshold = 50000,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE hooklatch.effects SET (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
);
