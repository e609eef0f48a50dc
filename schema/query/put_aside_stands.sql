-- An index whose building was interrupted exists, but is not valid.
SELECT EXISTS (
    SELECT
    FROM pg_index
    WHERE indexrelid = to_regclass('hooklatch.' || :name::text)
        AND indisvalid
);
