package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every exported function and type of the module has a doc comment that begins with its name, as in
// the standard library. An exported constant or variable, or its group, has a comment.
func TestEveryExportedNameHasADocComment(t *testing.T) {
	t.Parallel()
	files, checked := token.NewFileSet(), 0
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if name := entry.Name(); err == nil && entry.IsDir() && (name == "testdata" || strings.HasPrefix(name, ".") && name != ".." || name == "node_modules") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for name, doc := range exported(parsed) {
			checked++
			if !strings.HasPrefix(doc, name.Name+" ") && !strings.HasPrefix(doc, name.Name+"\n") && !strings.HasPrefix(doc, name.Name+"'s ") {
				t.Errorf("%s: the comment of %s does not begin with its name: %q", files.Position(name.Pos()), name.Name, firstLine(doc))
			}
		}
		return nil
	}))
	require.Greater(t, checked, 1500)
}

// exported returns the exported functions and types that a file declares, with their comments. It
// adds an exported constant or variable, with an empty comment, only if neither the name nor its
// group has a comment.
func exported(file *ast.File) map[*ast.Ident]string {
	found := map[*ast.Ident]string{}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ofExported(d.Recv.List[0].Type)) {
				found[d.Name] = d.Doc.Text()
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if of, is := spec.(*ast.TypeSpec); is && of.Name.IsExported() {
					found[of.Name] = either(of.Doc, d.Doc)
				}
				if of, is := spec.(*ast.ValueSpec); is && d.Doc == nil && of.Doc == nil && of.Comment == nil {
					for _, name := range of.Names {
						if name.IsExported() {
							found[name] = ""
						}
					}
				}
			}
		}
	}
	return found
}

func ofExported(receiver ast.Expr) bool {
	switch of := receiver.(type) {
	case *ast.StarExpr:
		return ofExported(of.X)
	case *ast.IndexExpr:
		return ofExported(of.X)
	case *ast.IndexListExpr:
		return ofExported(of.X)
	case *ast.Ident:
		return of.IsExported()
	}
	return false
}

func either(own, group *ast.CommentGroup) string {
	if own != nil {
		return own.Text()
	}
	return group.Text()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func TestAMissingDocCommentIsNoticed(t *testing.T) {
	t.Parallel()
	parsed, err := parser.ParseFile(token.NewFileSet(), "planted.go", "package p\n\nfunc Bare() {}\n\n// What it is.\ntype Kind int\n\nfunc (Kind) String() string { return \"\" }\n\nfunc hidden() {}\n", parser.ParseComments)
	require.NoError(t, err)
	names := map[string]string{}
	for name, doc := range exported(parsed) {
		names[name.Name] = doc
	}
	require.Equal(t, map[string]string{"Bare": "", "Kind": "What it is.\n", "String": ""}, names)
}
