package docs_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

//go:generate go test . -run ^TestTheMapHasEveryPackage$ -update

var update = flag.Bool("update", false, "write the map of packages into the page instead of comparing")

const (
	architecture  = "architecture.md"
	module        = "github.com/hooklatch/hooklatch"
	mapOfPackages = "<!-- The map of packages: go generate ./docs writes it from the comments of the packages. -->\n"
)

// The first sentence of a package comment says what the package does, and its first word after the
// name is a verb. The map contains this sentence for every package.
func TestTheMapHasEveryPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(architecture)
	require.NoError(t, err)
	before, after, found := strings.Cut(string(text), mapOfPackages)
	require.True(t, found)
	table, after, found := strings.Cut(after, "\n\n")
	require.True(t, found)

	rows := []string{"| package | what it does |", "|---|---|"}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		rows = append(rows, fmt.Sprintf("| [`%s`](../%s) | %s |", name, name, p.responsibility(t)))
	}
	if *update {
		written := before + mapOfPackages + strings.Join(rows, "\n") + "\n\n" + after
		require.NoError(t, os.WriteFile(architecture, []byte(written), 0o644))
		return
	}
	const fix = "docs/architecture.md is out of date; run: go generate ./docs"
	onPage := strings.Split(table, "\n")
	for _, row := range rows {
		require.True(t, slices.Contains(onPage, row), "%s; it misses the row %s", fix, row)
	}
	require.Len(t, onPage, len(rows), fix)
}

// goPackage is the part of the output of `go list -json` that the test needs.
type goPackage struct {
	Dir, ImportPath                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	var packages []goPackage
	for _, module := range []string{"..", "../cmd/hookstorm"} {
		// With -find, the imports of the packages need not be downloaded.
		cmd := exec.CommandContext(t.Context(), "go", "list", "-find", "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles", "./...")
		cmd.Dir = module
		out, err := cmd.Output()
		require.NoError(t, err)
		for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p goPackage
			err := decoder.Decode(&p)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			packages = append(packages, p)
		}
	}
	slices.SortFunc(packages, func(a, b goPackage) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return packages
}

// introduction matches the beginning of the comment of a package or command.
var introduction = regexp.MustCompile(`^(Package|Command) [a-z_]+ `)

// responsibility returns the first sentence of the package's comment. A package that has no comment
// in other files may have the comment in a test file.
func (p goPackage) responsibility(t *testing.T) string {
	t.Helper()
	for _, file := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		if parsed.Doc == nil {
			continue
		}
		sentence := new(doc.Package).Synopsis(parsed.Doc.Text())
		sentence = introduction.ReplaceAllString(sentence, "")
		require.NotRegexp(t, `^(is|was|has|contains) `, sentence, "%s: the comment does not say with a verb what the package does", p.ImportPath)
		return strings.ReplaceAll(strings.TrimSuffix(sentence, "."), "|", "\\|")
	}
	t.Errorf("package %s has no comment that says what it does", p.ImportPath)
	return ""
}

var tableRow = regexp.MustCompile("(?m)^\\| (`[a-z_`, ]+`) \\| [^|]+ \\|")

func TestTheMapHasEveryTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(architecture)
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Tables\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var named []string
	for _, row := range tableRow.FindAllStringSubmatch(section, -1) {
		named = append(named, strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")...)
	}

	rows, err := pgtest.New(t).Query(t.Context(), `
		SELECT relname::text FROM pg_class
		WHERE relnamespace = 'hooklatch'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
		ORDER BY relname`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	slices.Sort(named)
	require.Equal(t, tables, named, "tables of a migrated database, and of docs/architecture.md")
}
