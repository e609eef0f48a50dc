-- What is in quarantine is lost.
--
-- Locks: ACCESS EXCLUSIVE on processed_events, for the moment it takes to change
-- the catalogue.
DROP TABLE hooklatch.quarantine_key;
DROP TABLE hooklatch.known_addresses;
DROP TABLE hooklatch.rejected_deliveries;
DROP TABLE hooklatch.retry_statistics;
ALTER TABLE hooklatch.processed_events DROP COLUMN duplicate_times;
