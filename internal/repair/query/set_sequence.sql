-- Moves a sequence forward to the highest number in a stored row, and never back.
SELECT setval(:name::text::regclass, GREATEST(:highest::bigint, pg_sequence_last_value(:name::text::regclass)))
