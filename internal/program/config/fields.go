package config

import (
	"reflect"
	"slices"
	"strings"
)

// field is one key of a mapping, with its struct field.
type field struct {
	Name  string // the key
	Index []int  // for reflect.Value.FieldByIndex
	Type  reflect.Type
	Owner reflect.Type // struct that declares the field, which may be an inlined struct
	Go    string       // name of the field in that struct
	// File is set if Name is the key of a secret's file, such as secrets_file. It is then the
	// secret's own key, such as secrets.
	File string
}

type fields []field

// fieldsOf returns a struct's keys from its yaml tags, including the keys of inlined structs, and
// for each secret also the key of its file. A field without a tag is not part of the file.
func fieldsOf(t reflect.Type) fields {
	var list fields
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if options == "inline" {
			for _, inner := range fieldsOf(f.Type) {
				inner.Index = slices.Concat(f.Index, inner.Index)
				list = append(list, inner)
			}
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		one := field{Name: name, Index: f.Index, Type: f.Type, Owner: t, Go: f.Name}
		list = append(list, one)
		if f.Type == secretType || f.Type == secretsType || f.Type == keysType {
			one.Name, one.File = fileKey(name), name
			list = append(list, one)
		}
	}
	return list
}

// fileKey returns the key of a secret's file, given the key of the secret. Given the path of a
// secret, it returns the path of the file's key.
func fileKey(path string) string {
	if around, isValue := strings.CutSuffix(path, "value"); isValue && (around == "" || strings.HasSuffix(around, ".")) {
		return around + "file"
	}
	if around, isURL := strings.CutSuffix(path, "secret_url"); isURL && (around == "" || strings.HasSuffix(around, ".")) {
		return around + "url_file"
	}
	return path + "_file"
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

// Field is one key of a mapping, for packages that document the file.
type Field = field

// Fields returns the keys in the file for a struct of the configuration.
func Fields(t reflect.Type) []Field { return fieldsOf(t) }

// TakesScalar reports whether values of a type are a single text, number or boolean, which may
// stand for a list of one.
func TakesScalar(t reflect.Type) bool { return takesScalar(reflect.New(t).Elem()) }
