package mutant

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// WriteOverlay writes the changed files, and an overlay file for the go command's -overlay flag,
// into scratch. It returns the path of the overlay file.
func WriteOverlay(root, scratch string, changed map[string]string) (string, error) {
	replace := make(map[string]string, len(changed))
	for i, file := range slices.Sorted(maps.Keys(changed)) {
		written := filepath.Join(scratch, fmt.Sprintf("%d-%s", i, filepath.Base(file)))
		if err := os.WriteFile(written, []byte(changed[file]), 0o600); err != nil {
			return "", fmt.Errorf("write changed file: %w", err)
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = written
	}
	encoded, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("encode overlay: %w", err)
	}
	overlay := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(overlay, encoded, 0o600); err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	return overlay, nil
}
