-- expand
-- When a process that dispatches events last announced each configuration. While only gateways run
-- the newest configuration, workers wait for a limited time. That time now begins when the last
-- worker with the configuration was seen, not when the configuration began. Processes of an earlier
-- version do not write the column. Their configurations then have -infinity here, as if no worker had
-- run them.
--
-- Locks: ACCESS EXCLUSIVE on configurations, for the moment it takes to change the catalogue. It has
-- one row for each configuration.

ALTER TABLE hooklatch.configurations
    ADD COLUMN dispatched_at timestamptz NOT NULL DEFAULT '-infinity';

COMMENT ON COLUMN hooklatch.configurations.dispatched_at IS 'When a process that dispatches events last announced it. -infinity: no such process did.';
