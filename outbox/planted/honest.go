//go:build !planted

package planted

import "io/fs"

// Is tells whether the process has the bug: without the build tag none has any.
func Is(Bug) bool { return false }

// Statements returns the files as they are.
func Statements(files fs.FS) fs.FS { return files }
