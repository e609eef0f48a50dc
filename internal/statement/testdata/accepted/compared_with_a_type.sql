SELECT :wait_seconds::float8 > 0, 0.5 <= :wait_seconds::float8, '1' = :text, :text = '1', :text || 2, x5 = :n, :n = x5
