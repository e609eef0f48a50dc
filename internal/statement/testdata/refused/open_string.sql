SELECT 1,
  'it''s, :a
