package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// All log keys are in internal/logkey, and durations are in seconds: the output of slog.Duration
// does not show its unit.
func TestLogLinesUseTheVocabulary(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	known := vocabulary(t, filepath.Join(root, "internal", "logkey", "logkey.go"))
	files := token.NewFileSet()
	seen := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			call, key, ok := slogAttr(node)
			if !ok {
				return true
			}
			seen++
			at := files.Position(node.Pos()).String()
			require.NotEqual(t, "Duration", call, "%s: write seconds: slog.Float64(logkey.Duration, d.Seconds())", at)
			switch key := key.(type) {
			case *ast.SelectorExpr:
				pkg, _ := key.X.(*ast.Ident)
				require.True(t, pkg != nil && (pkg.Name == "logkey" || pkg.Name == "a"), "%s: the key is not from internal/logkey", at)
			case *ast.BasicLit:
				// schema is below outbox and cannot import logkey.
				text, err := strconv.Unquote(key.Value)
				require.NoError(t, err)
				require.True(t, known[text] && strings.Contains(filepath.ToSlash(path), "/schema/"), "%s: key %s is not from internal/logkey", at, key.Value)
			default:
				require.Fail(t, "the key is not from internal/logkey", at)
			}
			return true
		})
		return nil
	}))
	require.Greater(t, seen, 50)
}

// slogAttr returns the function and the key of a call such as slog.String(key, value).
func slogAttr(node ast.Node) (function string, key ast.Expr, ok bool) {
	call, ok := node.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return "", nil, false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", nil, false
	}
	if pkg, ok := selector.X.(*ast.Ident); !ok || pkg.Name != "slog" {
		return "", nil, false
	}
	switch selector.Sel.Name {
	case "Any", "Bool", "Duration", "Float64", "Int", "Int64", "String", "Time", "Uint64":
		return selector.Sel.Name, call.Args[0], true
	}
	return "", nil, false
}

// vocabulary returns the constants' values in a file.
func vocabulary(t *testing.T, path string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	known := map[string]bool{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok {
			for _, value := range spec.Values {
				literal, ok := value.(*ast.BasicLit)
				require.True(t, ok)
				text, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				require.False(t, known[text], "%s is listed twice", text)
				known[text] = true
			}
		}
		return true
	})
	return known
}
