package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Storage stores files under names such as 2026-11-01/part-000-8c2b4e0f.jsonl.gz. It is safe for
// concurrent use.
type Storage interface {
	// Put stores a file durably and completely, or returns an error. A reader never finds a partial
	// file under the name.
	Put(ctx context.Context, name string, content []byte) error
	// Get returns length bytes of a file from an offset, or fewer if the file ends earlier. If
	// length is negative, Get returns the rest of the file. Errors: ErrNoFile.
	Get(ctx context.Context, name string, offset, length int64) ([]byte, error)
	// Delete deletes a file, and the remains of an interrupted Put. A missing file is not an error.
	Delete(ctx context.Context, name string) error
	// String names the storage in messages, without credentials.
	String() string
}

// ErrNoFile is returned when a file does not exist.
var ErrNoFile = errors.New("the file does not exist")

// Directory is a Storage in a directory of this machine, or of a network file system.
type Directory string

var _ Storage = Directory("")

// unfinished is the suffix of a file that is being written.
const unfinished = ".tmp"

// Put implements Storage. The file is renamed when it is complete on disk.
func (d Directory) Put(_ context.Context, name string, content []byte) error {
	path := filepath.Join(string(d), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path+unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+unfinished, path); err != nil {
		return err
	}
	for dir := path; dir != filepath.Clean(string(d)); { // directories may be new
		dir = filepath.Dir(dir)
		if err := syncDirectory(dir); err != nil {
			return err
		}
	}
	return nil
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Get implements Storage.
func (d Directory) Get(_ context.Context, name string, offset, length int64) ([]byte, error) {
	file, err := os.Open(filepath.Join(string(d), filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s in %s: %w", name, d, ErrNoFile)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if length < 0 {
		return io.ReadAll(io.NewSectionReader(file, offset, 1<<62))
	}
	content := make([]byte, length)
	n, err := file.ReadAt(content, offset)
	if errors.Is(err, io.EOF) {
		err = nil // a file that ends earlier is not an error
	}
	return content[:n], err
}

// Delete implements Storage.
func (d Directory) Delete(_ context.Context, name string) error {
	path := filepath.Join(string(d), filepath.FromSlash(name))
	for _, path := range []string{path, path + unfinished} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// String implements Storage.
func (d Directory) String() string { return string(d) }

// Under returns a Storage whose files are in a directory of another Storage.
func Under(of Storage, directory string) Storage { return under{of, directory + "/"} }

type under struct {
	of        Storage
	directory string // with a slash at its end
}

// Put implements Storage.
func (u under) Put(ctx context.Context, name string, content []byte) error {
	return u.of.Put(ctx, u.directory+name, content)
}

// Get implements Storage.
func (u under) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	return u.of.Get(ctx, u.directory+name, offset, length)
}

// Delete implements Storage.
func (u under) Delete(ctx context.Context, name string) error {
	return u.of.Delete(ctx, u.directory+name)
}

// String implements Storage.
func (u under) String() string { return u.of.String() + "/" + strings.TrimSuffix(u.directory, "/") }

// Probe writes, reads and deletes a small file, to find out whether the storage can be used.
func (a *Archive) Probe(ctx context.Context) error {
	s := a.storage
	name, content := "probe-"+nonce(), "Hooklatch writes, reads and deletes this file as a test\n"
	if err := s.Put(ctx, name, []byte(content)); err != nil {
		return fmt.Errorf("write a file: %w", err)
	}
	back, err := s.Get(ctx, name, 0, -1)
	switch {
	case err != nil:
		return fmt.Errorf("read a file: %w", err)
	case string(back) != content:
		return errors.New("read a file: its content is not as written")
	}
	if err := s.Delete(ctx, name); err != nil {
		return fmt.Errorf("delete a file: %w", err)
	}
	return nil
}
