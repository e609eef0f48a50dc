-- Locks: ACCESS EXCLUSIVE on configurations, for the moment it takes to change the catalogue.
ALTER TABLE hooklatch.configurations
    DROP COLUMN dispatched_at;
