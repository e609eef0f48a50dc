-- An index exists but is not valid if its build was interrupted.
SELECT EXISTS (
    SELECT
    FROM pg_index
    WHERE indexrelid = to_regclass('hooklatch.effects_wire_key')
        AND indisvalid
);
