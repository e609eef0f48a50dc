-- Lists the rights that this role lacks. A right on an object that the schema does not have is not
-- listed.
SELECT r.privilege || ' on ' || r.object
FROM :rights AS r (kind text, privilege text, object text)
WHERE NOT CASE r.kind
    WHEN 'function' THEN has_function_privilege(to_regprocedure('hooklatch.' || r.object), r.privilege)
    WHEN 'sequence' THEN has_sequence_privilege(to_regclass('hooklatch.' || r.object), r.privilege)
    WHEN 'column' THEN has_column_privilege(to_regclass('hooklatch.' || split_part(r.object, '.', 1)), split_part(r.object, '.', 2), r.privilege)
    ELSE has_table_privilege(to_regclass('hooklatch.' || r.object), r.privilege)
END
ORDER BY 1
