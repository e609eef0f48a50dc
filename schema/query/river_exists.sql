SELECT to_regclass('hooklatch.river_migration') IS NOT NULL;
