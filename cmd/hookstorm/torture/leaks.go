package torture

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
)

// leaks looks for secrets in the logs of the processes (I12).
func (w *world) leaks() ([]checker.Violation, error) {
	logs, err := filepath.Glob(filepath.Join(w.Dir, "*.log"))
	if err != nil {
		return nil, fmt.Errorf("find the logs: %w", err)
	}
	var found []checker.Violation
	for _, path := range logs {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("open a log: %w", err)
		}
		leaks, err := checker.Leaks(filepath.Base(path), file)
		_ = file.Close() // the file was only read
		if err != nil {
			return nil, err
		}
		found = append(found, leaks...)
	}
	return found, nil
}
