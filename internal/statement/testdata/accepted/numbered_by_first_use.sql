SELECT :b, :a, :b::text, :c1 + :a
