SELECT {{state d=other}}
