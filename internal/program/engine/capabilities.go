package engine

// capability is one behaviour that Hooklatch needs from a server, with the experiment that tests
// it.
type capability struct {
	name    string
	works   string // statement that is true of a suitable server
	without string // consequence on a server without it
	// substitute is how Hooklatch works without the capability. It is empty if Hooklatch cannot
	// work without it.
	substitute string
	// own is true if the experiment needs Hooklatch's own tables.
	own bool
	// try runs the experiment.
	try func(*trial)
}

// capabilities lists all capabilities, in the order in which they are tried.
func capabilities() []capability {
	const (
		lost      = "an event that was answered with 2xx can be missing"
		damaged   = "stored payloads differ from the received ones"
		twice     = "an event can be accepted twice"
		migrating = "a failed migration leaves some of its tables behind"
	)
	return []capability{
		{name: "commit", works: "COMMIT makes rows visible to other sessions, and ROLLBACK removes them", without: lost, try: commits},
		{name: "failed_commit", works: "COMMIT of a failed transaction does not report success", without: lost, try: failedCommit},
		{name: "insert_once", works: "an INSERT waits for a concurrent INSERT of the same key, and returns a row only if the other INSERT is rolled back", without: twice + ", or never", try: insertOnce},
		{name: "read_committed", works: "every statement sees the commits of other sessions, and a statement that waited for a row sees the row's new version", without: "two workers can start one effect", try: readCommitted},
		{name: "skip_locked", works: "FOR UPDATE SKIP LOCKED neither returns locked rows nor waits for them", without: "two workers fetch the same job, or wait for each other", try: skipLocked},
		{name: "locks", works: "an advisory lock excludes other sessions until its transaction ends", without: "ordered effects can overtake each other", try: locks},
		{name: "limits", works: "lock_timeout and statement_timeout end a statement, and can be set for one transaction", without: "one locked row blocks all deliveries behind it", try: limits},
		{name: "idle_limit", works: "the server ends a transaction whose client is silent", without: "a frozen process keeps its rows locked", try: idleLimit},
		{name: "savepoints", works: "ROLLBACK TO SAVEPOINT undoes a part of a transaction", without: "handlers and River cannot recover from a failed statement", try: savepoints},
		{name: "pipeline", works: "BEGIN, settings and a statement that are sent together are one transaction", without: "a statement can run outside its transaction", try: pipelined},
		{name: "ddl", works: "ROLLBACK undoes CREATE TABLE", without: migrating, try: ddl},
		{name: "partitions", works: "rows are stored in the partition of their day, which can be detached and dropped", without: "payloads cannot be stored and dropped by day", try: partitions},
		{
			name: "detach_concurrently", works: "DETACH PARTITION CONCURRENTLY removes a day from its table", without: "a worker that owns the tables cannot delete expired days",
			substitute: "run workers with a role that does not own the tables; they detach days under a short lock", try: detachConcurrently,
		},
		{name: "concurrent_index", works: "CREATE INDEX CONCURRENTLY builds a valid index", without: "the last step of `hooklatch migrate up` fails", try: concurrentIndex},
		{name: "partial_index", works: "a partial unique index applies only to rows that meet its condition, even in ON CONFLICT", without: "River can neither insert unique jobs nor find existing ones", try: partialIndex},
		{name: "triggers", works: "a trigger in PL/pgSQL can refuse a row, and sees all rows that a statement changed", without: "the ledger accepts illegal transitions, or does not record legal ones", try: triggers},
		{name: "bodies", works: "bytes are stored and returned unchanged (8 MiB)", without: damaged, try: bodies},
		{name: "texts", works: "texts and JSON are stored and returned unchanged (1 MiB)", without: damaged, try: texts},
		{name: "times", works: "times keep their microseconds in every time zone, and now() is the start of the transaction", without: "leases end and retries start at wrong times", try: times},
		{
			name: "sequences", works: "a sequence numbers the calls of all sessions in the order of the calls", without: "accepted events are not numbered in the order of acceptance",
			substitute: "do not use order_by or latest_by", try: sequences,
		},
		{name: "standby_wait", works: "a COMMIT after pg_logical_emit_message waits for standbys like a COMMIT that wrote rows", without: "duplicates fail, or are acknowledged before a standby has the event", try: standbyWait},
		{
			name: "listen", works: "NOTIFY reaches LISTEN after COMMIT, and never after ROLLBACK", without: "workers are not notified of new jobs",
			substitute: "set database.listen: false; workers then find jobs by polling, up to 150 ms later", try: listen,
		},
		{
			name: "session_locks", works: "a session's advisory lock excludes other sessions until it is released", without: "two simultaneous migrations disturb each other",
			substitute: "let only one process run `hooklatch migrate up`, directly on the server", try: sessionLocks,
		},
		{
			name: "prepared_statements", works: "a prepared statement outlives its transaction", without: "statements that Hooklatch prepares by name fail",
			substitute: "set database.direct_url if this is a pooler, or database.listen: false; Hooklatch then prepares no statement by name", try: preparedStatements,
		},
		{
			name: "activity", works: "pg_stat_activity shows the role's sessions, and pg_terminate_backend ends them", without: "`hooklatch check` cannot name the session that prevents vacuum, and operators cannot end it",
			substitute: "use the tools of the server's operator to find and end sessions", try: activity,
		},
		{
			name: "server_identity", works: "the server reports its identifier and its timeline", without: "a restored or promoted server is not recognised, and at_most_once effects can be applied twice",
			substitute: "stop all workers before a restore or a promotion, and run `hooklatch repair` before they start again", try: serverIdentity,
		},
		{name: "migrations", works: "all migrations of Hooklatch and River can be applied", without: "Hooklatch's tables cannot be created", own: true, try: migrations},
		{name: "accept", works: "of 200 simultaneous deliveries of 100 events, 100 are new and 100 are duplicates", without: twice, own: true, try: accept},
		{name: "jobs", works: "River inserts, fetches and completes a job", without: "accepted events are not processed", own: true, try: jobs},
	}
}
