SELECT :a::text[], x::integer, '{}'::jsonb, 1::bigint, (x)::text COLLATE "C"
