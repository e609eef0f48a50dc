package main_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

// The program accepts every command in a page, a help text, an error, an alert or the console. The
// flags of each command exist, their values can be parsed, and no argument is missing or extra.
func TestEveryPrintedCommandIsTaken(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	var all []clitest.PrintedCommand
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); slices.Contains([]string{"testdata", "node_modules", "hookstorm"}, name) || len(name) > 2 && name[0] == '.' {
				return filepath.SkipDir
			}
			return nil
		}
		var found []clitest.PrintedCommand
		switch {
		case strings.HasSuffix(path, "_test.go"), path == filepath.Join(root, "CHANGELOG.md"): // the changelog describes the past
		case path == filepath.Join(root, "docs", "cli.md"): // generated from help texts, which are checked in the source files
		case strings.HasSuffix(path, ".go"):
			found = inStrings(t, path)
		case strings.HasSuffix(path, ".md"), strings.HasSuffix(path, ".md.tmpl"):
			found = inPage(t, path)
		case strings.HasSuffix(path, ".html"), strings.HasSuffix(path, ".yaml"):
			found = inLines(t, path)
		}
		all = append(all, found...)
		return nil
	}))
	require.Greater(t, len(all), 500, "the test no longer finds the commands")
	require.True(t, slices.ContainsFunc(all, func(c clitest.PrintedCommand) bool {
		return strings.Contains(c.Where, "effects_resend.go") && strings.HasPrefix(c.Text, "effects resend hl_0123")
	}), "the test no longer finds the commands after the program's name")
	for _, c := range all {
		if wrong := c.Refused(t); wrong != "" {
			t.Errorf("%s: hooklatch %s\n\t%s", c.Where, c.Text, wrong)
		}
	}
}

// The console prints a command for each list and bulk run. The program accepts that command for
// every form field.
func TestEveryCommandOfAFilterIsTaken(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	values := map[string]string{
		"destination": "app", "source": "stripe", "route": "app", "type": "invoice.*", "event": "stripe/evt_1", "id": "evt_1", "has": "duplicates", "effects": "failed",
		"since": "-24h", "until": "2026-11-21", "policy": "at_most_once", "contains": "it's", "when": `body.name == "O'Neil"`, "state": "failed", "reason": "wrong_signature", "address": "10.0.0.1",
	}
	field := regexp.MustCompile(`id="field-(\w+)"`)
	for list, pages := range map[string][]string{
		"/events":     {"/events?", "/runs/new?of=events&action=replay&", "/runs/new?of=events&action=release&"},
		"/effects":    {"/effects?", "/runs/new?of=effects&action=retry&", "/runs/new?of=effects&action=park&", "/runs/new?of=effects&action=cancel&"},
		"/quarantine": {"/quarantine?"},
	} {
		_, _, form := s.Ask(t, http.MethodGet, list, "")
		fields := field.FindAllStringSubmatch(form, -1)
		require.NotEmpty(t, fields, list)
		for _, page := range pages {
			taken := 0
			for _, f := range fields {
				require.Contains(t, values, f[1], "the filter has no example value")
				path := page + url.Values{f[1]: {values[f[1]]}}.Encode()
				status, _, text := s.Ask(t, http.MethodGet, path, "")
				if status == http.StatusBadRequest { // some lists do not have this field
					continue
				}
				require.Equal(t, http.StatusOK, status, path)
				taken += clitest.RequireTaken(t, path, text)
			}
			require.Greater(t, taken, len(fields)/2, page)
		}
	}
}

// A wrong command is found in every kind of text.
func TestAMisspeltCommandIsNoticed(t *testing.T) {
	t.Parallel()
	for text, prose := range map[string]bool{
		"effects retry --stat failed":              false, // in a page
		"effects retry --state failed --tipe {}":   true,  // in an alert
		"evnts list":                               true,
		"events show stripe":                       false,
		"events list --limit many":                 false,
		"events replay --state received":           false,
		"quarantine retry --source {} --yess":      true,
		"events list --state held and --sauce x":   true,
		"repair --restored-to TIME, or --promotd":  true,
		"backfill SOURCE --since 6h --dry-run --x": true,
	} {
		require.NotEmpty(t, clitest.PrintedCommand{Text: text, Prose: prose}.Refused(t), text)
	}
	for text, prose := range map[string]bool{
		"check shows what slows it down":                 true,
		"events release, or hooklatch events drop":       true,
		"effects retry {} with the same reason":          true,
		"repair --restored-to TIME, or --promoted":       true,
		"events show stripe evt_1":                       false,
		"effects list --state failed | jq .":             false,
		"events list --when 'body.amount > 0' --limit 1": false,
	} {
		require.Empty(t, clitest.PrintedCommand{Text: text, Prose: prose}.Refused(t), text)
	}
}

