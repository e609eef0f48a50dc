package config

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// maxSecretFile is far above the size of any secret; a larger file is not a secret file.
const maxSecretFile = 64 << 10

// unreadText replaces the text of a file that must not be read.
const unreadText = "text-of-a-file-that-was-not-read"

// fileEntry is a key that names a file with one or more secrets.
type fileEntry struct {
	path   string // path of the key
	value  string // path of the secret that the file contains
	name   string
	target reflect.Value // a secret.Value, or a slice of secret.Value or Secret
}

// byteOrderMark begins text files that some programs write. No secret contains it.
const byteOrderMark = "\ufeff"

// secretFile reads a file into its key's field: as one secret, or as one secret per line. White
// space around a secret is not part of it: some shells write a space before the line break.
func (d *decoder) secretFile(f fileEntry) {
	if f.name == "" {
		return
	}
	if !f.target.IsZero() {
		d.reportf(f.path, "at most one of %s and %s may be given", lastOf(f.value), lastOf(f.path))
		return
	}
	d.origin.files[f.value] = f.name
	if d.noFiles {
		f.target.Set(reflect.ValueOf(secret.New(unreadText)))
		return
	}
	text := strings.TrimSpace(d.readFile(f.path, f.name))
	d.origin.sums[f.value] = sha256.Sum256([]byte(text))
	if f.target.Type() == secretType {
		if strings.ContainsAny(text, "\r\n") {
			d.reportf(f.path, "the file has several lines; only the secret is expected")
			return
		}
		f.target.Set(reflect.ValueOf(secret.New(text)))
		return
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		one := reflect.ValueOf(secret.New(line))
		if f.target.Type() == keysType {
			one = reflect.ValueOf(Secret{Value: secret.New(line)})
		}
		f.target.Set(reflect.Append(f.target, one))
	}
}

// readFile returns a file's text, or reports why the file cannot be used. The report does not
// repeat the file name: an operator may have written the secret itself where the name belongs.
func (d *decoder) readFile(path, file string) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(d.dir, file)
	}
	// Reading a device or a pipe might never end.
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		d.reportf(path, "the file does not exist")
		return ""
	case err != nil:
		d.reportf(path, "the file cannot be read")
		return ""
	case !info.Mode().IsRegular():
		d.reportf(path, "is not a regular file")
		return ""
	case writableByAll(info):
		d.reportf(path, "the file can be written by every user of this machine (mode %s); remove that permission: chmod o-w", mode(info))
		return ""
	case info.Size() > maxSecretFile:
		d.reportf(path, "the file has %d bytes; allowed: at most %d bytes", info.Size(), maxSecretFile)
		return ""
	case readableByAll(info):
		d.warnings = append(d.warnings, d.origin.problem(path, "the file "+readable(info)))
	}
	data, err := os.ReadFile(file)
	text := strings.TrimPrefix(string(data), byteOrderMark)
	switch {
	case errors.Is(err, fs.ErrPermission):
		d.reportf(path, "this user has no permission to read the file")
	case err != nil:
		d.reportf(path, "the file cannot be read")
	case strings.TrimSpace(text) == "":
		d.reportf(path, "the file is empty")
	case strings.Contains(text, "\x00"): // such as UTF-16, which some shells of Windows write
		d.reportf(path, "the file is not text in UTF-8")
	default:
		return text
	}
	return ""
}

// lastOf returns the last key of a path.
func lastOf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
