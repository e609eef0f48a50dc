SELECT a @> :doc AND b <@ :doc AND note'x' AND a ? 'b' AND -:n < 1 AND :n::float8 * :m::integer > 0
