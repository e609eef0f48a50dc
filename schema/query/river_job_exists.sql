SELECT to_regclass('hooklatch.river_job') IS NOT NULL;
