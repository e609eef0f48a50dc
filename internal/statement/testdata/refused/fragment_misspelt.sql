SELECT {{ a }}
