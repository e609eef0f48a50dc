-- Whether the deliveries of a day are still in their table, or detached from it.
SELECT to_regclass('hooklatch.deliveries_' || to_char(:day::date, 'YYYYMMDD')) IS NOT NULL
