package statement

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

type name string

// kinds has a column of each kind that has a cell.
type kinds struct {
	Flag   bool
	Body   []byte
	Weight float64
	Count  int
	Total  int64
	Number int16
	Text   string
	Name   name
	At     time.Time
	Maybe  *time.Time
	ID     uuid.UUID
}

// For each column, Postgres receives the same data as if pgx encoded the values themselves.
func TestColumnsAreEncodedAsTheirValues(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 1, 2, 3, 4000, time.FixedZone("", 3600))
	all := []kinds{
		{Flag: true, Body: []byte("\x00b"), Weight: -1.5, Count: 7, Total: 1 << 40, Number: -3, Text: "é\"{}", Name: "n", At: at, Maybe: &at, ID: uuid.New()},
		{Body: []byte{}, At: time.Unix(0, 0)},
		{At: at, ID: uuid.Max},
	}
	for field, c := range map[string]struct {
		sql    string
		oid    uint32
		values any
	}{
		"Flag":   {"boolean", pgtype.BoolArrayOID, columnOf(all, func(k kinds) bool { return k.Flag })},
		"Body":   {"bytea", pgtype.ByteaArrayOID, columnOf(all, func(k kinds) []byte { return k.Body })},
		"Weight": {"float8", pgtype.Float8ArrayOID, columnOf(all, func(k kinds) float64 { return k.Weight })},
		"Count":  {"integer", pgtype.Int4ArrayOID, columnOf(all, func(k kinds) int { return k.Count })},
		"Total":  {"bigint", pgtype.Int8ArrayOID, columnOf(all, func(k kinds) int64 { return k.Total })},
		"Number": {"smallint", pgtype.Int2ArrayOID, columnOf(all, func(k kinds) int16 { return k.Number })},
		"Text":   {"text", pgtype.TextArrayOID, columnOf(all, func(k kinds) string { return k.Text })},
		"Name":   {"text", pgtype.TextArrayOID, columnOf(all, func(k kinds) string { return string(k.Name) })},
		"At":     {"timestamptz", pgtype.TimestamptzArrayOID, columnOf(all, func(k kinds) time.Time { return k.At })},
		"Maybe":  {"timestamptz", pgtype.TimestamptzArrayOID, columnOf(all, func(k kinds) *time.Time { return k.Maybe })},
		"ID":     {"uuid", pgtype.UUIDArrayOID, columnOf(all, func(k kinds) uuid.UUID { return k.ID })},
	} {
		of, _ := reflect.TypeFor[kinds]().FieldByName(field)
		made := cellOf(of.Type, c.sql)
		require.NotNil(t, made, field)
		types := pgtype.NewMap()
		want, err := types.Encode(c.oid, pgtype.BinaryFormatCode, c.values, nil)
		require.NoError(t, err, field)
		got, err := types.Encode(c.oid, pgtype.BinaryFormatCode, newArray(reflect.ValueOf(all), of.Index, made()), nil)
		require.NoError(t, err, field)
		require.Equal(t, want, got, field)
	}
}

// A column's rows cost no allocation. AllocsPerRun requires that nothing else runs.
func TestEncodingAColumnAllocatesNothingForItsRows(t *testing.T) { //nolint:paralleltest // see above
	all := make([]kinds, 100)
	types, buf := pgtype.NewMap(), make([]byte, 0, 1<<14)
	for field, c := range map[string]struct {
		sql string
		oid uint32
	}{
		"ID": {"uuid", pgtype.UUIDArrayOID}, "Name": {"text", pgtype.TextArrayOID}, "Maybe": {"timestamptz", pgtype.TimestamptzArrayOID},
		"Body": {"bytea", pgtype.ByteaArrayOID}, "Count": {"integer", pgtype.Int4ArrayOID}, "Flag": {"boolean", pgtype.BoolArrayOID},
	} {
		of, _ := reflect.TypeFor[kinds]().FieldByName(field)
		made := cellOf(of.Type, c.sql)
		require.LessOrEqual(t, testing.AllocsPerRun(20, func() {
			_, err := types.Encode(c.oid, pgtype.BinaryFormatCode, newArray(reflect.ValueOf(all), of.Index, made()), buf)
			require.NoError(t, err)
		}), 10.0, field)
	}
}

func columnOf[T any](all []kinds, of func(kinds) T) []T {
	values := make([]T, len(all))
	for i, k := range all {
		values[i] = of(k)
	}
	return values
}

// pgx encodes a column itself if a cell would encode it differently.
func TestOtherColumnsHaveNoCell(t *testing.T) {
	t.Parallel()
	for sql, column := range map[string]reflect.Type{
		"jsonb":    reflect.TypeFor[string](),
		"text":     reflect.TypeFor[*string](),
		"uuid":     reflect.TypeFor[string](),
		"interval": reflect.TypeFor[time.Duration](),
		"bigint":   reflect.TypeFor[*int64](),
	} {
		require.Nil(t, cellOf(column, sql), sql)
	}
}
