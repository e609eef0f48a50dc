-- Of :one and $1, {{two}} and the author's 'three
SELECT /* :four, /* nested */ $2 ' */ :five -- :six
FROM t
