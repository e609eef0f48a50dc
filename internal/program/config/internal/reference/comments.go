package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const module = "github.com/hooklatch/hooklatch/"

// packages lists the packages with the structs into which the configuration file is decoded.
var packages = []string{
	"internal/program/config", "gateway", "gateway/backfill", "gateway/provider", "worker", "internal/agreement", "worker/destination", "worker/lane", "worker/route",
}

// comments contains the comments of types and fields by import path and name, such as
// module/gateway.Options.Listen.
type comments map[string]string

// readComments reads the comments of all structs in packages. root is the path of the repository.
func readComments(root string) (comments, error) {
	docs := comments{}
	for _, dir := range packages {
		paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			docs.add(module+dir, file)
		}
	}
	return docs, nil
}

func (c comments) add(pkg string, file *ast.File) {
	for _, decl := range file.Decls {
		types, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range types.Specs {
			named, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			structure, ok := named.Type.(*ast.StructType)
			if !ok {
				continue
			}
			c[pkg+"."+named.Name.Name] = textOf(types.Doc)
			for _, field := range structure.Fields.List {
				for _, name := range field.Names {
					c[pkg+"."+named.Name.Name+"."+name.Name] = textOf(field.Doc, field.Comment)
				}
			}
		}
	}
}

// textOf returns the first comment that exists, as one line.
func textOf(groups ...*ast.CommentGroup) string {
	for _, group := range groups {
		if group != nil {
			return strings.Join(strings.Fields(group.Text()), " ")
		}
	}
	return ""
}

// field returns the comment of a key, in the words of the file. The comment does not begin with the
// name of the Go field, and it names other fields by their keys.
func (c comments) field(f config.Field) string {
	switch {
	case f.File == "":
		return withKeys(f.Owner, withoutName(f.Go, c[f.Owner.PkgPath()+"."+f.Owner.Name()+"."+f.Go]))
	case f.Type == reflect.TypeFor[secret.Value]():
		return "A file that holds the secret, instead of " + f.File + "."
	}
	return "A file that holds the secrets, one per line, instead of " + f.File + "."
}

// withoutName returns "Unit of {ts}." for "TimestampUnit is the unit of {ts}.".
func withoutName(name, comment string) string {
	for _, verb := range []string{" is ", " are "} {
		rest, found := strings.CutPrefix(comment, name+verb)
		if !found {
			continue
		}
		for _, article := range []string{"the ", "a ", "an "} {
			if noun, found := strings.CutPrefix(rest, article); found {
				return strings.ToUpper(noun[:1]) + noun[1:]
			}
		}
		if verb == " are " {
			return strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return comment
}

// withKeys replaces the names of Go fields inside sentences with their keys in the file. It does
// not replace a name in capitals, such as URL, or a name that is also a product's name. Sentences
// use these words with their usual meaning.
func withKeys(owner reflect.Type, comment string) string {
	for field := range owner.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if key == "" || key == "-" || field.Name == strings.ToUpper(field.Name) || slices.Contains([]string{"Redis", "RabbitMQ"}, field.Name) {
			continue
		}
		comment = regexp.MustCompile(`([a-z,;:(] ?)\b`+field.Name+`\b`).ReplaceAllString(comment, "${1}"+key)
	}
	return comment
}
