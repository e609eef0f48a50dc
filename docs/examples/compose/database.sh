#!/bin/sh
# Makes the database and the role that owns it, when the server is made: the image of
# Postgres runs this once, as its superuser.
set -eu

psql --username "${POSTGRES_USER:-postgres}" --set=ON_ERROR_STOP=1 --set=password="$HOOKLATCH_PASSWORD" <<'END'
CREATE ROLE hooklatch LOGIN PASSWORD :'password';
CREATE DATABASE hooklatch OWNER hooklatch;
END
