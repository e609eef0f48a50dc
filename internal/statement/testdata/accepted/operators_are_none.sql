SELECT a @> :doc AND b <@ :doc AND note'x' AND a ? 'b' AND -:n::float8 < 1 AND :n::float8 * :m::integer > 0
