-- A replay may be of one route alone: what other routes made of the event stays as it is.
--
-- Locks: ACCESS EXCLUSIVE on event_replays, for the moment it takes to change its row in
-- the catalogue: the default of the new column is a constant.

ALTER TABLE hooklatch.event_replays ADD COLUMN route text NOT NULL DEFAULT '';

COMMENT ON COLUMN hooklatch.event_replays.route IS 'The one route the replay is of; empty: all that take the event.';
