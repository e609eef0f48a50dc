package main

import (
	"crypto/rand"
	"fmt"
	"os"
)

// devFiles is the directory of the dev command. The directory may come from an untrusted
// repository, so links in it cannot redirect a write to a file outside.
type devFiles struct{ *os.Root }

// openDevFiles creates the directory and keeps it out of git. Postgres may run as another user and
// must be able to traverse the directory.
func openDevFiles(dir string) (*devFiles, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // secret files have a separate mode
		return nil, fmt.Errorf("create %s: %w", dir, err)
	}
	switch info, err := os.Lstat(dir); {
	case err != nil:
		return nil, fmt.Errorf("create %s: %w", dir, err)
	case !info.IsDir():
		return nil, fmt.Errorf("create %s: it is a symbolic link, which may point to another directory: remove it, or name another directory with --dir", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", dir, err)
	}
	files := &devFiles{root}
	if err := files.replace(".gitignore", []byte("*\n"), 0o644); err != nil {
		_ = root.Close() // the first error is returned
		return nil, err
	}
	return files, nil
}

// replace writes a file under a random name and then renames it: readers never see a partial file,
// and links are never followed.
func (f *devFiles) replace(name string, text []byte, mode os.FileMode) error {
	draft := name + "." + rand.Text()
	file, err := f.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = file.Write(text)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = f.Rename(draft, name)
	}
	if err != nil {
		_ = f.Remove(draft) // the first error is returned
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// log opens a file for appending. A link cannot lead outside the directory.
func (f *devFiles) log(name string) (*os.File, error) {
	return f.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}
