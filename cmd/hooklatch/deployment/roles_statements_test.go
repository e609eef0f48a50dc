package deployment

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// used contains, for each privilege, a pattern of the statements that need it.
var used = map[string]*regexp.Regexp{
	"SELECT":  regexp.MustCompile(`(?:FROM|JOIN|USING) hooklatch\.(\w+)(?:[^\w(]|$)`),
	"INSERT":  regexp.MustCompile(`INSERT INTO hooklatch\.(\w+)`),
	"UPDATE":  regexp.MustCompile(`UPDATE hooklatch\.(\w+)`),
	"DELETE":  regexp.MustCompile(`DELETE FROM hooklatch\.(\w+)`),
	"EXECUTE": regexp.MustCompile(`hooklatch\.(\w+)\(`),
}

// The statements of docs/operations.md#roles grant to the gateway or the worker every privilege
// that a statement of the program needs. Only the owner of the tables moves sources between cells
// and tries an engine, and only operators erase single effects.
func TestTheRolesOfThePageMayRunEveryStatement(t *testing.T) {
	t.Parallel()
	granted := map[string]bool{"EXECUTE erase_effect": true}
	grant, columns := regexp.MustCompile(`(?s)GRANT (.*) ON (.*) TO hooklatch_(?:gateway|worker)`), regexp.MustCompile(`\([^)]*\)`)
	privilege, object := regexp.MustCompile(`[A-Z]+`), regexp.MustCompile(`hooklatch\.(\w+)`)
	page := string(readFile(t, "docs/operations.md"))
	for _, block := range regexp.MustCompile("(?s)```sql\n(-- (?:roles|backfill|export|runs|redact):.*?)```").FindAllStringSubmatch(page, -1) {
		for statement := range strings.SplitSeq(block[1], ";") {
			found := grant.FindStringSubmatch(statement)
			if found == nil {
				continue
			}
			for _, right := range privilege.FindAllString(columns.ReplaceAllString(found[1], ""), -1) {
				for _, of := range object.FindAllStringSubmatch(found[2], -1) {
					granted[right+" "+of[1]] = true
				}
			}
		}
	}

	files, comment, upsert := 0, regexp.MustCompile(`--.*`), regexp.MustCompile(`(?s)ON CONFLICT.*?DO UPDATE`)
	byOwner := []string{".git", ".tools", "cmd", "schema", "internal/moves", "internal/program/engine"}
	require.NoError(t, fs.WalkDir(os.DirFS(repository), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains(byOwner, name) {
			return fs.SkipDir
		}
		if path.Ext(name) != ".sql" || !strings.Contains(name, "/query/") {
			return nil
		}
		files++
		text := comment.ReplaceAllString(string(readFile(t, name)), "")
		for right, pattern := range used {
			for _, of := range pattern.FindAllStringSubmatch(text, -1) {
				require.True(t, granted[right+" "+of[1]], "%s needs %s on %s, which no role has", name, right, of[1])
			}
		}
		for _, insert := range strings.Split(text, "INSERT INTO hooklatch.")[1:] {
			if into, _, _ := strings.Cut(insert, " "); upsert.MatchString(insert) {
				require.True(t, granted["UPDATE "+into], "%s needs UPDATE on %s, which no role has", name, into)
			}
		}
		return nil
	}))
	require.Greater(t, files, 250)
}
