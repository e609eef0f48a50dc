package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
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
// and links are never followed. The file has the mode even if the umask is stricter.
func (f *devFiles) replace(name string, text []byte, mode os.FileMode) error {
	draft := name + "." + rand.Text()
	file, err := f.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	err = file.Chmod(mode)
	if err == nil {
		_, err = file.Write(text)
	}
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

// amend writes a file in place, which keeps its owner and links to it. Other users keep only those
// permissions that mode has. A link cannot lead outside the directory. A missing file is created.
func (f *devFiles) amend(name string, text []byte, mode os.FileMode) error {
	file, err := f.OpenFile(name, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return f.replace(name, text, mode)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	info, err := file.Stat()
	if err == nil && info.Mode().Perm()&^mode&0o007 != 0 {
		err = file.Chmod(info.Mode().Perm() &^ (0o007 &^ mode))
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.Write(text)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// log opens a file for appending. A link cannot lead outside the directory.
func (f *devFiles) log(name string) (*os.File, error) {
	return f.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}
