SELECT $$ :a $1 ' $$, $tag$ :b $$ :c $tag$, a$1, :d
