package config

import (
	"reflect"
	"strings"
)

// field is one key of a mapping and the struct field behind it.
type field struct {
	Name  string // the key
	Index []int  // for reflect.Value.FieldByIndex
	Type  reflect.Type
	Owner reflect.Type // the struct that declares it, which is another for inlined ones
	Go    string       // its name there
}

type fields []field

// fieldsOf lists the keys of a struct by their yaml tags, those of inlined
// structs included. A field without a tag is not part of the file.
func fieldsOf(t reflect.Type) fields {
	var list fields
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if options == "inline" {
			for _, inner := range fieldsOf(f.Type) {
				inner.Index = append(append([]int{}, f.Index...), inner.Index...)
				list = append(list, inner)
			}
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		list = append(list, field{Name: name, Index: f.Index, Type: f.Type, Owner: t, Go: f.Name})
	}
	return list
}

func (fs fields) find(name string) (field, bool) {
	for _, f := range fs {
		if f.Name == name {
			return f, true
		}
	}
	return field{}, false
}

func (fs fields) names() []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.Name
	}
	return names
}
