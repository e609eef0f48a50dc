SELECT {{nowhere}}
