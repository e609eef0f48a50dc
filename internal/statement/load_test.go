package statement_test

import (
	"maps"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type eventRef struct {
	Source  string
	EventID string
}

type noteArgs struct {
	eventRef

	Reason *string
}

func query(texts map[string]string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range texts {
		files["query/"+name+".sql"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func load(statements any, texts map[string]string) error {
	return statement.Load(statements, query(texts), "query", schema.Default.SQL)
}

func TestArgumentsMustHaveTheNamesOfTheParameters(t *testing.T) {
	t.Parallel()
	const noted = "SELECT :source, :event_id, :reason"
	for want, text := range map[string]string{
		"":                                 noted,
		"no field is the parameter :why":   noted + ", :why",
		"no parameter is the field Reason": "SELECT :source, :event_id",
		"no field is the parameter :evnt_id, no parameter is the field EventID":                                 "SELECT :source, :evnt_id, :reason",
		"no field is the parameter :eventid":                                                                    noted + ", :eventid",
		"no parameter is the field Source, no parameter is the field EventID, no parameter is the field Reason": "SELECT 1",
		"parameter $1 has no name":                                                                              noted + ", $1",
	} {
		var s struct{ Note statement.Of[noteArgs] }
		err := load(&s, map[string]string{"note": text})
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "load statements: query/note.sql: ")
		require.ErrorContains(t, err, want)
	}
}

func TestArgumentsAreFieldsThatCanBeRead(t *testing.T) {
	t.Parallel()
	text := map[string]string{"note": "SELECT :source"}
	require.EqualError(t, load(&struct{ Note statement.Of[string] }{}, text),
		"load statements: query/note.sql: string is not a struct")
	require.EqualError(t, load(&struct {
		Note statement.Of[struct{ source string }]
	}{}, text), "load statements: query/note.sql: field source of struct { source string } is not exported")
	require.ErrorContains(t, load(&struct {
		Note statement.Of[struct{ *eventRef }]
	}{}, text), "field eventRef of struct { *statement_test.eventRef } is not exported")
	require.EqualError(t, load(&struct{ Note statement.Bound }{}, text),
		"load statements: query/note.sql: no argument is given for :source")
}

func TestFilesAndFieldsAreTheSame(t *testing.T) {
	t.Parallel()
	var s struct{ NoteSuccess, Overview statement.Bound }
	err := load(&s, map[string]string{"note_success": "SELECT 1", "over_view": "SELECT 2"})
	require.NoError(t, err)
	require.Equal(t, "note_success", s.NoteSuccess.Name())

	err = load(&s, map[string]string{"note_successes": "SELECT 1", "overview": "SELECT 2", "fragment/due": "true"})
	require.EqualError(t, err, "load statements: query has no file for the statement NoteSuccess\n"+
		"query/note_successes.sql: no statement is read from it\n"+
		"query/fragment/due.sql: no statement contains it")
	require.EqualError(t, load(&s, nil), "load statements: open query: file does not exist")
}

func TestFragmentsMayBeShared(t *testing.T) {
	t.Parallel()
	var s struct{ Due statement.Bound }
	shared := fstest.MapFS{
		"is_due.sql":  {Data: []byte("-- Shared.\ne.due AND {{is_idle}}")},
		"is_idle.sql": {Data: []byte("e.idle")},
		"is_else.sql": {Data: []byte("not contained here, but elsewhere")},
	}
	due := func(more map[string]string) error {
		texts := map[string]string{"due": "SELECT {{is_due e=a}} FROM a"}
		maps.Copy(texts, more)
		return statement.Load(&s, query(texts), "query", schema.Default.SQL, shared)
	}
	require.NoError(t, due(nil))
	require.EqualError(t, due(map[string]string{"fragment/is_idle": "true"}),
		"load statements: query/due.sql: {{is_due e=a}}: {{is_idle}}: there are two fragments of this name")
	delete(shared, "is_idle.sql")
	require.EqualError(t, due(nil), "load statements: query/due.sql: {{is_due e=a}}: {{is_idle}}: there is no file query/fragment/is_idle.sql")
	require.NoError(t, due(map[string]string{"fragment/is_idle": "e.idle"}))
}

func TestStatementsRun(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var sql struct {
		Echo      statement.Of[noteArgs]
		Elsewhere statement.Bound
	}
	err := statement.Load(&sql, query(map[string]string{
		"echo":      "SELECT :event_id::text || ' of ' || :source, :reason::text IS NULL, :source = :event_id",
		"elsewhere": "SELECT 'hooklatch.effects'",
	}), "query", schema.Name("tenant").SQL)
	require.NoError(t, err)

	var text string
	var null, equal bool
	echo := sql.Echo.With(noteArgs{eventRef: eventRef{Source: "stripe", EventID: "evt_1"}})
	require.NoError(t, echo.QueryRow(t.Context(), pool).Scan(&text, &null, &equal))
	require.Equal(t, "evt_1 of stripe", text)
	require.True(t, null)
	require.False(t, equal)

	rows, err := sql.Elsewhere.Query(t.Context(), pool)
	require.NoError(t, err)
	text, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, "tenant.effects", text)

	tag, err := echo.Exec(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, int64(1), tag.RowsAffected())

	var batch pgx.Batch
	echo.Queue(&batch)
	sql.Elsewhere.Queue(&batch)
	results := pool.SendBatch(t.Context(), &batch)
	require.NoError(t, results.QueryRow().Scan(&text, &null, &equal))
	require.Equal(t, "evt_1 of stripe", text)
	require.NoError(t, results.QueryRow().Scan(&text))
	require.Equal(t, "tenant.effects", text)
	require.NoError(t, results.Close())
}

type (
	source string
	object struct {
		Source source
		ID     string
	}
	effectRow struct {
		object

		At     *time.Time
		Body   []byte
		Weight float64
	}
	createArgs struct {
		Effects []effectRow
		Sources []source
		Times   []time.Time
		Source  source
	}
)

func TestRowsAreColumns(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var sql struct {
		Create statement.Of[createArgs]
		Send   statement.Of[struct{ Rows []object }]
	}
	require.NoError(t, load(&sql, map[string]string{
		"create": `SELECT jsonb_agg(e), :sources::text[], :times::timestamptz[], :source::text
			FROM :effects AS e (source text, id text, at timestamptz, body bytea, weight float8)`,
		"send": "SELECT FROM :rows AS r (source text, id text)",
	}))
	ask := func(args createArgs) (rows *string, sources []string, times []time.Time, one string) {
		t.Helper()
		require.NoError(t, sql.Create.With(args).QueryRow(t.Context(), pool).Scan(&rows, &sources, &times, &one))
		return rows, sources, times, one
	}
	rows, sources, times, one := ask(createArgs{})
	require.Nil(t, rows)
	require.Nil(t, sources)
	require.Nil(t, times)
	require.Empty(t, one)

	at := time.Date(2026, 11, 5, 1, 2, 3, 0, time.UTC)
	rows, sources, times, one = ask(createArgs{
		Effects: []effectRow{
			{object: object{Source: "stripe", ID: "1"}, At: &at, Body: []byte("x"), Weight: 1.5},
			{object: object{Source: "paypal", ID: "2"}},
		},
		Sources: []source{"a", "b"}, Times: []time.Time{at}, Source: "c",
	})
	require.JSONEq(t, `[{"source": "stripe", "id": "1", "at": "2026-11-05T01:02:03+00:00", "body": "\\x78", "weight": 1.5},
		{"source": "paypal", "id": "2", "at": null, "body": null, "weight": 0}]`, *rows)
	require.Equal(t, []string{"a", "b"}, sources)
	require.Len(t, times, 1)
	require.Equal(t, "c", one)
}

func TestEachColumnIsAParameter(t *testing.T) {
	t.Parallel()
	var s struct {
		Send statement.Of[struct{ Rows []object }]
	}
	require.ErrorContains(t, load(&s, map[string]string{"send": "SELECT FROM :rows AS r (source text, key text)"}),
		"no field is the parameter :rows.key, no parameter is the field Rows.ID")
	require.ErrorContains(t, load(&s, map[string]string{"send": "SELECT :rows FROM :rows AS r (source text, id text)"}),
		"no field is the parameter :rows")
}

// BenchmarkWith measures the cost of binding as many rows as a group commit may have, without the
// round trip.
func BenchmarkWith(b *testing.B) {
	var sql struct {
		Create statement.Of[struct{ Effects []effectRow }]
	}
	require.NoError(b, load(&sql, map[string]string{
		"create": "SELECT FROM :effects AS e (source text, id text, at timestamptz, body bytea, weight float8)",
	}))
	rows := make([]effectRow, 64)
	b.ReportAllocs()
	for b.Loop() {
		sql.Create.With(struct{ Effects []effectRow }{rows})
	}
}
