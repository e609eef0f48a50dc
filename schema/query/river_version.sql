-- Before River's version 5, the table has no column "line".
SELECT coalesce(max(version), 0)::integer FROM hooklatch.river_migration m WHERE coalesce(to_jsonb(m) ->> 'line', 'main') = 'main';
