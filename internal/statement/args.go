package statement

import (
	"fmt"
	"reflect"
	"strings"
)

// argument is a field that holds a parameter's value.
type argument struct {
	name  string // Field, or Rows.Field
	field []int  // index in the arguments struct
	// column is the index of the column's field in a row; nil if the argument is not a column of
	// rows.
	column []int
	array  reflect.Type // the column's slice type, for a column without a cell
	cell   func() element
	// text is true for a value of a named string type, for a slice of such a type, and for a column
	// of any string type. The value is then converted to string, because pgx would look up a named
	// type's encoding for each element.
	text bool
}

// folded returns the form in which names are compared: event_id matches the field EventID.
func folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// match finds the argument of each parameter. Parameters and fields must have the same names.
func match(args reflect.Type, params []param) ([]argument, error) {
	fields, err := argumentsIn(args)
	if err != nil {
		return nil, err
	}
	unused := make(map[string]argument, len(fields))
	for _, field := range fields {
		unused[folded(field.name)] = field
	}
	var faults []string
	found := make([]argument, len(params))
	for i, p := range params {
		field, known := unused[folded(p.name)]
		if !known {
			faults = append(faults, "no field is the parameter :"+p.name)
		}
		delete(unused, folded(p.name))
		if field.column != nil {
			field.cell = cellOf(field.array.Elem(), p.column)
		}
		found[i] = field
	}
	for _, field := range fields {
		if _, left := unused[folded(field.name)]; left {
			faults = append(faults, "no parameter is the field "+field.name)
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %s", args, strings.Join(faults, ", "))
	}
	return found, nil
}

// argumentsIn returns a struct's fields, including the fields of embedded structs. A slice of
// structs is replaced by the fields of its elements.
func argumentsIn(args reflect.Type) ([]argument, error) {
	fields, err := fieldsOf(args)
	if err != nil {
		return nil, err
	}
	var all []argument
	for _, f := range fields {
		if !isRows(f.Type) {
			all = append(all, argument{name: f.Name, field: f.Index, text: isText(f.Type)})
			continue
		}
		columns, err := fieldsOf(f.Type.Elem())
		if err != nil {
			return nil, err
		}
		for _, c := range columns {
			all = append(all, argument{
				name: f.Name + "." + c.Name, field: f.Index, column: c.Index,
				array: reflect.SliceOf(c.Type), text: c.Type.Kind() == reflect.String,
			})
		}
	}
	return all, nil
}

func fieldsOf(t reflect.Type) ([]reflect.StructField, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct", t)
	}
	var fields []reflect.StructField
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous && field.Type.Kind() == reflect.Struct {
			continue
		}
		if !field.IsExported() {
			return nil, fmt.Errorf("field %s of %s is not exported", field.Name, t)
		}
		fields = append(fields, field)
	}
	return fields, nil
}

// isRows reports whether t is a slice of rows: of structs with exported fields, unlike time.Time.
func isRows(t reflect.Type) bool {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Struct {
		return false
	}
	for _, field := range reflect.VisibleFields(t.Elem()) {
		if field.IsExported() {
			return true
		}
	}
	return false
}

func isText(t reflect.Type) bool {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.String && t.PkgPath() != ""
}

// value reads the argument from the arguments struct, and converts it for pgx.
func (a argument) value(args reflect.Value) any {
	value := args.FieldByIndex(a.field)
	switch {
	case a.cell != nil:
		return newArray(value, a.column, a.cell())
	case a.column != nil && a.text:
		return texts(value, func(row reflect.Value) string { return row.FieldByIndex(a.column).String() })
	case a.column != nil:
		column := reflect.MakeSlice(a.array, value.Len(), value.Len())
		for i := range value.Len() {
			column.Index(i).Set(value.Index(i).FieldByIndex(a.column))
		}
		return column.Interface()
	case !a.text:
		return value.Interface()
	case value.Kind() == reflect.String:
		return value.String()
	case value.IsNil():
		return []string(nil) // pgx encodes a nil slice as NULL
	}
	return texts(value, reflect.Value.String)
}

func texts(from reflect.Value, text func(reflect.Value) string) []string {
	all := make([]string, from.Len())
	for i := range all {
		all[i] = text(from.Index(i))
	}
	return all
}
