-- Locks: ACCESS EXCLUSIVE on event_replays, for the moment it takes to change its row in
-- the catalogue.
ALTER TABLE hooklatch.event_replays DROP COLUMN route;
