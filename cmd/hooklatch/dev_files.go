package main

import (
	"crypto/rand"
	"fmt"
	"os"
)

// devFiles is the directory of the dev command. It may have come with a
// repository that another person made: no link in it leads a write out of it.
type devFiles struct{ *os.Root }

// openDevFiles makes the directory, which is not committed by accident. Postgres,
// which may run as another user, has to get through it.
func openDevFiles(dir string) (*devFiles, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // what is secret in it has its own mode
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	switch info, err := os.Lstat(dir); {
	case err != nil:
		return nil, fmt.Errorf("make %s: %w", dir, err)
	case !info.IsDir():
		return nil, fmt.Errorf("make %s: it is a link, which may lead anywhere: remove it, or name a directory with --dir", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	files := &devFiles{root}
	if err := files.replace(".gitignore", []byte("*\n"), 0o644); err != nil {
		_ = root.Close() // the error that matters is the other one
		return nil, err
	}
	return files, nil
}

// replace writes a file under a random name, and then gives it its
// own: never half a file for those who read it, and never through a link.
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
		_ = f.Remove(draft) // the error that matters is the other one
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// log opens a file to append to. A link there leads nowhere else.
func (f *devFiles) log(name string) (*os.File, error) {
	return f.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}
