-- River's index of kinds has two values for nearly all rows, so that nothing finds its
-- rows by it: River UI's lists go by state, and by id. Each version of a job's row had an
-- entry there, 72 bytes of WAL, and a job has several. The migrator puts it back before a
-- River migration that names it, and drops it again after.
--
-- Locks: ACCESS EXCLUSIVE on river_job, for the moment it takes to change the catalogue.
DROP INDEX IF EXISTS hooklatch.river_job_kind;
