package explained

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Names maps a statement's name to the beginning of its text.
type Names map[string]string

// Read adds the statements in a folder. For each file, it keeps the text before the first parameter
// or fragment: a statement that Postgres receives begins with this text. Read fails if two
// statements have the same name.
func (n Names) Read(files fs.FS) error {
	found, err := fs.Glob(files, "*.sql")
	if err != nil {
		return err
	}
	for _, file := range found {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(path.Base(file), ".sql")
		if n[name] != "" {
			return fmt.Errorf("two statements are called %s", name)
		}
		n[name] = beginning(string(text))
	}
	return nil
}

func beginning(text string) string {
	for i := range text {
		rest := text[i:]
		if strings.HasPrefix(rest, "{{") || rest[0] == ':' && !strings.HasPrefix(rest, "::") && (i == 0 || text[i-1] != ':') {
			if !inComment(text[:i]) {
				return text[:i]
			}
		}
	}
	return strings.TrimSpace(text)
}

func inComment(before string) bool {
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return strings.Contains(line, "--")
}

// Of returns the name of the statement with this text. If the text starts with several of the
// recorded beginnings, the longest one decides. Of returns "" if none matches.
func (n Names) Of(text string) string {
	var name string
	for candidate, begins := range n {
		if strings.HasPrefix(text, begins) && len(begins) > len(n[name]) {
			name = candidate
		}
	}
	return name
}
