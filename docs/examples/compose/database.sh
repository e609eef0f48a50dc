#!/bin/sh
# This script creates the database, the role that owns it, and a role for each process. No role is a
# superuser. The Postgres image runs the script once, as its superuser, when it creates the server.
# To add roles to an existing server, or to put changed passwords of .env into effect, including the
# superuser's, run the script again:
#
#   docker compose up -d postgres
#   docker compose exec postgres sh /docker-entrypoint-initdb.d/database.sh
#   docker compose up -d
#
# grants.sql grants the roles their rights.
set -eu

psql --username "${POSTGRES_USER:-postgres}" --dbname postgres --set=ON_ERROR_STOP=1 --quiet <<'END'
\getenv superuser POSTGRES_PASSWORD
\getenv owner HOOKLATCH_PASSWORD
\getenv gateway HOOKLATCH_GATEWAY_PASSWORD
\getenv worker HOOKLATCH_WORKER_PASSWORD
\getenv riverui HOOKLATCH_RIVERUI_PASSWORD

SELECT format('CREATE ROLE %I LOGIN', name)
FROM unnest(ARRAY['hooklatch', 'hooklatch_gateway', 'hooklatch_worker', 'hooklatch_riverui']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
\gexec
ALTER ROLE :"USER" PASSWORD :'superuser';
ALTER ROLE hooklatch PASSWORD :'owner';
ALTER ROLE hooklatch_gateway PASSWORD :'gateway';
ALTER ROLE hooklatch_worker PASSWORD :'worker';
ALTER ROLE hooklatch_riverui PASSWORD :'riverui';

SELECT 'CREATE DATABASE hooklatch OWNER hooklatch' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'hooklatch')
\gexec
END
