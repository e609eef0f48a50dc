package statement

import (
	"reflect"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// array is a column of rows in the form that pgx accepts. pgx requests the elements in turn, and
// encodes each element before the next request. All elements therefore share one cell, which moves
// from row to row. A slice of values would cost an allocation for each value. Values that pgx knows
// only as a driver.Valuer (uuid.UUID) would also cost a failed attempt, and a conversion to text
// and back.
type array struct {
	length int
	cell   *cell
	asked  any // the cell, as a type that pgx can read
}

// Dimensions implements pgtype.ArrayGetter.
func (a array) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(a.length), LowerBound: 1}} //nolint:gosec // a batch has fewer than 2^31 rows
}

// Index implements pgtype.ArrayGetter.
func (a array) Index(i int) any {
	a.cell.row = i
	return a.asked
}

// IndexType implements pgtype.ArrayGetter.
func (a array) IndexType() any { return a.asked }

// cell is a field in one of the rows.
type cell struct {
	rows  reflect.Value // a slice of structs
	field []int
	row   int
}

func (c *cell) value() reflect.Value { return c.rows.Index(c.row).FieldByIndex(c.field) }

// Kinds of cells. cellOf chooses each column's kind at program start.
type (
	boolCell  struct{ cell }
	bytesCell struct{ cell }
	floatCell struct{ cell }
	intCell   struct{ cell }
	textCell  struct{ cell }
	timeCell  struct{ cell }
	uuidCell  struct{ cell }
)

// BoolValue implements pgtype.BoolValuer.
func (c *boolCell) BoolValue() (pgtype.Bool, error) {
	return pgtype.Bool{Bool: c.value().Bool(), Valid: true}, nil
}

// BytesValue implements pgtype.BytesValuer. Nil is NULL.
func (c *bytesCell) BytesValue() ([]byte, error) { return c.value().Bytes(), nil }

// Float64Value implements pgtype.Float64Valuer.
func (c *floatCell) Float64Value() (pgtype.Float8, error) {
	return pgtype.Float8{Float64: c.value().Float(), Valid: true}, nil
}

// Int64Value implements pgtype.Int64Valuer.
func (c *intCell) Int64Value() (pgtype.Int8, error) {
	return pgtype.Int8{Int64: c.value().Int(), Valid: true}, nil
}

// TextValue implements pgtype.TextValuer.
func (c *textCell) TextValue() (pgtype.Text, error) {
	return pgtype.Text{String: c.value().String(), Valid: true}, nil
}

// TimestamptzValue implements pgtype.TimestamptzValuer. A nil pointer is NULL.
func (c *timeCell) TimestamptzValue() (pgtype.Timestamptz, error) {
	switch at := c.value().Addr().Interface().(type) {
	case *time.Time:
		return pgtype.Timestamptz{Time: *at, Valid: true}, nil
	case **time.Time:
		if *at != nil {
			return pgtype.Timestamptz{Time: **at, Valid: true}, nil
		}
	}
	return pgtype.Timestamptz{}, nil
}

// UUIDValue implements pgtype.UUIDValuer.
func (c *uuidCell) UUIDValue() (pgtype.UUID, error) {
	return pgtype.UUID{Bytes: *c.value().Addr().Interface().(*uuid.UUID), Valid: true}, nil
}

// element is a cell of any kind.
type element interface{ of() *cell }

func (c *cell) of() *cell { return c }

// cellOf returns the cell constructor for columns with these Go and SQL types. It returns nil
// for all other types, which pgx encodes directly.
func cellOf(column reflect.Type, sql string) func() element {
	kind := column.Kind()
	switch {
	case sql == "boolean" && kind == reflect.Bool:
		return func() element { return new(boolCell) }
	case sql == "bytea" && column == reflect.TypeFor[[]byte]():
		return func() element { return new(bytesCell) }
	case sql == "float8" && kind == reflect.Float64:
		return func() element { return new(floatCell) }
	case (sql == "integer" || sql == "bigint" || sql == "smallint") && kind >= reflect.Int && kind <= reflect.Int64:
		return func() element { return new(intCell) }
	case sql == "text" && kind == reflect.String:
		return func() element { return new(textCell) }
	case sql == "timestamptz" && (column == reflect.TypeFor[time.Time]() || column == reflect.TypeFor[*time.Time]()):
		return func() element { return new(timeCell) }
	case sql == "uuid" && column == reflect.TypeFor[uuid.UUID]():
		return func() element { return new(uuidCell) }
	}
	return nil
}

func newArray(rows reflect.Value, field []int, asked element) array {
	at := asked.of()
	at.rows, at.field = rows, field
	return array{length: rows.Len(), cell: at, asked: asked}
}
