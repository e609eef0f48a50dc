SELECT ':a', 'it''s :b', E'it\'s :c', e'\\', '\', :d, "col:e", "a""b:f", 'hooklatch.x:' || :g, '{{1,2},{3,4}}'
