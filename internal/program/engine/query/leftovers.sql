-- Lists schemas that killed checks of this role left: marked schemas created more than ten minutes
-- ago. A check stops its experiments after ten minutes, so no running check uses these schemas.
SELECT n.nspname
FROM pg_namespace AS n
WHERE starts_with(n.nspname, 'hooklatch_engine_')
    AND pg_has_role(n.nspowner, 'USAGE')
    AND obj_description(n.oid, 'pg_namespace') = 'temporary: hooklatch check --engine drops it'
    AND split_part(n.nspname, '_', 3) < to_char(now() AT TIME ZONE 'UTC' - interval '10 minutes', 'YYYYMMDDHH24MISS')
ORDER BY n.nspname
