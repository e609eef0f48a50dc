package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/glossary"
)

// rule is a kind of wording that our texts must not contain.
type rule struct {
	name  string
	wrong *regexp.Regexp
	write string // the wording to use instead
}

// rules returns all rules. A word that is sometimes right does not belong here.
func rules() []rule {
	list := []rule{
		{"actor", anyOf("nobody", "somebody", "whoever", `(any|no|some)body's`), "operator, user, caller, sender, receiver or process"},
		{"opening", regexp.MustCompile(`(?:^|[.!?] )(?:What|Whoever|Those|That which|Of (?:the|those|what)) [^.!?]*[.!](?: |$)`), "a noun first, its verb second"},
		{"spelling", anyOf("for ever"), "forever"},
		{"hyphen", anyOf("e-mails?"), "email"},
		{"rare word", anyOf(`mend(s|ed|ing)?`, "shall", "a while ago like", "is that of", "those of whom", "of those of", "what stands", "gone on with"), "the usual word"},
	}
	for _, term := range glossary.Terms() {
		if len(term.Not) > 0 {
			list = append(list, rule{"term", anyOf(term.Not...), strings.ToLower(term.Name)})
		}
	}
	return list
}

func anyOf(phrases ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(phrases, "|") + `)\b`)
}

// wordings returns the forbidden wordings in a text.
func wordings(text string) (faults []string) {
	for _, paragraph := range borders.Split(text, -1) {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		paragraph = strings.ReplaceAll(paragraph, "user nobody", "user x") // a Unix account
		for _, r := range rules() {
			for _, found := range r.wrong.FindAllString(paragraph, -1) {
				faults = append(faults, r.name+": "+strconv.Quote(strings.TrimSpace(found))+": write "+r.write)
			}
		}
	}
	return faults
}

// Every text that a user can see uses the terms of the glossary and plain English: pages, help, the
// console, alerts, errors and the changelog.
func TestTextsAreInPlainEnglish(t *testing.T) {
	t.Parallel()
	read := 0
	for place, text := range texts(t) {
		read++
		for _, fault := range wordings(text) {
			t.Errorf("%s: %s", place, fault)
		}
	}
	require.Greater(t, read, 3000, "texts were read")
}

func TestEveryRuleOfWordingIsNoticed(t *testing.T) {
	t.Parallel()
	for name, planted := range map[string]string{
		"actor":     "The effect waits until somebody retries it.",
		"opening":   "Effects are sent. What was refused is kept.",
		"spelling":  "The row stays for ever.",
		"hyphen":    "The sender sends an e-mail.",
		"rare word": "Give a time, or a while ago like 36h.",
		"term":      "98.8 % of 344 events came before.",
	} {
		faults := wordings(planted)
		require.Len(t, faults, 1, planted)
		require.True(t, strings.HasPrefix(faults[0], name+": "), faults[0])
	}
	require.Empty(t, wordings("What is a duplicate? The gateway answers it with success."), "a question may begin with what")
	require.Empty(t, wordings(withoutCode("Run `whoever` now.\n\n```\nnobody\n```\n")), "code quotes programs")
}

// texts returns all texts that a user can see, by the location of each.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for page, text := range pages(t) {
		all[page] = withoutCode(text)
	}
	for _, glob := range []string{"../cmd/hooklatch/testdata/help/*.txt", "../internal/program/console/api/openapi.yaml", "config.schema.json"} {
		files, err := filepath.Glob(glob)
		require.NoError(t, err)
		require.NotEmpty(t, files, glob)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all[file] = string(text)
		}
	}
	for _, pattern := range []string{"../internal/program/console/page/*.html", "../internal/program/console/page/part/*.html"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all[file] = tags.ReplaceAllString(string(text), "\n\n")
		}
	}
	// The glossary itself quotes the forbidden words.
	for _, dir := range []string{"../cmd/hooklatch", "../internal", "../gateway", "../worker", "../outbox", "../schema"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/glossary/") {
				return err
			}
			return literals(path, all)
		}))
	}
	return all
}

var (
	// borders matches the end of a paragraph, an item, a cell, a heading or a value.
	borders = regexp.MustCompile(`\n\s*\n|\n\s*[-*#|]|\||\n\s*[a-z_$"]+: |: "`)
	tags    = regexp.MustCompile(`<[^>]*>|\{\{[^}]*\}\}`)
	blocks  = regexp.MustCompile("(?s)```.*?```")
	inline  = regexp.MustCompile("`[^`\n]*`")
)

// withoutCode returns a page without its code, which quotes programs.
func withoutCode(page string) string {
	return inline.ReplaceAllString(blocks.ReplaceAllString(page, "\n"), "x")
}

// literals adds the string literals of a Go file that contain at least three words, because the
// program can print them.
func literals(path string, all map[string]string) error {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && strings.Count(text, " ") >= 2 {
				all[files.Position(literal.Pos()).String()] = text
			}
		}
		return true
	})
	return nil
}
