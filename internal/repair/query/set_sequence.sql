-- Lets a sequence continue after the numbers of the stored rows.
SELECT setval(:name::text::regclass, GREATEST(:highest::bigint, pg_sequence_last_value(:name::text::regclass)))
