{{in_itself}}
