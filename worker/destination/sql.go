package destination

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// SQL runs effects of kind "sql". The body of the request is a Statement.
type SQL struct {
	name       string
	statements map[string]sqlText
	role       string // quoted; empty for the pool's role
	searchPath string // quoted
	timeout    time.Duration
	tracer     trace.Tracer
}

// sqlText is one configured statement.
type sqlText struct {
	text   string
	params int // number of parameters
}

// NewSQL checks the options.
func NewSQL(o SQLOptions) (*SQL, error) {
	o = o.WithDefaults()
	if o.Name == "" {
		return nil, errors.New("sql destination: Name is required")
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("sql destination %q: %w", o.Name, err)
	}
	s := &SQL{
		name: o.Name, statements: make(map[string]sqlText, len(o.Statements)),
		timeout: o.Timeout, tracer: newTracer(o.TracerProvider),
	}
	for name, text := range o.Statements {
		s.statements[name] = sqlText{text: text, params: statement.Positionals(text)}
	}
	for _, name := range o.SearchPath {
		s.searchPath += pgx.Identifier{name}.Sanitize() + ", "
	}
	s.searchPath += "pg_temp" // pg_temp is last: if it were not listed, Postgres would search it first
	if o.Role != "" {
		s.role = pgx.Identifier{o.Role}.Sanitize()
	}
	return s, nil
}

// Kind implements Sender.
func (s *SQL) Kind() string { return KindSQL }

// Timeout implements TimeLimited.
func (s *SQL) Timeout() time.Duration { return s.timeout }

// FirstRequest implements Sender. It adds nothing.
func (s *SQL) FirstRequest(*ledger.Effect) ledger.Request { return ledger.Request{} }

// Send implements Sender. It must not be called; Run applies the effect.
func (s *SQL) Send(context.Context, *ledger.Effect) Outcome {
	return refused("a statement runs only in the transaction of its claim")
}

// CheckStatement implements StatementChecker.
func (s *SQL) CheckStatement(name string, params int) (string, error) {
	names := slices.Sorted(maps.Keys(s.statements))
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	statement, known := s.statements[name]
	switch {
	case name == "":
		return "", fmt.Errorf("names no statement; destination %q has %s", s.name, strings.Join(names, ", "))
	case !known:
		return "", fmt.Errorf("names no statement of destination %q, which has %s", s.name, strings.Join(names, ", "))
	case statement.params != params:
		return "", fmt.Errorf("gives %d parameters; statement %q takes %d", params, name, statement.params)
	}
	return name, nil
}

// Run implements Transactional.
func (s *SQL) Run(ctx context.Context, tx pgx.Tx, e *ledger.Effect) (Outcome, error) {
	call, err := DecodeStatement(e.Request.Body)
	if err == nil {
		call.Name, err = s.CheckStatement(call.Name, len(call.Params))
	}
	if err != nil {
		return refused(err.Error()), nil
	}
	ctx, span := s.tracer.Start(ctx, "SQL "+s.name, trace.WithSpanKind(trace.SpanKindClient), spanOf(s.name, e),
		trace.WithAttributes(semconv.DBSystemNamePostgreSQL, semconv.DBQuerySummary(call.Name)))
	defer span.End()
	tag, err := s.execute(ctx, tx, call)
	recordSQL(span, err)
	if pg, answered := sqlstate.Of(err); answered {
		return sqlFailed(call.Name, pg), nil
	} else if err != nil {
		return Outcome{}, fmt.Errorf("statement %q: %w", call.Name, err)
	}
	return Outcome{Verdict: ledger.VerdictDone, Excerpt: tag}, nil
}

// recordSQL adds the result of the statement to the span, but never the error text, which may quote
// values.
func recordSQL(span trace.Span, err error) {
	if err == nil {
		return
	}
	kind := "connection"
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		kind = pg.Code
		span.SetAttributes(semconv.DBResponseStatusCode(pg.Code))
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	span.SetStatus(codes.Error, kind)
}

func (s *SQL) execute(ctx context.Context, tx pgx.Tx, call Statement) (string, error) {
	if err := s.begin(ctx, tx, s.timeout); err != nil {
		return "", err
	}
	args := make([]any, len(call.Params))
	for i, param := range call.Params {
		if param != nil {
			args[i] = *param // pgx sends a string as text, regardless of the type that Postgres expects
		}
	}
	tag, err := tx.Exec(ctx, s.statements[call.Name].text, args...)
	if err != nil {
		return "", err
	}
	// A deferred constraint would otherwise fail only at COMMIT, after the attempt is settled as
	// done. Its triggers belong to the statement, so they also run as the destination's role.
	if _, err := tx.Exec(ctx, "SET CONSTRAINTS ALL IMMEDIATE"); err != nil {
		return "", err
	}
	if s.role != "" {
		// The ledger settles the attempt in the same transaction, as its own role.
		if _, err := tx.Exec(ctx, "RESET ROLE"); err != nil {
			return "", err
		}
	}
	return tag.String(), nil
}

// begin gives a transaction the destination's search_path and role, and a time limit for each
// statement and each wait for a lock.
func (s *SQL) begin(ctx context.Context, tx pgx.Tx, timeout time.Duration) error {
	limit := strconv.FormatInt(timeout.Milliseconds(), 10)
	const settings = "SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true), set_config('search_path', $2, true)"
	if _, err := tx.Exec(ctx, settings, limit, s.searchPath); err != nil {
		return err
	}
	if s.role == "" {
		return nil
	}
	_, err := tx.Exec(ctx, "SET LOCAL ROLE "+s.role)
	return err
}

// sqlVerdict returns "refused" for failures that the data causes: a constraint, a value, an
// exception raised by the statement. Other failures may be transient or repairable: a lock, a
// missing table or privilege.
func sqlVerdict(code string) ledger.Verdict {
	if sqlstate.InClass(code, "22", "23", "P0001") {
		return ledger.VerdictRefused
	}
	return ledger.VerdictNotApplied
}

// sqlFailed returns the outcome of a statement that Postgres refused. The error's details contain
// rows and are left out. If the error's message may contain a value, it becomes the excerpt, which is
// concealed and erased like other responses. The stored error then contains only the code and the
// names of the statement and of the constraint, column or table.
func sqlFailed(statement string, pg *pgconn.PgError) Outcome {
	out, text := Outcome{Verdict: sqlVerdict(pg.Code)}, pg.Message
	if mayQuote(pg) {
		text, out.Excerpt = "the server refused it", safetext.Cut(safetext.Printable(pg.Message), maxExcerpt)
		if about := cmp.Or(pg.ConstraintName, pg.ColumnName, pg.TableName); about != "" {
			text += ", about " + about
		}
	}
	out.Err = sqlError(statement, text, pg.Code)
	return out
}

// mayQuote reports whether the message of an error may contain a parameter's value. Casts and
// functions quote their arguments under many codes. The message contains no value if Postgres raised
// the error while it parsed the statement, whose text has the parameters' numbers: then the error has
// a position in that text. Nor does it for connections, constraints, transactions, locks, resources,
// operators' actions and privileges.
func mayQuote(pg *pgconn.PgError) bool {
	if pg.Where != "" { // the error comes from a function or a trigger
		return true
	}
	return pg.Position == 0 && !sqlstate.InClass(pg.Code, "08", "23", "25", "40", "53", "55", "57", "42501")
}

func sqlError(statement, text, code string) error {
	return errors.New(oneLine(fmt.Sprintf("statement %q: %s (SQLSTATE %s)", statement, text, code)))
}
