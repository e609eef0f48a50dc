package config

import (
	"encoding"
	"fmt"
	"net/netip"
	"path/filepath"
	"reflect"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// maxDepth is far above the depth of any valid file. It stops aliases that contain themselves.
const maxDepth = 32

var (
	durationType = reflect.TypeFor[time.Duration]()
	prefixType   = reflect.TypeFor[netip.Prefix]()
	secretType   = reflect.TypeFor[secret.Value]()
	secretsType  = reflect.TypeFor[[]secret.Value]()
	keyType      = reflect.TypeFor[Secret]()
	dedupType    = reflect.TypeFor[Dedup]()
	keysType     = reflect.TypeFor[[]Secret]()
	timeType     = reflect.TypeFor[time.Time]()
)

// decoder fills Go values from YAML nodes. Unlike the library's own decoder, it continues after a
// mistake, records the line of every path, expands ${NAME} only in scalars, and never shows a
// secret.
type decoder struct {
	origin  *origin
	env     LookupEnv
	dir     string // base directory for relative paths
	anchors map[string]ast.Node
	// noAliases is true if aliases are refused.
	noAliases bool
	// noFiles is true if secret files must not be read, because a user without access to the
	// machine named them. Each of their secrets is then unreadText.
	noFiles  bool
	problems Problems
	warnings Problems // warnings about secret files

	deprecated Problems // deprecated keys in the file, which still apply

	// unknown contains the paths of values that were not decoded completely, such as a mapping
	// with an unknown key.
	unknown map[string]bool
	// expanded are the scalars with a reference to an environment variable, as written in the
	// file, by path.
	expanded map[string]string
	// zeros are the numbers, sizes and durations that are 0, as written in the file, by path.
	zeros map[string]string
}

func newDecoder(o *origin, env LookupEnv) *decoder {
	return &decoder{
		origin: o, env: env, dir: filepath.Dir(o.file),
		anchors: map[string]ast.Node{}, unknown: map[string]bool{}, expanded: map[string]string{}, zeros: map[string]string{},
	}
}

func (d *decoder) reportf(path, format string, args ...any) {
	d.problems = append(d.problems, d.origin.problem(path, fmt.Sprintf(format, args...)))
}

// value decodes node into target, which must be settable. A null leaves target unchanged.
func (d *decoder) value(node ast.Node, path string, target reflect.Value, depth int) {
	node, ok := d.resolve(node, path)
	if !ok || node == nil || node.Type() == ast.NullType {
		return
	}
	if depth > maxDepth {
		d.reportf(path, "is nested more than %d levels deep", maxDepth)
		return
	}
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	_, isText := reflect.TypeAssert[encoding.TextUnmarshaler](target.Addr())
	switch kind := target.Kind(); {
	case isText || target.Type() == secretType:
		d.scalar(node, path, target)
	case target.Type() == keyType && isScalar(node):
		d.scalar(node, path, target.FieldByName("Value"))
	case target.Type() == dedupType && isScalar(node):
		d.scalar(node, path, target.FieldByName("Rule"))
	case kind == reflect.Struct:
		d.structure(node, path, target, depth)
	case kind == reflect.Map:
		d.mapping(node, path, target, depth)
	case kind == reflect.Slice:
		d.sequence(node, path, target, depth)
	default:
		d.scalar(node, path, target)
	}
}

func (d *decoder) structure(node ast.Node, path string, target reflect.Value, depth int) {
	entries, ok := d.entries(node, path)
	if !ok {
		return
	}
	fields := fieldsOf(target.Type())
	var files []fileEntry // processed after all values, because only one of a value and its file may be given
	for _, e := range entries {
		field, known := fields.find(e.key)
		if !known {
			var accepted bool
			if e.key, accepted = d.current(path, e, entries); !accepted {
				d.unknown[path] = true
				continue
			}
			field, known = fields.find(e.key)
		}
		if !known {
			d.unknown[path] = true
			d.problems = append(d.problems, Problem{
				File: d.origin.file, Line: e.line, Path: path,
				Message: fmt.Sprintf("%s is not a key here; %s", quote(e.key), oneOf(e.key, fields.names())),
			})
			continue
		}
		value := target.FieldByIndex(field.Index)
		if field.File == "" {
			d.value(e.value, join(path, e.key), value, depth+1)
			continue
		}
		file := fileEntry{path: join(path, e.key), value: join(path, field.File), target: value}
		d.value(e.value, file.path, reflect.ValueOf(&file.name).Elem(), depth+1)
		files = append(files, file)
	}
	for _, file := range files {
		d.secretFile(file)
	}
}

func (d *decoder) mapping(node ast.Node, path string, target reflect.Value, depth int) {
	entries, ok := d.entries(node, path)
	if !ok {
		return
	}
	target.Set(reflect.MakeMapWithSize(target.Type(), len(entries)))
	for _, e := range entries {
		element := reflect.New(target.Type().Elem()).Elem()
		d.value(e.value, join(path, e.key), element, depth+1)
		target.SetMapIndex(reflect.ValueOf(e.key), element)
	}
}

// sequence decodes a list. If its elements can be scalars, a scalar counts as a list of one.
func (d *decoder) sequence(node ast.Node, path string, target reflect.Value, depth int) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		element := reflect.New(target.Type().Elem()).Elem()
		if !isScalar(node) || !takesScalar(element) {
			d.reportf(path, "is %s; a list is expected", describe(node))
			return
		}
		d.value(node, path, element, depth+1)
		target.Set(reflect.Append(target, element))
		return
	}
	target.Set(reflect.MakeSlice(target.Type(), 0, len(list.Values))) // an empty list counts as given
	for i, item := range list.Values {
		itemPath := path + "[" + strconv.Itoa(i) + "]"
		if item != nil && item.GetToken() != nil {
			d.origin.lines[itemPath] = item.GetToken().Position.Line
		}
		element := reflect.New(target.Type().Elem()).Elem()
		d.value(item, itemPath, element, depth+1)
		target.Set(reflect.Append(target, element))
	}
}

func takesScalar(element reflect.Value) bool {
	if _, isText := reflect.TypeAssert[encoding.TextUnmarshaler](element.Addr()); isText || element.Type() == secretType || element.Type() == keyType {
		return true
	}
	return element.Kind() != reflect.Struct && element.Kind() != reflect.Map && element.Kind() != reflect.Slice
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
