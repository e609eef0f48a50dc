SELECT {{itself}}
