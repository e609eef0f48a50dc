-- Locks: ACCESS EXCLUSIVE on coverage, for the moment it takes to change its row in the
-- catalogue.
ALTER TABLE hooklatch.coverage DROP COLUMN lease_until;
