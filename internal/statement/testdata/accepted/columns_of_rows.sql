SELECT :scope
FROM :ended AS e (
    scope text, -- of the effect
    response_status integer
), :scopes AS s(scope text)
WHERE e.scope = :scope AND ARRAY(SELECT scope FROM :ended AS e (scope text)) && :others::text[] AND f(:a) AS b