// inPage returns the commands in a Markdown page's code.
func inPage(t *testing.T, path string) (found []clitest.PrintedCommand) {
	t.Helper()
	code := regexp.MustCompile("`([^`]+)`")
	fenced, continued := false, ""
	eachLine(t, path, func(where, line string) {
		switch bare := strings.TrimSpace(line); {
		case strings.HasPrefix(bare, "```"):
			fenced = !fenced
		case fenced || strings.HasPrefix(line, "    "):
			line, whole := strings.CutSuffix(continued+bare, `\`)
			if continued = ""; whole {
				continued = line
				return
			}
			line = strings.TrimPrefix(line, "$ ")
			if words := strings.Fields(line); len(words) > 0 && strings.HasSuffix(words[0], "hooklatch") || strings.HasPrefix(line, "go run ./cmd/hooklatch ") {
				line, remark, _ := strings.Cut(line, " # ")
				found = append(append(found, clitest.CommandsIn(where, line, false)...), clitest.CommandsIn(where, remark, true)...)
			}
		default:
			for _, span := range code.FindAllStringSubmatch(line, -1) {
				if strings.HasPrefix(span[1], "hooklatch ") || strings.HasPrefix(span[1], "go run ./cmd/hooklatch ") {
					found = append(found, clitest.CommandsIn(where, span[1], false)...)
				}
			}
		}
	})
	return found
}

func inLines(t *testing.T, path string) (found []clitest.PrintedCommand) {
	t.Helper()
	tag := regexp.MustCompile(`</?[a-z][^>]*>`)
	eachLine(t, path, func(where, line string) {
		found = append(found, clitest.CommandsIn(where, tag.ReplaceAllString(line, "\n"), true)...)
	})
	return found
}

func eachLine(t *testing.T, path string, visit func(where, line string)) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		visit(path+":"+strconv.Itoa(n), lines.Text())
	}
	require.NoError(t, lines.Err())
}

// inStrings returns the commands in a Go file's texts: in constants, formats and concatenations of
// both.
func inStrings(t *testing.T, path string) (found []clitest.PrintedCommand) {
	t.Helper()
	inCLI := strings.Contains(filepath.ToSlash(path), "/program/cli/")
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 && selects(call.Fun, "command") {
			if text, whole := literalOf(call.Args[0], inCLI); whole { // cli.command adds the name of the program
				at := files.Position(call.Pos())
				found = append(found, clitest.CommandsIn(path+":"+strconv.Itoa(at.Line), clitest.TestName+" "+clitest.FormatVerb.ReplaceAllString(text, clitest.Unknown), true)...)
				return false
			}
		}
		text, whole := literalOf(e, inCLI)
		if whole {
			at := files.Position(e.Pos())
			text = clitest.FormatVerb.ReplaceAllString(text, clitest.Unknown)
			found = append(found, clitest.CommandsIn(path+":"+strconv.Itoa(at.Line), text, true)...)
		}
		return !whole
	})
	return found
}

// selects reports whether the expression selects a field or method with this name.
func selects(e ast.Expr, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == name
}

// literalOf evaluates a text expression: a literal, or a sum that contains one. The function nameOf
// replaces each other part of the sum. inCLI is true in package cli. ok is false for other
// expressions.
func literalOf(e ast.Expr, inCLI bool) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			left, ofText := literalOf(e.X, inCLI)
			right, alsoText := literalOf(e.Y, inCLI)
			if !ofText {
				left = nameOf(e.X, inCLI)
			}
			if !alsoText {
				right = nameOf(e.Y, inCLI)
			}
			return left + right, ofText || alsoText
		}
	}
	return "", false
}

// nameOf returns the program's name if the expression is c.Name or p.Name in package cli, and
// otherwise Unknown.
func nameOf(e ast.Expr, inCLI bool) string {
	if s, ok := e.(*ast.SelectorExpr); ok && inCLI && s.Sel.Name == "Name" {
		if x, ok := s.X.(*ast.Ident); ok && (x.Name == "c" || x.Name == "p") {
			return clitest.TestName
		}
	}
	return clitest.Unknown
}
