-- An index whose building was interrupted is there and not valid.
SELECT EXISTS (
    SELECT
    FROM pg_index
    WHERE indexrelid = to_regclass('hooklatch.' || :name::text)
        AND indisvalid
);
