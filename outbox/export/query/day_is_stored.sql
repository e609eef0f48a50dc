-- Reports whether the partition with a day's deliveries still exists, attached or detached.
SELECT to_regclass('hooklatch.deliveries_' || to_char(:day::date, 'YYYYMMDD')) IS NOT NULL
